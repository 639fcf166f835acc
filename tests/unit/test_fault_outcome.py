"""What a fault did to a configuration: outages, losses, and how they stand in tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.records.steps import StrikeRecord, UndoRecord
from bench.report import case_groups, fault_words, loss, outage, sweep
from bench.report.answer import fault_table
from bench.report.answer.fault_findings import fault_run, findings
from bench.report.loss import LossPosition
from bench.report.presentation import Labels
from bench.report.results import Results
from bench.report.sections import fault_cells, fault_outcome
from bench.report.sections.fault_outcome import FaultOutcome
from bench.report.sections.promise_coverage import Coverage
from tests.fault_sketch import Case, Trial, results

SECOND = 1_000_000_000
IN_SYNC = {"topic": {"replicas": 3, "min.insync.replicas": 2}}


def kafka(*trials: Trial, **settings: str) -> Case:
    return Case("kafka", settings, trials, asked=IN_SYNC)


def two_replicas(*trials: Trial) -> Case:
    """Both must be in sync: with one gone, the other serves nothing above its high watermark."""
    return replace(kafka(*trials, acks="all"), asked={"topic": {"replicas": 2, "min.insync.replicas": 2}})


def outcome(*trials: Trial, **changes: str) -> FaultOutcome:
    found = results(kafka(*trials, **changes))
    (part,) = sweep.parts(found)
    (one,) = fault_outcome.outcomes(found, part, Labels())
    return one


def writes(found: Results) -> outage.Outage:
    known = outage.writes(found, found.trials)
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("low_s", "high_s", "text"),
    [
        (5.81, 7.79, "5.8 to 7.8 s"),
        (12.02, 12.04, "12 s"),
        (0.14, 0.41, "at most 0.41 s"),
        (0.3, 29.6, "0.3 to 30 s"),
        (9.96, 9.99, "10 s"),
        (590, 660, "590 s to 11 min"),
    ],
)
def test_times_have_two_digits(low_s: float, high_s: float, text: str) -> None:
    assert fault_words.times(low_s * SECOND, high_s * SECOND) == text


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((30319, 28161, 25561), "about 28,000"),
        ((651, 2606), "650 to 2,600"),
        ((113, 900), "113 to 900"),
        ((0, 324), "up to 324"),
        ((11, 11), "11"),
        ((0, 0), "0"),
    ],
)
def test_counts_are_rounded_from_a_thousand_on(counts: tuple[int, ...], text: str) -> None:
    assert fault_words.counts(counts) == text


def test_disturbed_and_invalid_trials_do_not_count_and_the_worst_of_them_is_known() -> None:
    found = writes(
        results(
            kafka(
                *Trial().copies(5.0, 6.0),
                Trial(writes=(9.0,), other_cpu=1.0),
                Trial(writes=(8.0,), verdict="invalid"),
            )
        )
    )

    assert list(found.times_ns) == [5 * SECOND, 6 * SECOND]
    assert (found.aside_ns, found.aside) == (9 * SECOND, outage.DISTURBED)


def test_trials_count_where_other_work_disturbed_each() -> None:
    found = writes(results(kafka(*(Trial(writes=(time,), other_cpu=1.0) for time in (5.0, 6.0)))))

    assert (found.low_ns, found.high_ns, found.aside_ns) == (5 * SECOND, 6 * SECOND, None)


def test_the_scripts_part_reaches_to_its_last_repair_within_the_outage() -> None:
    steps = [
        StrikeRecord(name="cut", kind="power-loss", nodes=["a", "b"], asked_ns=10, proven=True, heal="never"),
        UndoRecord(name="first", nodes=["a"], asked_ns=11),
        UndoRecord(name="all", nodes=["a", "b"], asked_ns=18),
        UndoRecord(name="late", nodes=["a"], asked_ns=60 * SECOND),
    ]

    assert outage.script_ns(steps, "cut", 20) == 8
    assert outage.script_ns(steps, "cut") == 60 * SECOND - 10
    assert outage.script_ns(steps[:1], "cut") is None
    assert outage.script_ns(steps, "first") is None


def test_an_outage_that_no_repair_ended_is_the_systems_own() -> None:
    assert writes(results(kafka(Trial(script=3.0)))).script_ns is None
    assert writes(results(kafka(Trial(script=3.0, ended="healing")))).script_ns == 3 * SECOND


def test_a_gap_that_goes_on_past_the_next_fault_is_added_up_once() -> None:
    found = results(kafka(Trial(writes=(3.0, 5.0))))
    found.faults.loc[0, "ack_gap_ended"] = "next fault"

    assert writes(found).times_ns == (5 * SECOND,)
    assert writes(found).strikes_ns == (5 * SECOND,)


def test_losses_lie_before_the_fault_or_after_it_or_here_and_there() -> None:
    before = results(kafka(Trial(lost=1700, sent=(-0.85, -0.01))))
    after = results(kafka(Trial(lost=28_000, sent=(0.0, 14.0))))
    some = results(kafka(Trial(lost=100, sent=(-0.1, 12.0))))

    spans = [loss.loss(found, found.trials) for found in (before, after, some)]

    assert [one and one.position for one in spans] == [
        LossPosition.BEFORE_FAULT,
        LossPosition.AFTER_FAULT,
        LossPosition.SOME,
    ]
    assert [one and (one.low_ns / SECOND, one.high_ns / SECOND) for one in spans] == [
        (0.85, 0.85),
        (14.0, 14.0),
        (-0.1, 12.0),
    ]


def test_of_several_faults_a_loss_is_held_against_the_one_that_it_reaches_to() -> None:
    """A network that is slow first costs nothing; the kill after it costs what the followers did not have yet."""
    found = results(
        replace(kafka(Trial(writes=(0.1, 7.0), lost=4_000, sent=(28.0, 29.9))), kind="slow-network")
    )
    found.faults.loc[1, "kind"] = "kill"

    known = loss.loss(found, found.trials)

    assert known is not None
    assert (known.position, known.kind, known.low_ns) == (LossPosition.BEFORE_FAULT, "kill", 2 * SECOND)
    assert findings(fault_run(found, Labels()))[0].text == (
        "Kafka lost the last 2.0 s of writes before the kill: 4,000 messages in each trial."
    )


def test_a_loss_that_begins_with_the_first_send_is_the_scripts() -> None:
    found = results(kafka(Trial(lost=15_900, sent=(-8.0, -0.02))))

    known = loss.loss(found, found.trials)

    assert known is not None
    assert known.scripted


def test_what_a_disturbed_trial_lost_counts_as_any_other_loss() -> None:
    quiet = Trial(lost=2_000, sent=(-1.0, 0.0))
    less = replace(quiet, lost=500, sent=(-0.25, 0.0), other_cpu=1.0)
    more = replace(quiet, lost=3_000, other_cpu=1.0)

    without, with_it = (results(kafka(quiet, quiet, other)) for other in (less, more))

    assert loss.loss(without, without.trials) == loss.Loss(
        (2_000, 2_000, 500), LossPosition.BEFORE_FAULT, SECOND / 4, SECOND, kind="kill"
    )
    assert (known := loss.loss(with_it, with_it.trials)) is not None
    assert known.counts == (2_000, 2_000, 3_000)


def test_a_run_whose_reads_broke_off_knows_of_no_loss() -> None:
    found = outcome(Trial(lost=None, unread=9))

    assert (found.loss, found.fate, found.unread) == (None, "unread", (9,))


def test_a_group_is_named_by_what_only_its_cases_have() -> None:
    found = results(
        *(
            kafka(Trial(), acks=acks, **{"min.insync.replicas": least})
            for acks in ("all", "1")
            for least in ("1", "2")
        )
    )
    (part,) = sweep.parts(found)
    names = [str(case) for case in part.cases["case"]]

    assert case_groups.name(Labels(), part, names) == ""
    assert case_groups.name(Labels(), part, names[:2]) == "wait for all"
    assert case_groups.name(Labels(), part, names[:1]) == "wait for all, at least 1 in sync"
    assert case_groups.name(Labels(), part, [names[0], names[3]]) == (
        "wait for all, at least 1 in sync, or wait for the leader, at least 2 in sync"
    )


def of_case(case: Case) -> fault_outcome.FaultOutcome:
    found = results(case)
    (part,) = sweep.parts(found)
    (case_outcome,) = fault_outcome.outcomes(found, part, Labels())
    return case_outcome


def test_losses_within_a_promise_and_outside_one_are_told_apart() -> None:
    beyond, waiting = (
        of_case(case)
        for case in (
            kafka(Trial(lost=None, unread=60_816), acks="1"),
            two_replicas(Trial(lost=None, unread=35)),
        )
    )
    whole, whole_beyond = of_case(kafka(Trial(), acks="all")), of_case(kafka(Trial(), acks="1"))

    assert not fault_outcome.same_fate(beyond, waiting)
    assert fault_outcome.same_fate(beyond, beyond)
    assert fault_outcome.same_fate(whole, whole_beyond)


@pytest.mark.parametrize(
    ("case", "text", "tone"),
    [
        (kafka(Trial(), acks="all"), "0", "quiet"),
        (kafka(Trial(lost=7, sent=(0, 9)), acks="all"), "7, against its promise", "bad"),
        (kafka(Trial(lost=7, sent=(0, 9)), acks="1"), "7, outside its promise", "strong"),
        (
            kafka(Trial(lost=28_000, sent=(0, 14)), acks="1"),
            "28,000 (14 s of writes), outside its promise",
            "strong",
        ),
        (
            kafka(Trial(lost=None, unread=60_816), acks="1"),
            "at most 60,816 (unread), outside its promise",
            "strong",
        ),
        (kafka(Trial(lost=None, unread=35), acks="all"), "at most 35 (unread), against its promise", "bad"),
        (
            kafka(Trial(lost=None, unread=54_000), Trial(lost=None, unread=53_900), acks="1"),
            "at most 54,000 (unread), outside its promise",
            "strong",
        ),
        (two_replicas(Trial(lost=None, unread=35)), "35 unread until a replica is back", "strong"),
        (
            two_replicas(Trial(lost=None, unread=35, script=3.0)),
            "at most 35 (unread), against its promise",
            "bad",
        ),
    ],
)
def test_only_a_broken_promise_is_red(case: Case, text: str, tone: str) -> None:
    found = results(case)
    (part,) = sweep.parts(found)
    (one,) = fault_outcome.outcomes(found, part, Labels())

    cell = fault_cells.loss_cell(one)

    assert (cell.text, cell.tone) == (text, tone)


def test_an_application_between_two_topics_is_not_judged_by_the_promise_of_the_log() -> None:
    case = replace(
        kafka(Trial(lost=7, sent=(0, 9)), acks="all"), asked=IN_SYNC | {"processor": {"commit": "after"}}
    )
    found = results(case)
    (part,) = sweep.parts(found)

    assert fault_outcome.outcomes(found, part, Labels())[0].coverage is Coverage.OPEN


def test_an_outage_in_a_table_has_what_set_it_and_what_was_set_aside() -> None:
    trials = [*Trial(ended="healing", script=10.0).copies(27.4, 33.3), Trial(writes=(45.6,), other_cpu=1.0)]

    assert (
        fault_cells.outage_cell(outcome(*trials).writes).text
        == "27 to 33 s, 10 s by the script, 46 s in a disturbed trial"
    )
    assert fault_cells.outage_cell(outcome(Trial(writes=(3.0, 4.0))).writes).text == "7.0 s, in all"
    assert fault_cells.outage_cell(outcome(Trial(ended="no end")).writes).text == "6.0 s, no end"


def test_a_table_for_less_room_has_a_row_an_outcome() -> None:
    found = fault_run(results(*(kafka(Trial(), session=f"{number} s") for number in range(3))), Labels())

    whole, joined = fault_table.table(found), fault_table.table(found, fault_table.same)

    assert [len(table.rows) for table in (whole, joined) if table] == [4, 2]


def test_the_table_has_a_row_a_configuration_and_with_more_than_eight_a_row_an_outcome() -> None:
    few = results(*(kafka(Trial(), session=f"{number} s") for number in range(8)))
    many = results(*(kafka(Trial(), session=f"{number} s") for number in range(9)))

    tables = [fault_table.table(fault_run(found, Labels())) for found in (few, many)]

    assert [len(table.rows) for table in tables if table] == [9, 2]
    system, first, *_ = tables[0].rows  # type: ignore[union-attr]
    assert [cell.text for cell in system.cells] == ["Kafka: replicas=3, min.insync.replicas=2"]
    assert [cell.text for cell in first.cells] == [
        "session timeout of 0 s",
        "session=0 s",
        "6.0 s",
        "0",
        "0",
    ]


def test_one_column_spans_the_times_of_writes_and_reads_where_these_are_alike() -> None:
    alike = results(kafka(Trial(writes=(6.0,), reads=(6.8,)), Trial(writes=(6.4,), reads=(6.2,))))
    apart = results(kafka(Trial(writes=(6.0,), reads=(9.0,))))

    tables = [fault_table.table(fault_run(found, Labels())) for found in (alike, apart)]

    heads = [[column.head for column in table.columns] for table in tables if table]
    times = [table.rows[1].cells[1].text for table in tables if table]
    assert "no writes or reads" in heads[0]
    assert "no reads" in heads[1]
    assert times == ["6.0 to 6.8 s", "6.0 s"]
