"""Intervals of a case's level over trials, and ratios paired by round."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from bench import numbers
from bench.columns import TIMES
from bench.model import ENOUGH_TRIALS, Interval

LEVEL = 0.95
_RESAMPLES = 4_999
_SEED = 1
"""One seed for every interval, so that the same trials always give the same results."""

_WITHOUT_RATIO = (0, math.inf)

FEWEST_STARTS = 3
"""From so many cluster starts on a case's level has an interval where nothing is broken."""


def direction(ratio: float, interval: Interval, smallest_effect: float) -> int | None:
    """Return 1 for a ratio above 1, -1 for one below, 0 for no difference that matters, None for undecided.

    A direction is decided where the interval leaves out 1 and the ratio is beyond the smallest effect that matters
    (a share: 0.05 is 5 %). There is no difference where no part of the interval is beyond it.
    """
    matters = 1 + smallest_effect
    if interval.low > 1 and ratio >= matters:
        return 1
    if interval.high < 1 and ratio <= 1 / matters:
        return -1
    return 0 if interval.low >= 1 / matters and interval.high <= matters else None


def t_reach(error: float, freedom: float, level: float = LEVEL) -> float:
    """Return how far an interval reaches to either side, by its standard error and degrees of freedom (Student's t)."""
    return float(scipy.stats.t.isf((1 - level) / 2, freedom)) * error


def level(values: Sequence[float]) -> float:
    """Return a case's level over cluster starts: the geometric mean, so that levels have the ratio that rounds have.

    The median where a value has no logarithm.
    """
    if len(set(values)) == 1 or not _have_logarithms(values):
        return statistics.median(values)
    return statistics.geometric_mean(values)


def level_interval(values: Sequence[float]) -> Interval | None:
    """Return the 95 % interval of a case's level over cluster starts; None below `FEWEST_STARTS` values.

    The t interval of the logarithms, so that of the geometric mean. None where a value has no logarithm.
    """
    if len(values) < FEWEST_STARTS or not _have_logarithms(values):
        return None
    logs = [math.log(value) for value in values]
    reach = t_reach(statistics.stdev(logs) / math.sqrt(len(logs)), len(logs) - 1)
    mean = statistics.fmean(logs)
    return Interval(math.exp(mean - reach), math.exp(mean + reach))


def _have_logarithms(values: Sequence[float]) -> bool:
    return all(0 < value < math.inf for value in values)


def median_interval(values: Sequence[float]) -> Interval | None:
    """Return the 95 % bootstrap interval of the median; None below `ENOUGH_TRIALS` values.

    Bias-corrected and accelerated (B. Efron, "Better Bootstrap Confidence Intervals", 1987). Where that is not
    defined, as most values are the same, the plain percentiles of the bootstrap.
    """
    if len(values) < ENOUGH_TRIALS:
        return None
    if min(values) == max(values):
        return Interval(values[0], values[0])
    for method in ("BCa", "percentile"):
        low, high = _bootstrap(values, method)
        if not math.isnan(low) and not math.isnan(high):
            return Interval(max(low, min(values)), min(high, max(values)))
    return None


def _bootstrap(values: Sequence[float], method: str) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.stats.DegenerateDataWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = scipy.stats.bootstrap(
            (np.asarray(values, dtype=float),),
            np.median,
            confidence_level=LEVEL,
            n_resamples=_RESAMPLES,
            method=method,
            rng=_SEED,
        ).confidence_interval
    return float(interval.low), float(interval.high)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much larger one side is than the other: the median of the rounds' ratios, with its interval."""

    median: float
    interval: Interval | None


def by_round(rows: Iterable[Mapping[str, Any]], metric: str) -> dict[int, float]:
    """Return a column of some trials of one case by their rounds, of those that have a value.

    A time that falls among what never came is infinite: longer than any that was measured (docs/method/latency.md).
    """
    values = {row["round"]: metric_value(row, metric) for row in rows}
    return {number: value for number, value in values.items() if value is not None}


def values_by_case(rows: Iterable[Mapping[str, Any]], metric: str) -> dict[str, dict[int, float]]:
    """Return a column of the table `trials` by case and round, of the trials that have a value."""
    cases: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        cases.setdefault(row["case"], []).append(row)
    return {case: by_round(members, metric) for case, members in cases.items()}


def metric_value(row: Mapping[str, Any], metric: str) -> float | None:
    """Return a trial's figure: None where nothing was measured, infinity for a time among what never came."""
    return math.inf if metric in TIMES and numbers.endless(row, metric) else row.get(metric)


def pair_by_round(left: Mapping[int, float], right: Mapping[int, float]) -> list[tuple[float, float]]:
    """Pair the values of both sides by round; a round without a value on both is left out."""
    return [(left[number], right[number]) for number in sorted(left.keys() & right.keys())]


def ratios(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """Return left over right of each pair: infinite over zero, none where both are zero or both never came."""
    comparable_pairs = [
        (left, right)
        for left, right in pairs
        if right >= 0 and not (left == right and right in _WITHOUT_RATIO)
    ]
    return [left / right if right else math.inf for left, right in comparable_pairs]


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Ratio | None:
    """Return the ratio left over right of values paired by round; None without any, or where the median is no number.

    Where a side of any pair never came there is no interval.
    """
    pair_ratios = ratios(pairs)
    if not pair_ratios or not math.isfinite(statistics.median_high(pair_ratios)):
        return None
    endless = any(math.isinf(value) for pair in pairs for value in pair)
    if endless and statistics.median_low(pair_ratios) == 0:
        return None
    return Ratio(
        statistics.median(pair_ratios),
        None if endless or math.inf in pair_ratios else median_interval(pair_ratios),
    )


def most_unseen(trials: int) -> float:
    """Return the largest share of trials that may show an event which none of `trials` trials showed.

    The exact one-sided 95 % bound of a binomial share (Clopper and Pearson 1934), about 3 / trials.
    """
    return float(1.0 - (1.0 - LEVEL) ** (1.0 / trials))
