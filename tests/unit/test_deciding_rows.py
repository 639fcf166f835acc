"""Times that had no end: what they say of a claim, and how they are told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.analysis.folder import ManifestRecord, PlannedRecord, PlanRecord, RunRecords
from bench.analysis.verdicts.deciding_rows import MeasuredRows, expectation_rows, never_run
from bench.analysis.verdicts.expectations import judge
from bench.records.trial import TrialRecord

Row = dict[str, Any]

COPIED = {
    "id": "copied",
    "claim": "It is copied within a minute",
    "system": "pulsar",
    "metric": "step_ns",
    "since": "bookie killed",
    "until": "copies there",
    "at_most": 60_000_000_000,
}
BACK = {
    "id": "back",
    "claim": "The rate is back",
    "system": "pulsar",
    "metric": "back_ns",
    "fault": "bookie killed",
}
KILL = {
    "name": "bookie killed",
    "kind": "kill",
    "asked_ns": 1_000_000_000,
    "effect_ns": 1_000_000_000,
    "proven": True,
}


def judged(
    expectation: Row,
    steps: list[Row],
    row: Row | None = None,
    others: Row | None = None,
    readings: Sequence[Row] = (),
    **fault: Any,
) -> Row:
    """Judge by one trial, with `others` among the keys of its trial.json."""
    record = TrialRecord.model_validate(
        {
            "format": 1,
            "trial": 0,
            "round": 0,
            "case": {"system": "pulsar", "name": "pulsar", "settings": {}},
            "load": {"pacing": [[40.0, 100.0]]},
            "state": "finished",
            "verdict": "valid",
            "window": {"start_ns": 0, "end_ns": 40_000_000_000},
            "faults": [KILL, *steps],
            **(others or {}),
        }
    )
    known = {"trial": 0, "round": 0, "system": "pulsar", "case": "pulsar", "verdict": "valid"}
    found = MeasuredRows([known | (row or {})], [fault] if fault else [], [], readings=readings)
    said = judge(expectation, expectation_rows(expectation, [record], found), [])
    return dict(json.loads(json.dumps(said, allow_nan=False)))


def values(said: Row) -> list[Any]:
    return list(said["comparisons"][0]["values"])


def test_a_step_that_was_awaited_in_vain_speaks_against_its_bound() -> None:
    said = judged(COPIED, [{"name": "copies there", "kind": "left out", "asked_ns": 99_000_000_000}])

    assert said["verdict"] == "did not hold"
    assert values(said) == ["never"]


SHORT = {"verdict": "invalid", "reason": "These faults never came: killed again."}
NEVER_CAME = {
    "name": "copies there",
    "kind": "left out",
    "asked_ns": 99_000_000_000,
    "strikes": ["killed again"],
}


def stopped_short(expectation: Row, row: Row) -> Row:
    checks = [{"check": "recorder", "verdict": "valid"}, {"check": "faults", "verdict": "invalid"}]
    return judged(expectation, [NEVER_CAME], SHORT | row, SHORT | {"verdicts": checks})


def test_a_trial_whose_later_faults_never_came_speaks_against_the_step_that_they_waited_for() -> None:
    said = stopped_short(COPIED, {})

    assert said["verdict"] == "did not hold"
    assert values(said) == ["never"]


def test_such_a_trial_says_nothing_else_and_nothing_where_more_is_wrong_with_it() -> None:
    lost = {**COPIED, "metric": "lost", "at_most": 0}

    assert values(stopped_short(lost, {"lost": 0})) == []
    assert values(stopped_short(COPIED, {"reason": f"{SHORT['reason']} 1 send stands there twice."})) == []


def test_a_step_that_nobody_waited_for_says_nothing() -> None:
    said = judged(COPIED, [{"name": "copies missing", "kind": "left out", "asked_ns": 99_000_000_000}])

    assert said["verdict"] == "undecided"
    assert values(said) == [None]


def test_a_reader_that_stood_still_before_a_step_did_not_do_so_since() -> None:
    """It stood still from 2 to 40 s, until a step of 30 s had its effect, and from 41 to 45 s."""
    second = {"from_ns": 41_000_000_000, "to_ns": 45_000_000_000}
    stalls = [{"from_ns": 2_000_000_000, "to_ns": 40_000_000_000}, second]
    steps = [
        {"name": "reads", "kind": "read", "asked_ns": 1, "effect_ns": 2, "stalls": stalls, "complete": True},
        {"name": "back", "kind": "undo", "asked_ns": 30_000_000_000, "effect_ns": 31_000_000_000},
    ]
    still = COPIED | {"metric": "reader_stall_ns", "since": "back", "until": None, "at_most": None}
    row = {"reader_stall_ns": 38_000_000_000}

    (found,) = judged(still | {"at_least": 30_000_000_000}, steps, row)["comparisons"]
    assert (found["values"], found["verdict"]) == ([4_000_000_000], "did not hold")
    assert found["what"] == "pulsar: since back, reader_stall_ns >= 30 s"
    (found,) = judged(still | {"at_least": 30_000_000_000}, steps[:1], row)["comparisons"]
    assert (found["values"], found["verdict"]) == ([None], "undecided")


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [({"at_most": 50e9}, "undecided"), ({"at_most": 3e9}, "did not hold"), ({"at_least": 3e9}, "held")],
)
def test_a_reader_that_stood_when_it_was_given_up_may_have_stood_longer(bound: Row, verdict: str) -> None:
    last = {"from_ns": 41_000_000_000, "to_ns": 45_000_000_000, "received": 7}
    steps = [
        {"name": "reads", "kind": "read", "asked_ns": 1, "stalls": [last], "complete": False, "received": 7},
        {"name": "back", "kind": "undo", "asked_ns": 30_000_000_000, "effect_ns": 31_000_000_000},
    ]
    still = COPIED | {"metric": "reader_stall_ns", "until": None, "at_most": None} | bound
    row = {"reader_stall_ns": 4_000_000_000, "reader_stall_ended": "no end"}

    assert judged(still | {"since": "back"}, steps, row)["verdict"] == verdict
    assert judged(still | {"since": None}, steps, row)["verdict"] == verdict


def test_a_step_that_came_is_told_by_its_time() -> None:
    said = judged(COPIED, [{"name": "copies there", "kind": "mark", "asked_ns": 31_000_000_000}])

    assert said["verdict"] == "held"
    assert values(said) == [30_000_000_000]


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [({"at_most": 30e9}, "did not hold"), ({"at_least": 30e9}, "held"), ({"at_most": 50e9}, "undecided")],
)
def test_a_rate_that_was_not_back_by_the_loads_end_was_not_back_within_less(bound: Row, verdict: str) -> None:
    """The load went on for 39 s after the fault."""
    said = judged(BACK | bound, [], trial=0, fault="bookie killed", rate_before=100.0, back_ns=None)

    assert said["verdict"] == verdict
    assert values(said) == ([None] if verdict == "undecided" else ["never"])


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        ({"at_least": 5}, "did not hold"),
        ({"at_least": 4}, "held"),
        ({"at_most": 9}, "held"),
        ({"at_most": 8}, "did not hold"),
    ],
)
def test_every_time_that_a_group_came_must_hold(bound: Row, verdict: str) -> None:
    """It came twice, and found 4 and 9."""
    came = {
        "id": "found",
        "claim": "It finds",
        "system": "pulsar",
        "metric": "found",
        "reading": "back",
    } | bound
    readings = [{"trial": 0, "reading": f"back, {turn}", "found": count} for turn, count in ((1, 4), (2, 9))]
    said = judged(came, [], readings=readings)

    assert said["verdict"] == verdict
    assert said["comparisons"][0]["what"].startswith("pulsar: back, found ")


def test_a_step_whose_load_was_not_timed_says_nothing() -> None:
    disturbed = {
        "id": "disturbed",
        "claim": "Sends take longer",
        "system": "pulsar",
        "reading": "back",
        "metric": "send_slowdown",
        "at_least": 1.5,
    }

    said = judged(disturbed, [], readings=[{"trial": 0, "reading": "back"}])

    assert said["verdict"] == "undecided"


def test_a_rate_that_nothing_can_be_held_against_says_nothing() -> None:
    said = judged(
        BACK | {"at_most": 30e9}, [], trial=0, fault="bookie killed", rate_before=None, back_ns=None
    )

    assert said["verdict"] == "undecided"


GAP = {
    "id": "gap",
    "claim": "Writes go on",
    "system": "pulsar",
    "metric": "ack_gap_ns",
    "fault": "bookie killed",
}
MISSING = {"id": "copies", "claim": "Copied", "system": "pulsar", "metric": "copies_missing_ns"}


@pytest.mark.parametrize("ended", ["no end", "next fault"])
@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        ({"at_most": 4e9}, "did not hold"),
        ({"at_most": 6e9}, "undecided"),
        ({"at_least": 4e9}, "held"),
        ({"at_least": 6e9}, "undecided"),
        ({"once_at_least": 4e9}, "held"),
    ],
)
def test_a_gap_that_was_cut_says_only_what_it_had_come_to(bound: Row, verdict: str, ended: str) -> None:
    """It is 5 s long, and was not over."""
    row: Row = {"trial": 0, "fault": "bookie killed", "ack_gap_ns": 5_000_000_000, "ack_gap_ended": ended}

    assert judged(GAP | bound, [], **row)["verdict"] == verdict


@pytest.mark.parametrize("ended", [None, "healing", "restart"])
def test_a_gap_that_ended_is_as_long_as_it_was(ended: str | None) -> None:
    row: Row = {"trial": 0, "fault": "bookie killed", "ack_gap_ns": 5_000_000_000, "ack_gap_ended": ended}

    assert judged(GAP | {"at_most": 6e9}, [], **row)["verdict"] == "held"
    assert judged(GAP | {"at_least": 6e9}, [], **row)["verdict"] == "did not hold"


def test_copies_that_were_not_back_may_still_have_been_late() -> None:
    row = {"copies_missing_ns": 5_000_000_000}
    cut = row | {"copies_missing_ended": "no end"}

    assert judged(MISSING | {"at_most": 6e9}, [], row)["verdict"] == "held"
    assert judged(MISSING | {"at_most": 6e9}, [], cut)["verdict"] == "undecided"
    assert judged(MISSING | {"at_most": 4e9}, [], cut)["verdict"] == "did not hold"


def test_a_time_that_falls_among_what_never_came_is_above_any_bound() -> None:
    claim = {
        "id": "fast",
        "claim": "It is fast",
        "system": "pulsar",
        "metric": "response_p99_ns",
        "at_most": 1e9,
    }

    assert judged(claim, [], row={"response_min_ns": 5, "response_p99_ns": None})["verdict"] == "did not hold"
    assert judged(claim, [], row={"response_min_ns": None, "response_p99_ns": None})["verdict"] == "undecided"
    assert judged(claim, [], row={"response_min_ns": 5, "response_p99_ns": 9})["verdict"] == "held"


@pytest.mark.parametrize(("missing", "verdict"), [((), "held"), (("3",), "undecided")])
def test_a_claim_does_not_hold_by_the_cases_that_were_run(missing: tuple[str, ...], verdict: str) -> None:
    """Of a run that was cut short before it came to three copies."""
    ran = [planned(number, copies) for number, copies in enumerate(("1", "2"))]
    records = [
        TrialRecord.model_validate(
            {
                "format": 1,
                "trial": one.trial,
                "round": 0,
                "case": {"system": "kafka", "name": one.name, "settings": one.settings},
                "load": {"pacing": "closed"},
                "state": "finished",
                "verdict": "valid",
            }
        )
        for one in ran
    ]
    every = [*ran, *(planned(2 + number, copies) for number, copies in enumerate(missing))]
    plan = PlanRecord(format=1, swept={"kafka": ["replicas"]}, trials=every)
    folder = RunRecords(Path(), ManifestRecord(format=1), plan, tuple(records))
    claim = {"id": "kept", "claim": "None is lost", "system": "kafka", "metric": "lost", "at_most": 0}
    rows = [
        {"trial": one.trial, "round": 0, "system": "kafka", "case": one.name, "verdict": "valid", "lost": 0}
        for one in ran
    ]

    said = judge(
        claim,
        [*expectation_rows(claim, records, MeasuredRows(rows, [], [])), *never_run(folder)],
        ["replicas"],
    )

    assert said["verdict"] == verdict


def planned(number: int, copies: str) -> PlannedRecord:
    return PlannedRecord(
        trial=number, round=0, system="kafka", name=f"kafka replicas={copies}", settings={"replicas": copies}
    )
