"""The answer of a run in which nothing broke, from made-up results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.columns import CAPACITY
from bench.report import results
from bench.report.answer import answer
from bench.report.answer.configurations import Configurations
from bench.report.answer.effect import Effect
from bench.report.answer.expectation_findings import expectation_findings
from bench.report.answer.glossary import glossary
from bench.report.answer.guarantee_table import fitting_rows
from bench.report.answer.losses import alarms, loss
from bench.report.answer.notices import notices
from bench.report.presentation import DeclaredComparison, Labels, Presentation
from bench.report.results import Results
from tests.report_data import build
from tests.report_sketch import Sketch

RATE = "throughput_msgs_per_s"
ALL = {"replicas": "4", "min.insync.replicas": "2", "acks": "all"}
LEADER = ALL | {"acks": "1"}
ALL_CASE = "kafka replicas=4 min.insync.replicas=2 acks=all"
LEADER_CASE = "kafka replicas=4 min.insync.replicas=2 acks=1"
WAITING = DeclaredComparison(
    RATE,
    change="waiting for all four replicas instead of only the leader",
    system="kafka",
    of=ALL,
    to=LEADER,
    advice={"less": "Wait where a loss costs more.", "same": "Wait."},
)
NODE = "the loss of any one node, not a power cut of all nodes"
BOOKIE = "the loss of any one bookie, not a power cut of all nodes"
EQUAL = DeclaredComparison(
    RATE, guarantee=NODE, advice={"kafka": "Choose Kafka.", "same": "Choose by other needs."}
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made(tmp_path_factory.mktemp("run"), cycles=3)


@pytest.fixture(scope="module")
def cases(found: Results) -> Configurations:
    return Configurations(found, Labels())


def made(folder: Path, **sketch: Any) -> Results:
    return results.read(build(folder / "run", Sketch(messages=50, **sketch)))


def rated(found: Results, rates: Mapping[str, list[float]]) -> Results:
    """Give cases these throughputs, round by round."""
    trials = found.trials.copy()
    for case, values in rates.items():
        for number, value in enumerate(values):
            trials.loc[(trials["case"] == case) & (trials["round"] == number), RATE] = value
    return replace(found, trials=trials)


def point(
    ratio: float, low: float, high: float, *, disk: str = "as is", power: bool = False
) -> dict[str, Any]:
    figures = {
        "first": 1000.0 * ratio,
        "second": 1000.0,
        "rounds": 5,
        "ratio": ratio,
        "low": low,
        "high": high,
    }
    return {
        "values": {"emulated_fsync": disk},
        "cases": [ALL_CASE, "pulsar quorums=2-2-2 journalSyncData=false"],
        "survives": [NODE, BOOKIE],
        "same": True,
        "power": power,
        "go_on": [True, True],
        RATE: figures,
    }


def beside(found: Results, *points: dict[str, Any]) -> Results:
    sides = {
        "systems": ["kafka", "pulsar"],
        "settings": ["emulated_fsync"],
        "matched": False,
        "points": points,
    }
    return replace(found, summary={**found.summary, "sides": sides})


def texts(found: Results, *declared: DeclaredComparison) -> list[str]:
    return [finding.text for finding in answer(found, Presentation(comparisons=declared)).findings]


def test_a_declared_change_is_a_ratio_over_rounds(found: Results) -> None:
    """Each round has 2000 over 4000: a send takes 2 times as long, without any doubt."""
    steady = rated(found, {ALL_CASE: [2000.0] * 5, LEADER_CASE: [4000.0] * 5})

    effect = Configurations(steady, Labels()).effect(ALL_CASE, LEADER_CASE, RATE)

    assert effect.ratio == pytest.approx(0.5)
    assert effect.low is not None
    assert effect.low < 0.5 < (effect.high or 0.0)
    assert texts(steady, WAITING)[0].startswith(
        "On Kafka, waiting for all four replicas instead of only the leader made a send 2.0 times as long "
        "(95 % interval "
    )


def test_a_change_stands_with_both_configurations_in_full_and_the_ratio_of_the_answer(found: Results) -> None:
    steady = rated(found, {ALL_CASE: [2000.0] * 5, LEADER_CASE: [4000.0] * 5})

    made = answer(steady, Presentation(comparisons=(WAITING,)))

    assert made.compared is not None
    (row,) = made.compared.rows
    change, of, slow, to, fast, ratio = (cell.text for cell in row.cells)
    assert (change, of, to) == (WAITING.change, ALL_CASE, LEADER_CASE)
    assert f"{slow.partition(' ')[0]} against {fast.partition(' ')[0]} ms" in made.findings[0].text
    assert ratio.startswith("2.0")
    assert made.findings[0].anchor == "effects"


def test_an_answer_without_a_declared_change_has_no_such_table(found: Results) -> None:
    assert answer(found, Presentation()).compared is None


def test_a_ratio_to_the_baseline_is_that_of_the_table(found: Results, cases: Configurations) -> None:
    row = found.ratios[found.ratios["metric"] == RATE].iloc[0]
    same = Effect(row["ratio"], row["low"], row["high"], int(row["rounds"]))

    assert cases.effect(row["case"], row["baseline"], RATE) == same
    assert cases.effect(row["baseline"], row["case"], RATE) == same.inverse


def test_advice_is_that_of_the_outcome(found: Results) -> None:
    steady = rated(found, {ALL_CASE: [2000.0] * 5, LEADER_CASE: [4000.0] * 5})

    assert answer(steady, Presentation(comparisons=(WAITING,))).advice == ("Wait where a loss costs more.",)


def test_a_comparison_that_the_run_lacks_is_left_out(found: Results) -> None:
    """Then each system's fastest and slowest configuration are named, without a ratio; acks=0 promises nothing."""
    lacking = replace(WAITING, of={**ALL, "replicas": "7"})

    kafka, pulsar, lost = texts(found, lacking)
    assert kafka.startswith("On Kafka a send took ")
    assert "wait for nobody" not in kafka
    assert "the ends of 12 configurations" in kafka
    assert pulsar.startswith("On Pulsar a send took ")
    assert lost.startswith("Without faults no acknowledged message was lost (")


def test_both_systems_at_a_declared_guarantee(found: Results) -> None:
    ahead, *_ = answer(beside(found, point(2.5, 2.4, 2.6)), Presentation(comparisons=(EQUAL,))).findings

    assert ahead.text == (
        "Where a message survives the loss of any one node, Kafka was 2.5 times as fast as "
        "Pulsar (95 % interval 2.4 to 2.6): 0.400 against 1.00 ms a send, one at a time."
    )
    assert (ahead.decided, ahead.anchor) == (True, "system-comparison")


def test_where_each_system_is_ahead_at_one_guarantee_the_headline_names_both(found: Results) -> None:
    power = "the loss of any one node, and a power cut of all nodes"
    on_disk = point(0.5, 0.4, 0.625, disk="1ms") | {"survives": [power, power]}
    other = replace(EQUAL, guarantee=power, advice={"pulsar": "Choose Pulsar."})
    of_both = beside(found, point(2.5, 2.4, 2.6), on_disk)

    told = answer(of_both, Presentation(comparisons=(EQUAL, other)))
    alike = answer(beside(found, point(2.5, 2.4, 2.6)), Presentation(comparisons=(EQUAL, EQUAL)))

    both, lost = told.findings
    assert both.text == (
        "Kafka was faster where a message survives the loss of any one node, Pulsar where it survives a power cut, too."
    )
    assert "Kafka was 2.5 times as fast as Pulsar" in both.detail
    assert "Pulsar was 2.0 times as fast as Kafka" in both.detail
    assert told.line == both.full_text
    assert told.advice == ("Choose Kafka.", "Choose Pulsar.")
    assert lost.text.startswith("Without faults")
    assert not alike.findings[0].detail


def test_the_slower_system_is_named_second(found: Results) -> None:
    (first, *_) = texts(beside(found, point(0.5, 0.4, 0.625)), EQUAL)

    assert (
        "Pulsar was 2.0 times as fast as Kafka (95 % interval 1.6 to 2.5): 1.00 against 2.00 ms a send"
        in first
    )


def test_a_tie_has_no_winner(found: Results) -> None:
    told = answer(beside(found, point(1.04, 0.97, 1.12)), Presentation(comparisons=(EQUAL,)))

    assert (
        "no difference can be told between Kafka and Pulsar "
        "(1.04 times, 95 % interval 0.97 to 1.12)" in told.line
    )
    assert not told.findings[0].decided
    assert told.advice == ()


def test_slower_disks_follow_a_guarantee_that_waits_for_them(found: Results) -> None:
    points = (
        point(1.15, 1.14, 1.25, power=True),
        point(0.58, 0.56, 0.61, disk="1ms", power=True),
        point(0.4, 0.39, 0.42, disk="5ms", power=True),
        point(0.37, 0.35, 0.38, disk="10ms", power=True),
    )

    _, slower, _ = texts(beside(found, *points), EQUAL)

    assert slower == (
        "Where a message survives a power cut, Pulsar was ahead on slower disks: 1.72 times (95 % "
        "interval 1.64 to 1.79) with 1 ms more an fsync, 2.7 times (2.6 to 2.9) with 10 ms."
    )


def test_an_older_run_calls_a_bootstrap_interval_only_interval(tmp_path: Path) -> None:
    told = answer(beside(made(tmp_path), point(2.5, 2.4, 2.6)), Presentation(comparisons=(EQUAL,)))

    assert "(interval 2.4 to 2.6)" in told.line
    assert "5 rounds; intervals without a percentage: bootstrap (at most 94 %)" in told.conditions


def test_an_answer_has_at_most_four_findings_and_144_words(found: Results) -> None:
    long = replace(WAITING, change=" ".join(["waiting"] * 60))

    shown = texts(found, long, WAITING, EQUAL, WAITING, WAITING)

    assert len(shown) <= 4
    assert shown[-1].startswith("Without faults no acknowledged message was lost (")
    words = [word for text in shown for word in text.split() if any(map(str.isalnum, word))]
    assert 100 < len(words) <= 144


def test_a_loss_that_a_promise_covers_goes_first_and_is_an_alarm(tmp_path: Path) -> None:
    lossy = made(tmp_path, systems=("pulsar",), rounds=2, lost={0: 7})
    case = lossy.trials.loc[lossy.trials["trial"] == 0, "case"].iloc[0]

    told = answer(lossy, Presentation())

    assert told.line.startswith("7 of ")
    (alarm,) = told.alarms
    assert Configurations(lossy, Labels()).name_with_system(case) in alarm
    assert alarm.endswith("acknowledged messages, although nothing failed.")


def test_a_loss_without_a_promise_is_none(tmp_path: Path) -> None:
    lossy = made(tmp_path, systems=("kafka",), rounds=1)
    trials = lossy.trials.copy()
    trials.loc[trials["case"].str.endswith("acks=0"), "lost"] = 3
    cases = Configurations(replace(lossy, trials=trials), Labels())

    assert list(alarms(cases)) == []
    assert loss(cases).text.startswith("No message was lost that a configuration promises to keep (")


def test_unread_trials_leave_losses_open(tmp_path: Path) -> None:
    unread = made(tmp_path, systems=("memory",), rounds=1, incomplete=(0, 1))

    finding = loss(Configurations(unread, Labels()))

    assert finding.text == (
        "Whether acknowledged messages were lost is not known: no valid trial was read to the end."
    )
    assert not finding.decided


def test_a_run_without_a_valid_trial_answers_nothing(tmp_path: Path) -> None:
    told = answer(made(tmp_path, systems=("memory",), rounds=1, failed=(0, 1)), Presentation())

    assert told.line == "No trial of this run is valid, so it answers nothing; the reasons are listed below."


def test_notices_are_at_most_three_and_say_how_many_more(tmp_path: Path) -> None:
    odd = made(tmp_path, systems=("memory",), rounds=3, crowded=(0,), failed=(2,), slowed=(1,))
    odd = replace(odd, manifest={**odd.manifest, "overrides": ["duration=2s"]})

    shown = notices(Configurations(odd, Labels()), "This setting is an experiment.")

    assert len(shown) == 4
    assert shown[0] == "This setting is an experiment."
    assert "duration=2s" in shown[1]
    assert shown[-1].startswith("And ")
    assert shown[-1].endswith(" more behind this page.")


def test_systems_without_an_equal_guarantee_are_noticed(found: Results) -> None:
    """Only Pulsar: one system has none to be unequal to."""
    cases, trials = (table[table["system"] == "pulsar"] for table in (found.cases, found.trials))
    alone = replace(found, cases=cases, trials=trials)

    assert any("do not promise the same" in notice for notice in answer(found, Presentation()).notices)
    assert not any(
        "do not promise the same" in notice for notice in notices(Configurations(alone, Labels()), "")
    )


def test_the_table_has_settings_and_figures_of_both_at_equal_guarantees(found: Results) -> None:
    shown = answer(beside(found, point(2.5, 2.4, 2.6)), Presentation()).table

    assert shown is not None
    (row,) = shown.rows
    assert [column.head for column in shown.columns] == [
        *("a message survives", "Kafka settings", "Pulsar settings", "Kafka", "Pulsar", "ahead")
    ]
    assert [cell.text for cell in row.cells] == [
        "the loss of any one node, not a power cut",
        "replicas=4, min.insync.replicas=2, acks=all",
        "2-2-2, journalSyncData=false",
        "0.400 (2,500)",
        "1.00 (1,000)",
        "Kafka 2.5 times (2.4 to 2.6)",
    ]


def test_of_a_capacity_the_table_has_what_passed_and_what_failed(found: Results) -> None:
    capacity = DeclaredComparison(CAPACITY, guarantee=NODE)
    entry = point(2.5, 2.4, 2.6)
    searched = replace(
        beside(found, entry | {CAPACITY: entry[RATE]}),
        capacities=pd.DataFrame(
            {"case": entry["cases"], "passed_rate": [504.0, 1034.0], "failed_rate": [610.0, math.inf]}
        ),
    )

    shown = answer(searched, Presentation(comparisons=(capacity,))).table

    assert shown is not None
    assert [cell.text for cell in shown.rows[0].cells[3:]] == [
        "504 to 610",
        "at least 1,034",
        "Kafka 2.5 times (2.4 to 2.6)",
    ]


def test_a_row_repeats_nothing_of_the_row_above(found: Results) -> None:
    slower = point(0.5, 0.4, 0.6, disk="10ms", power=True)
    found = beside(found, point(2.5, 2.4, 2.6, power=True), slower)

    shown = answer(found, Presentation()).table

    assert shown is not None
    assert [cell.text for cell in shown.rows[1].cells] == [
        *("", "fsync +10 ms", "", "", "2.00 (500)", "1.00 (1,000)"),
        "Pulsar 2.0 times (1.7 to 2.5)",
    ]


def test_the_leading_rows_are_those_of_the_comparisons_on_the_machines_own_disk(found: Results) -> None:
    other = point(3.0, 2.9, 3.1) | {"cases": [LEADER_CASE, "pulsar quorums=3-3-3 journalSyncData=false"]}
    many = beside(found, other, point(2.5, 2.4, 2.6), point(0.5, 0.4, 0.6, disk="10ms", power=True))

    compared = answer(many, Presentation(comparisons=(WAITING,))).leading
    alone = answer(beside(found, point(2.5, 2.4, 2.6)), Presentation(comparisons=(EQUAL,)))

    assert compared is not None
    assert [row.cells[-1].text for row in compared.rows] == [
        "Kafka 3.0 times (2.9 to 3.1)",
        "Kafka 2.5 times (2.4 to 2.6)",
    ]
    assert alone.table is not None
    assert alone.leading is None


def test_without_equal_guarantees_the_leading_rows_are_the_cases_compared(found: Results) -> None:
    leading = answer(found, Presentation(comparisons=(WAITING,))).leading

    assert leading is not None
    assert len(leading.rows) == 2


def test_without_equal_guarantees_the_table_has_configurations(found: Results) -> None:
    shown = answer(found, Presentation()).table

    assert shown is not None
    assert len(shown.rows) == 8


def test_of_many_configurations_those_compared_have_rows_and_some_of_the_others_evenly() -> None:
    cases = [f"case {number}" for number in range(20)]

    rows = fitting_rows(cases, {"case 3", "case 18"})

    assert rows == [f"case {number}" for number in (0, 3, 4, 8, 11, 15, 18, 19)]
    assert fitting_rows(cases[:8], ()) == cases[:8]
    assert fitting_rows(cases, cases[:7]) == cases[:8]


def comparison(what: str, ratio: float, **others: Any) -> dict[str, Any]:
    return {
        "what": what,
        "ratio_median": ratio,
        "ratio_low": None,
        "ratio_high": None,
        "verdict": "held",
        **others,
    }


def bound(what: str, *values: int) -> dict[str, Any]:
    return {"what": what, "values": values, "rounds_for": 2, "rounds": 2, "verdict": "held"}


@pytest.mark.parametrize(
    ("comparisons", "effect"),
    [
        ([comparison("acks=0 > acks=1", 2.8, ratio_low=2.5, ratio_high=3.1)], "2.8 times, 2.5 to 3.1"),
        ([comparison("acks=0 < acks=1", 0.5, ratio_low=0.4, ratio_high=0.625)], "2.0 times, 1.6 to 2.5"),
        ([comparison("acks=0 > acks=1", 0.8)], "1.25 times the other way"),
        (
            [comparison("a > b", 1.04, ratio_low=1.01, ratio_high=1.07)],
            "1.04 times, 1.01 to 1.07; effects below 5 % hardly matter",
        ),
        ([comparison("a > b", 1.5), comparison("b > c", 2.8)], "1.50 to 2.8 times, 2 comparisons"),
        ([comparison("a / b", 0.5, ratio_low=0.4, ratio_high=0.625)], "2.0 times less, 1.6 to 2.5"),
        (
            [bound("a: at most 9", 4_300_000, 7_800_000)],
            "4.3 ms to 7.8 ms in 2 trials",
        ),
        ([], ""),
    ],
)
def test_an_expectation_has_the_size_of_its_effect(
    found: Results, comparisons: list[dict[str, Any]], effect: str
) -> None:
    entry = {"id": "order", "claim": "It costs.", "verdict": "held", "metric": "service_p99_ns"}
    judged = replace(found, expectations=({**entry, "comparisons": comparisons},))

    (one,) = expectation_findings(judged, {"order": "It costs much."})

    assert (one.effect, one.claim, one.mark) == (effect, "It costs much.", "✓")


def test_the_glossary_has_terms_that_the_page_uses() -> None:
    assert [term for term, _ in glossary("2-2-2, acks=all, a power cut")] == [
        *("E-Qw-Qa", "acks", "power cut of all nodes")
    ]
    assert len(glossary("bookie 2-2-2 journalSyncData acks=all min.insync.replicas power cut fsync p99")) == 5
