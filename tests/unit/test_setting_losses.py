"""In how many trials each configuration lost messages, over many runs."""

from __future__ import annotations

from dataclasses import replace

from bench.numbers import NOTHING
from bench.report.sections.setting_losses import tables, trial_losses
from bench.report.table import Table
from tests.fault_sketch import Case, Trial, results

LOST = Trial(lost=28_000, sent=(0.0, 14.0))


def kafka(*trials: Trial, least: int = 2, replicas: int = 3, acks: str = "all") -> Case:
    asked = {"topic": {"replicas": replicas, "min.insync.replicas": least}}
    return Case("kafka", {"acks": acks}, trials, asked=asked)


def pulsar(*trials: Trial, kind: str = "kill") -> Case:
    return Case("pulsar", {}, trials, kind=kind, asked={"topic": {"quorums": "3-3-2"}})


def of_runs(*runs: Case) -> list[Table]:
    return tables(loss for case in runs for loss in trial_losses(results(case)))


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_trials_of_the_same_settings_in_several_runs_count_together_the_weakest_promise_first() -> None:
    (table,) = of_runs(kafka(Trial(), Trial()), kafka(LOST, acks="1"), kafka(Trial(), LOST, Trial()))

    assert texts(table) == [
        [
            "replicas=3, min.insync.replicas=2, acks=1",
            "the loss of a node only once another copy is written, not a power cut of all nodes",
            NOTHING,
            "1 of 1",
        ],
        [
            "replicas=3, min.insync.replicas=2, acks=all",
            "the loss of any one node, not a power cut of all nodes",
            "1 of 5",
            NOTHING,
        ],
    ]
    assert [row.cells[2].tone for row in table.rows] == ["quiet", "bad"]
    assert table.rows[0].cells[3].tone == "strong"


def test_a_setting_that_is_not_set_has_its_shipped_value() -> None:
    (table,) = of_runs(pulsar(Trial()))

    assert texts(table)[0][0] == "3-3-2, journalSyncData=true"


def test_messages_that_wait_for_a_replica_are_not_lost_and_a_trial_that_knows_nothing_does_not_count() -> (
    None
):
    (table,) = of_runs(kafka(Trial(lost=None, unread=35), Trial(lost=None), replicas=2))

    assert texts(table)[0][2] == "0 of 1"


def test_messages_that_cannot_be_read_count_as_lost_where_no_promise_allows_that() -> None:
    (table,) = of_runs(kafka(Trial(lost=None, unread=60_816), least=1, replicas=1))

    assert texts(table)[0][2:] == ["1 of 1"]


def test_a_trial_without_any_count_is_no_trial_without_loss() -> None:
    found = results(kafka(Trial(lost=None)))
    trials = found.trials.assign(unread=float("nan"))

    assert list(trial_losses(replace(found, trials=trials))) == []
