"""The rows that an expectation is judged by: a trial's settings, its figures, and what the expectation speaks of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.folder import TrialRecord
from bench.model import ERRORS, STEP_NS

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of a run: the rows of `trials` in the run's order, of `faults` and of `errors`."""

    trials: Sequence[Row]
    faults: Sequence[Row]
    errors: Sequence[Row]


def meant(expectation: Row, trials: Iterable[TrialRecord], found: Found) -> list[dict[str, Any]]:
    """Give each trial's row the settings that are not swept, and the value of a metric that is no column of it."""
    rows = []
    for trial, row in zip(trials, found.trials, strict=True):
        known = {
            name: value for name, value in row.items() if value is not None or name not in trial.configured
        }
        rows.append({**trial.configured, **known, **_beside(expectation, trial, found)})
    return rows


def _beside(expectation: Row, trial: TrialRecord, found: Found) -> dict[str, Any]:
    metric = expectation["metric"]
    if metric == ERRORS:
        mine = [row for row in found.errors if row["trial"] == trial.trial]
        return {ERRORS: sum(row["count"] for row in mine if row["error"] == expectation["error"])}
    if metric == STEP_NS:
        worst = math.inf if expectation.get("at_most") is not None else None
        return {STEP_NS: _between(trial.faults, expectation["since"], expectation["until"], worst)}
    if expectation.get("fault") is not None:
        mine = [row for row in found.faults if row["trial"] == trial.trial]
        values = [row.get(metric) for row in mine if _is(row["fault"], expectation["fault"])]
        known = [value for value in values if value is not None]
        return {metric: max(known) if known and len(known) == len(values) else None}
    return {}


def _is(name: object, step: str) -> bool:
    """Whether a record is of a step, or one of the times that it came."""
    return name == step or str(name).startswith(f"{step}, ")


def _between(steps: Sequence[Row], since: str, until: str, never: float | None) -> float | None:
    """Return the time from when one step was done until another was due; `never` where that one did not come."""
    begun = [step["effect_ns"] for step in steps if step["name"] == since and step.get("effect_ns")]
    due = [step["asked_ns"] for step in steps if step["name"] == until and step["kind"] != "left out"]
    if not begun:
        return None
    return due[0] - begun[0] if due else never
