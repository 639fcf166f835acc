"""The table `cases`: each case's figures over its valid trials."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bench import numbers
from bench.columns import COUNTERS, ENDS, RATES, TIMES, USAGE
from bench.model import Interval
from bench.records.trial import TrialRecord
from bench.statistics.interval import level, level_interval, median_interval

Row = dict[str, Any]
TrialRow = Mapping[str, Any]

FIGURES = (*RATES, *TIMES)


def case_rows(trials: Sequence[TrialRecord], rows: Sequence[TrialRow], settings: Iterable[str]) -> list[Row]:
    """Give a row a case, in the order in which the cases first ran; `rows` are those of `trials`."""
    members: dict[tuple[str, str], list[tuple[TrialRecord, TrialRow]]] = {}
    for trial, row in zip(trials, rows, strict=True):
        members.setdefault((trial.case.system, trial.case.name), []).append((trial, row))
    return [
        _case([trial for trial, _ in member], [row for _, row in member], settings)
        for member in members.values()
    ]


def _case(trials: Sequence[TrialRecord], rows: Sequence[TrialRow], settings: Iterable[str]) -> Row:
    valid = [row for row in rows if row["verdict"] == "valid"]
    case = trials[0].case
    broken = any(trial.is_fault_trial for trial in trials)
    figures = (statistics.median, median_interval) if broken else (level, level_interval)
    promise = case.guarantee
    return {
        "system": case.system,
        "case": case.name,
        **{name: trials[0].settings.get(name) for name in settings},
        "rounds": len(valid),
        "trials": len(rows),
        **{name: value for figure in FIGURES for name, value in _spread(figure, valid, *figures).items()},
        **{name: _sum(name, valid) for name in (*COUNTERS, "due_unsent")},
        "lost_at_least": sum(row.get("lost") or 0 for row in valid),
        **{name: _median(name, valid) for name in USAGE},
        "bottleneck": _verdicts(valid),
        "guarantee": promise and promise.sentence,
    }


def _spread(
    name: str,
    valid: Sequence[TrialRow],
    middle_of: Callable[[Sequence[float]], float],
    interval_of: Callable[[Sequence[float]], Interval | None],
) -> Row:
    """Middle, range and interval of one figure over the valid trials; times stay whole nanoseconds.

    A trial without a time that others have is above them all: so many of its messages have none. Then the middle is
    the median; where that or the highest is such a one it has no value, and with any of them there is no interval.
    """
    known_values = [row[name] for row in valid if row.get(name) is not None]
    columns = dict.fromkeys((name, *(f"{name}_{end}" for end in ENDS)))
    if not known_values:
        return columns
    exact = round if name in TIMES else float
    values = [*known_values, *([math.inf] * (len(valid) - len(known_values) if name in TIMES else 0))]
    interval = interval_of(values) if len(values) == len(known_values) else None
    figures = {
        name: middle_of(values),
        f"{name}_low": min(values),
        f"{name}_high": max(values),
        f"{name}_ci_low": interval.low if interval else None,
        f"{name}_ci_high": interval.high if interval else None,
    }
    return columns | {
        end: exact(figure) for end, figure in figures.items() if figure is not None and math.isfinite(figure)
    }


def _median(name: str, valid: Sequence[TrialRow]) -> float | None:
    values = [row[name] for row in valid if row.get(name) is not None]
    return statistics.median(values) if values else None


def _verdicts(valid: Sequence[TrialRow]) -> str | None:
    """What limited the trials."""
    return numbers.tally(str(row["bottleneck"]) for row in valid if row.get("bottleneck")) or None


def _sum(name: str, valid: Sequence[TrialRow]) -> int | None:
    """Add up a counter; a sum with an unknown part is unknown."""
    values = [row.get(name) for row in valid]
    numbers_ = [value for value in values if value is not None]
    return sum(numbers_) if numbers_ and len(numbers_) == len(values) else None
