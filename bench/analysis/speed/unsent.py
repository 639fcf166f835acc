"""Sends that an open loop's pacing wanted and that were never made, as the producers' windows were full."""

from __future__ import annotations

from typing import NamedTuple

from bench.analysis.folder import TrialRecord
from bench.model import NANOS

_LATE_NS = NANOS // 10
"""What is due so shortly before the end may only have been late: a sender that wakes after the end sends no more."""


class Unsent(NamedTuple):
    """How many were due and never made: in the whole trial, and in its window."""

    every: int
    in_window: int


def unsent(trial: TrialRecord, sent: int) -> Unsent | None:
    """Count them, given how many sends the event log has; None where no schedule with an end says what was due.

    A load of so many messages wants all of them: where it broke off, the rest was never made (at least: sends of the
    warm-up are among those in the log). Else each producer makes its sends in the order in which they are due, so what
    was not made was due last.
    """
    load, window, schedule = trial.load, trial.window, trial.load.schedule
    if schedule is None or window is None or load.warm_up_s is None:
        return None
    if load.messages is not None:
        every = max(0, load.messages - sent)
        return Unsent(every, every)
    if load.duration_s is None:
        return None
    warm_up_ns = round(load.warm_up_s * NANOS)
    before = schedule.due_before(warm_up_ns)
    due = schedule.due_before(warm_up_ns + window.end_ns - window.start_ns - _LATE_NS)
    every = max(0, due - sent)
    return Unsent(every, max(0, min(every, due - before)))
