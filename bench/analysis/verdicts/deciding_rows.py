"""The rows that decide an expectation: a trial's settings, its figures, and what the expectation selects."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.folder import RunRecords
from bench.columns import READER_STALL_NS
from bench.model import ERRORS, NEXT, NO_END, STEP_NS, text
from bench.records.steps import LeftOutRecord, ReadRecord, StepRecord
from bench.records.trial import TrialRecord

Row = Mapping[str, Any]

_ENDED = {
    "ack_gap_ns": "ack_gap_ended",
    "live_gap_ns": "live_gap_ended",
    "unavailable_ns": "unavailable_ended",
    "copies_missing_ns": "copies_missing_ended",
    READER_STALL_NS: "reader_stall_ended",
}
"""Times that may have been cut, and the columns that say how they ended."""
_BOUNDS = ("at_most", "at_least", "once_at_least")


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """The rows of a run: of `trials` in the run's order, `faults`, and of other tables by their names."""

    trials: Sequence[Row]
    faults: Sequence[Row]
    errors: Sequence[Row]
    slices: Sequence[Row] = ()
    readings: Sequence[Row] = ()
    transfers: Sequence[Row] = ()


def expectation_rows(
    expectation: Row, trials: Iterable[TrialRecord], measured_rows: MeasuredRows
) -> list[dict[str, Any]]:
    """Give each trial's row the settings that are not swept, and the value of a metric that is no column of it.

    A trial that is invalid because a step was awaited in vain counts against an expectation that bounds that step's
    time, and for nothing else.
    """
    rows = []
    for trial, row in zip(trials, measured_rows.trials, strict=True):
        columns = {
            name: value
            for name, value in row.items()
            if value is not None or name not in trial.case.all_settings
        }
        rows.append(
            {
                **trial.case.all_settings,
                **columns,
                **_beside(expectation, trial, row, measured_rows),
            }
        )
    return rows


def never_run(folder: RunRecords) -> list[dict[str, Any]]:
    """Give a row to each planned trial that was never run: a claim on its case can't hold by the other cases alone.

    What is not swept its case is taken to have in common with its system's others.
    """
    configured = {trial.case.system: trial.case.all_settings for trial in folder.trials}
    return [
        {
            **configured.get(planned.system, {}),
            **{name: text(value) for name, value in planned.settings.items()},
            "system": planned.system,
            "case": planned.name,
            "round": planned.round,
            "verdict": "never run",
        }
        for planned in folder.never_run
    ]


def _beside(
    expectation: Row, trial: TrialRecord, trial_row: Row, measured_rows: MeasuredRows
) -> dict[str, Any]:
    metric = expectation["metric"]
    if metric == ERRORS:
        trial_rows = [row for row in measured_rows.errors if row["trial"] == trial.trial]
        return {ERRORS: sum(row["count"] for row in trial_rows if row["error"] == expectation["error"])}
    if metric == STEP_NS:
        worst = math.inf if expectation.get("at_most") is not None else None
        took = _between(trial.faults, expectation["since"], expectation["until"], worst)
        counts = {"verdict": "valid"} if took == math.inf and _only_short(trial, trial_row) else {}
        return {STEP_NS: took, **counts}
    if metric == READER_STALL_NS and expectation.get("since") is not None:
        stood_ns = _stood_still(trial.faults, expectation["since"], trial_row)
        return {
            READER_STALL_NS: None if _cut_short(expectation, [{**trial_row, metric: stood_ns}]) else stood_ns
        }
    if (beside := _of_step(expectation, measured_rows)) is not None:
        values = [row.get(metric) for row in beside if row["trial"] == trial.trial]
        of_all = min if expectation.get("at_least") is not None else max
        timed_values = [value for value in values if value is not None]
        return {metric: of_all(timed_values) if values and len(timed_values) == len(values) else None}
    if expectation.get("fault") is not None:
        trial_rows = [row for row in measured_rows.faults if row["trial"] == trial.trial]
        fault_rows = [row for row in trial_rows if _is(row["fault"], expectation["fault"])]
        values = [_never_back(expectation, trial, row) or row.get(metric) for row in fault_rows]
        known_values = [value for value in values if value is not None]
        complete = len(known_values) == len(values) and not _cut_short(expectation, fault_rows)
        return {metric: max(known_values) if known_values and complete else None}
    return {metric: None} if _cut_short(expectation, [trial_row]) else {}


def _of_step(expectation: Row, measured_rows: MeasuredRows) -> list[Row] | None:
    """Return the rows of the one step that read, or moved messages, of which is spoken; None where it is of none."""
    for key, rows in (("reading", measured_rows.readings), ("transfer", measured_rows.transfers)):
        if expectation.get(key) is not None:
            return [row for row in rows if _is(row[key], expectation[key])]
    return None


def _cut_short(expectation: Row, rows: Iterable[Row]) -> bool:
    """Whether a time that goes on after it was last looked at may reach the bound that no time had reached till then.

    The load ended, or the next fault was asked for: how long the time would have become nobody knows.
    """
    metric, bound = expectation["metric"], _bound(expectation)
    with_value = [row for row in rows if row.get(metric) is not None]
    if bound is None or metric not in _ENDED or not with_value:
        return False
    cut = any(row.get(_ENDED[metric]) in {NO_END, NEXT} for row in with_value)
    return cut and max(row[metric] for row in with_value) < bound


def _bound(expectation: Row) -> float | None:
    return next((expectation[name] for name in _BOUNDS if expectation.get(name) is not None), None)


def _only_short(trial: TrialRecord, row: Row) -> bool:
    """Whether nothing else is wrong with a trial than that it stopped short; its event log is whole."""
    return trial.stopped_short and row.get("reason") == trial.reason


def _is(name: object, step: str) -> bool:
    """Whether a record is of a step, or one of the times that it came."""
    return name == step or str(name).startswith(f"{step}, ")


def _between(steps: Sequence[StepRecord], since: str, until: str, never: float | None) -> float | None:
    """Return the time from when one step was done until another was due; `never` where that was awaited in vain.

    None where either has no record: nobody waited for it.
    """
    begun = [step.effect_ns for step in steps if step.name == since and step.effect_ns]
    ended = [step for step in steps if step.name == until]
    if not begun or not ended:
        return None
    return never if isinstance(ended[0], LeftOutRecord) else ended[0].asked_ns - begun[0]


def _stood_still(steps: Sequence[StepRecord], since: str, trial_row: Row) -> int | None:
    """Return the longest time that a reader stood still, of those that began after a step was due.

    None where that step has no record, or nothing is known of the reader.
    """
    due = [step.asked_ns for step in steps if step.name == since]
    if not due or trial_row.get(READER_STALL_NS) is None:
        return None
    stalls = [stall for step in steps if isinstance(step, ReadRecord) for stall in step.stalls]
    return max((stall.length_ns for stall in stalls if stall.from_ns >= due[0]), default=0)


def _never_back(expectation: Row, trial: TrialRecord, fault: Row) -> float | None:
    """Return infinity for a rate that was not back when the load ended, where that was no sooner than the bound.

    Likewise for a node that had not taken its part by then.
    """
    never = {
        "back_ns": fault.get("rate_before") is not None and fault.get("back_ns") is None,
        **{
            name: fault.get("kind") == "start" and fault.get(name) is None
            for name in ("share_ns", "first_message_ns")
        },
    }
    if not never.get(expectation["metric"], False):
        return None
    asked_ns = [step.asked_ns for step in trial.faults if step.name == fault["fault"]]
    seen_ns = trial.window.end_ns - asked_ns[0] if trial.window and asked_ns else 0
    bound = _bound(expectation)
    return math.inf if bound is not None and seen_ns >= bound else None
