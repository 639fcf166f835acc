"""How a trial is judged by what its load, its faults and its full read gave."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.load.results import LoadResult, ReadResult
from bench.model import Case, Cluster, Load, Pacing, Trial
from bench.records.trial import TrialRecord, VerifyRecord, Window
from bench.run.trial_record import blank, finish

EVENT_LOG = Path(__file__).parents[2] / "docs" / "event-log.md"

SENT = {
    "sent": 3,
    "acked": 3,
    "failed": 0,
    "unknown": 0,
    "stalled": False,
    "due_unsent": 0,
    "never_told": 0,
    "window": {"start_ns": 0, "end_ns": 9},
    "client": {"cpu_share": 0.1},
    "producer": {},
}
SHORT = {"complete": False, "reason": "nothing came for 30 s.", "received": 1}
WHOLE = {"complete": True, "reason": None, "received": 3}


def fault(**changed: Any) -> dict[str, Any]:
    base = {
        "name": "gone",
        "kind": "kill",
        "proven": True,
        "unproven": None,
        "seen": "It ended.",
        "asked_ns": 1,
        "after_load": False,
        "heal": "end",
        "healed_ns": 5,
    }
    return base | changed


def finished(
    read: dict[str, Any], *faults: dict[str, Any], unsettled: str | None = None, **changed: Any
) -> TrialRecord:
    """What comes of a trial; `changed` are keys of what was sent, or of the trial's record."""
    load = Load(1, 100, Pacing(), 1, 0, 0.0, 1.0, None)
    case = Case("kafka", "kafka", {}, Cluster("kafka", "4.3.1", {}), 1, {}, {}, {}, load)
    begun = blank(Trial(0, 0, case)).model_dump() | {"faults": faults} | changed
    record = TrialRecord.model_validate(begun)
    sent = LoadResult.model_validate(SENT | changed)
    finish(record, sent, ReadResult.model_validate(read), unsettled)
    return record


def judged(read: dict[str, Any], *faults: dict[str, Any], **sent: Any) -> tuple[str, str | None]:
    record = finished(read, *faults, **sent)
    return record.verdict, record.reason


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"acked": 2}, "3 sends were made, 2 are in the log, 2 acknowledged."),
        ({"unknown": 1}, "3 sends were made, 4 are in the log, 3 acknowledged."),
        ({"acked": 0, "unknown": 3}, "3 sends were made, 3 are in the log, 0 acknowledged."),
        ({"acked": 0, "sent": 0}, "0 sends were made, 0 are in the log, 0 acknowledged."),
    ],
)
def test_a_send_that_is_not_in_the_log_makes_a_trial_invalid_and_so_does_none_acknowledged(
    sent: dict[str, Any], reason: str
) -> None:
    assert judged(WHOLE, **sent) == ("invalid", reason)


def test_sends_that_failed_or_stayed_unknown_are_in_the_log_too() -> None:
    assert judged(WHOLE, acked=1, failed=1, unknown=1) == ("valid", None)


def test_a_load_that_breaks_off_counts_only_where_something_was_to_break() -> None:
    reason = "The load stopped: the brokers no longer answered."

    assert judged(WHOLE, stalled=True) == ("invalid", reason)
    assert judged(WHOLE, fault(), stalled=True) == ("valid", None)


@pytest.mark.parametrize(
    ("cost_ms", "held_ms", "took"),
    [
        (5.2, 5.1, None),
        (30.0, 5.1, None),  # the disk's own share
        (4.9, 5.1, "4.90 ms on broker-1 before the load"),
        (5.2, 4.9, "4.90 ms on broker-1 in it"),
        (5.2, 7.4, None),
        (5.2, 7.5, "7.50 ms on broker-1 in it"),
        (0.1, 0.0, "0.10 ms on broker-1 before the load, 0.00 ms on broker-1 in it"),
    ],
)
def test_a_disk_that_was_not_the_one_asked_for_makes_a_trial_invalid(
    cost_ms: float, held_ms: float, took: str | None
) -> None:
    told = {
        "fsync_ns": {"broker-1": {"calls": 25, "p50": cost_ms * 1e6}},
        "held": {"broker-1": {"calls": 20, "p50": held_ms * 1e6}, "zookeeper-1": {"calls": 1, "p50": 1}},
    }

    record = finished(WHOLE, disk={"emulated_fsync": "5ms", **told})

    assert record.reason == (took and f"Fsyncs were to take 5ms longer and took {took}.")
    assert record.verdict == ("invalid" if took else "valid")


def test_the_disk_as_it_is_is_held_against_nothing() -> None:
    told = {"emulated_fsync": "as is", "fsync_ns": {"broker-1": {"calls": 25, "p50": 90_000}}, "held": {}}

    assert finished(WHOLE, disk=told).verdict == "valid"


def test_the_worst_check_is_the_verdict_and_each_says_why() -> None:
    verdict, reason = judged(SHORT, fault(proven=False, unproven="No packet was dropped."))

    assert verdict == "invalid"
    assert reason == (
        "Nothing shows that these faults took effect: gone. No packet was dropped. "
        "The full read did not reach the end: nothing came for 30 s."
    )


def test_a_whole_read_counts() -> None:
    assert judged(WHOLE, fault()) == ("valid", None)


def test_a_read_that_stops_short_leaves_the_question_open() -> None:
    verdict, reason = judged(SHORT, fault())

    assert verdict == "unknown"
    assert "did not reach the end" in str(reason)


def test_what_was_measured_stands_where_a_system_did_not_become_whole_again() -> None:
    record = finished(WHOLE, fault(), unsettled="Within 60 s broker-1 did not see all in sync.")

    assert (record.state, record.verdict) == ("finished", "unknown")
    assert record.window == Window(start_ns=0, end_ns=9)
    assert record.verify == VerifyRecord(
        complete=False,
        reason="The cluster had not settled, so a later read might return more messages. "
        "Within 60 s broker-1 did not see all in sync.",
    )


def test_a_read_that_stops_short_answers_where_nothing_is_ever_mended() -> None:
    gone = fault(heal="never", healed_ns=None)

    assert judged(SHORT, gone) == ("valid", None)
    assert "Never mended: gone." in str(finished(SHORT, gone).verdicts[-1].reason)


def test_a_fault_that_was_undone_by_a_later_step_is_mended() -> None:
    assert judged(SHORT, fault(heal="never", healed_ns=7))[0] == "unknown"


def test_a_fault_that_nothing_shows_makes_a_trial_invalid_and_other_steps_do_not() -> None:
    unproven = fault(proven=False, unproven="No packet was dropped.")
    reason = "Nothing shows that these faults took effect: gone. No packet was dropped."

    assert judged(WHOLE, unproven) == ("invalid", reason)
    assert judged(WHOLE, fault(proven=False))[0] == "invalid"
    assert judged(WHOLE, fault(), {"name": "seen", "kind": "mark", "asked_ns": 1})[0] == "valid"


def test_a_fault_after_the_load_met_nothing() -> None:
    reason = "These faults came after the load, which they were to meet: gone."

    assert judged(WHOLE, fault(asked_ns=9)) == ("invalid", reason)
    assert judged(WHOLE, fault(asked_ns=9, after_load=True)) == ("valid", None)


def test_a_fault_that_never_came_is_none() -> None:
    left_out = {"name": "copied", "kind": "left out", "asked_ns": 1, "strikes": ["killed again"]}

    assert judged(WHOLE, fault(), left_out) == ("invalid", "These faults never came: killed again.")
    assert judged(WHOLE, fault(), left_out | {"strikes": []}) == ("valid", None)


def test_a_reader_that_failed_makes_a_trial_invalid_and_one_that_stood_still_does_not() -> None:
    reader = {
        "name": "reads",
        "kind": "read",
        "asked_ns": 1,
        "complete": False,
        "reason": "The topic is gone.",
        "stalls": [],
    }

    assert judged(WHOLE, fault(), reader) == ("invalid", "The reader of 'reads' failed: The topic is gone.")
    assert judged(WHOLE, fault(), reader | {"stalls": [{"from_ns": 0, "to_ns": 9}]})[0] == "valid"
    assert judged(WHOLE, fault(), reader | {"complete": True})[0] == "valid"


def test_a_consumer_group_that_failed_makes_a_trial_invalid() -> None:
    group = {"name": "comes back", "kind": "consume", "asked_ns": 1, "group": "away", "reason": "No answer."}

    assert judged(WHOLE, group) == ("invalid", "The consumer group of 'comes back' failed: No answer.")
    assert judged(WHOLE, group | {"kind": "subscribe"})[0] == "invalid"
    assert judged(WHOLE, group | {"reason": None})[0] == "valid"


def test_the_event_logs_document_shows_every_key_of_a_trial() -> None:
    shown = EVENT_LOG.read_text().split("## `trial.json`")[1].split("```")[1].removeprefix("json")

    told_below = {"disk", "node_size", "holds"}  # where the scenario asks for them
    assert set(json.loads(shown)) == set(finished(WHOLE).model_dump()) - told_below
