"""Sends that an open loop's pacing wanted and that were never made, as the producers' windows were full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bench.model import NANOS
from bench.pacing import Schedule
from bench.records.trial import SliceRecord, TrialRecord

_LATE_NS = NANOS // 10
"""What is due so shortly before the end may only have been late: a sender that wakes after the end sends no more."""
_LATE_IN_SLICE_NS = NANOS // 50
"""The same of a slice, which is too short to leave out more."""


class UnsentCounts(NamedTuple):
    """How many were due and never made: in a whole slice, and in the part of it that counts."""

    in_slice: int
    in_window: int


def unsent_counts(trial: TrialRecord, sent: Mapping[int, int]) -> dict[int, UnsentCounts]:
    """Count them by slice, given how many sends of each slice the event log has; the window is slice 0.

    Empty where no schedule with an end says what was due. A load of so many messages wants all of them: where it
    broke off, the rest was never made. That is a lower bound, as sends of the warm-up are among those in the log.
    Else each producer makes its sends in the order in which they are due, so what was not made was due last. Each
    slice begins the schedule anew.
    """
    load, schedule = trial.load, trial.load.schedule
    if schedule is None or load.warm_up_s is None:
        return {}
    if load.messages is not None:
        missing = max(0, load.messages - sum(sent.values()))
        return {span.slice: UnsentCounts(missing, missing) for span in trial.spans}
    if load.duration_s is None:
        return {}
    late_ns = _LATE_IN_SLICE_NS if trial.has_slices else _LATE_NS
    return {span.slice: _of_span(span, schedule, sent.get(span.slice, 0), late_ns) for span in trial.spans}


def _of_span(span: SliceRecord, schedule: Schedule, sent: int, late_ns: int) -> UnsentCounts:
    due_in_lead_in = schedule.due_before(span.start_ns - span.begun_ns)
    due = schedule.due_before(span.end_ns - span.begun_ns - late_ns)
    missing = max(0, due - sent)
    return UnsentCounts(missing, max(0, min(missing, due - due_in_lead_in)))
