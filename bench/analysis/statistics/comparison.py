"""Two runs of the same cases, case by case: which differ by more than a threshold, and which are inconclusive."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from bench import numbers
from bench.analysis.statistics import joint_significance
from bench.columns import RATES, TIMES
from bench.model import ENOUGH_TRIALS, CaseComparison, Change, Interval
from bench.statistics.interval import LEVEL, metric_value

Row = Mapping[str, Any]
Cases = Mapping[tuple[str, str], Sequence[Row]]


def compare(
    first: Sequence[Row], second: Sequence[Row], metric: str, threshold: float
) -> list[CaseComparison]:
    """Compare two tables `trials` by a column of theirs, in the order of the first; `threshold` is a share (0.05).

    A case of the first that the second has no trial of was planned there, or the caller leaves it out.

    The trials of two runs have no rounds in common, so nothing is paired. The ratio is the median of the ratios of
    every trial of the one to every trial of the other (Hodges and Lehmann 1963). The interval is that of the exact
    rank test (Mann and Whitney 1947): it assumes nothing of the distribution but its shape. A case is better or
    worse where the interval leaves 1 out and the ratio is beyond the threshold. There is no difference where the
    whole interval is within it. Else it is undecided.

    A case is also worse where only the second run lost acknowledged messages: the first looked, in every trial, and
    found none. It is worse where each trial of the second lost a larger share of them than any of the first, and
    all of both looked. It is worse where only the second had trials in which nothing was acknowledged, or a time
    never came. There must be more of those than chance brings once in twenty times. It is worse where the second
    has no valid trial of the case.

    Of many cases some look worse, or better, by chance. One is proven so where chance makes any of them look as
    much so in 5 % of pairs of equal runs at most (joint_significance.py). It is also proven where it is worse for
    another of those reasons.
    """
    first_cases, second_cases = _by_case(first), _by_case(second)
    compared = [
        _compare_case(key, rows, second_cases.get(key, []), metric, threshold)
        for key, rows in first_cases.items()
    ]
    decided = [(case.system, case.case) for case in compared if case.interval is not None]
    rounds, other_rounds = _finite(
        *(_by_round(cases, decided, metric) for cases in (first_cases, second_cases))
    )
    chances: dict[Change, dict[tuple[str, str], float]] = {}
    if decided:
        for change, pair in ((Change.WORSE, (rounds, other_rounds)), (Change.BETTER, (other_rounds, rounds))):
            chances[change] = dict(
                zip(decided, joint_significance.chances(*pair, threshold).tolist(), strict=True)
            )
    return [
        _judge_case(case, chances.get(_direction(case), {}).get((case.system, case.case)))
        for case in compared
    ]


def _direction(case: CaseComparison) -> Change:
    """Whether chance is asked how often it makes a case look so much better, or so much worse."""
    return Change.BETTER if case.change == Change.BETTER else Change.WORSE


def _by_round(cases: Cases, keys: Sequence[tuple[str, str]], metric: str) -> joint_significance.Values:
    """Lay a run's values out by round and case, so that more is worse; nan where a trial has none.

    Infinite where a time falls among what never came.
    """
    rounds = sorted({row["round"] for key in keys for row in cases[key]})
    values = np.full((len(rounds), len(keys)), np.nan)
    for column, key in enumerate(keys):
        for row in cases[key]:
            if (value := _figure(row, metric)) is not None:
                values[rounds.index(row["round"]), column] = value
    return -values if metric in RATES else values


def _finite(
    first: joint_significance.Values, second: joint_significance.Values
) -> tuple[joint_significance.Values, joint_significance.Values]:
    """Let what never came count as twice the longest that either run measured of its case: means take no infinity."""
    both_runs = np.concatenate([first, second])
    longest = np.max(both_runs, axis=0, where=np.isfinite(both_runs), initial=0.0)
    return np.where(np.isposinf(first), 2 * longest, first), np.where(
        np.isposinf(second), 2 * longest, second
    )


def _judge_case(case: CaseComparison, chance: float | None) -> CaseComparison:
    rare = bool(case.reason) or (chance is not None and chance <= 1 - LEVEL)
    return replace(case, chance=chance, proven=case.change in {Change.WORSE, Change.BETTER} and rare)


def _by_case(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    by_case: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        valid = by_case.setdefault((row["system"], row["case"]), [])
        if row["verdict"] == "valid":
            valid.append(row)
    return by_case


def _values(rows: Iterable[Row], metric: str) -> list[float]:
    return [value for row in rows if (value := _figure(row, metric)) is not None]


def _figure(row: Row, metric: str) -> float | None:
    """Return a trial's figure, infinity for a time among what never came; None where it has none with ratios."""
    value = metric_value(row, metric)
    return float(value) if value is not None and _is_comparable(value) else None


def _fell(first: Sequence[Row], second: Sequence[Row]) -> str:
    """Say why the second run's valid trials of a case are worse, whatever their figures; empty where they are not."""
    if first and not second:
        return "no valid trial"
    lost = [sum(row["lost"] for row in rows if _is_comparable(row.get("lost"))) for rows in (first, second)]
    all_read = all(_is_comparable(row.get("lost")) for row in first)
    if first and all_read and lost[1] and not lost[0]:
        return f"lost {lost[1]:,.0f}"
    all_read = all_read and all(_is_comparable(row.get("lost")) for row in second)
    if all_read and _more(
        *([row["lost"] / row["acked"] for row in rows if row.get("acked")] for rows in (first, second))
    ):
        return f"lost {lost[1]:,.0f}, and the first run {lost[0]:,.0f}: in each trial a larger share than in any there"
    idle = [sum(row.get(RATES[0]) == 0 for row in rows) for rows in (first, second)]
    words = f"nothing acknowledged in {idle[1]} of {len(second)} trials"
    return words if not idle[0] and _only_there(idle[1], len(first), len(second)) else ""


def _more(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether all of the second lie above all of the first, and would by chance once in twenty times at most."""
    if not first or not second or min(second) <= max(first):
        return False
    return math.comb(len(first) + len(second), len(first)) * (1 - LEVEL) >= 1


def _only_there(trials: int, first: int, second: int) -> bool:
    """Whether so many trials would all lie among the second run's by chance once in twenty times at most (Fisher)."""
    return math.comb(second, trials) <= (1 - LEVEL) * math.comb(first + second, trials)


def _endless(first: Sequence[Row], second: Sequence[Row], metric: str) -> str:
    """Say in how many of the second run's trials a time is endless, where that is more than chance and in none before.

    So many messages there never came, or were never sent (docs/method/latency.md): no figure of the others tells of it.
    """
    without = [sum(numbers.endless(row, metric) for row in rows) for rows in (first, second)]
    if metric not in TIMES or without[0] or not _only_there(without[1], len(first), len(second)):
        return ""
    return f"no {metric.removesuffix('_ns')} in {without[1]} of {len(second)} trials: so many messages never came"


def _is_comparable(value: float | None) -> bool:
    """Whether there is a value that has ratios to others: zero has, a time below zero (by two clocks) has not."""
    return value is not None and value == value and value >= 0  # noqa: PLR0124 - a table's null may be NaN


def _compare_case(
    key: tuple[str, str], first: Sequence[Row], second: Sequence[Row], metric: str, threshold: float
) -> CaseComparison:
    first_values, second_values = _values(first, metric), _values(second, metric)
    counts, reason = (
        (len(first_values), len(second_values)),
        _fell(first, second) or _endless(first, second, metric),
    )
    if not first_values or not second_values:
        return CaseComparison(
            *key, counts, None, None, None, Change.WORSE if reason else Change.INCONCLUSIVE, reason
        )
    ratio, interval = shift(first_values, second_values)
    change = Change.WORSE if reason else _change(ratio, interval, threshold, more_is_better=metric in RATES)
    return CaseComparison(
        *key,
        counts,
        (statistics.median(first_values), statistics.median(second_values)),
        ratio,
        interval,
        change,
        reason,
    )


def _change(ratio: float, interval: Interval | None, threshold: float, *, more_is_better: bool) -> Change:
    if interval is None:
        return Change.INCONCLUSIVE
    if not interval.low <= 1 <= interval.high and not 1 / (1 + threshold) < ratio < 1 + threshold:
        return Change.BETTER if (ratio > 1) == more_is_better else Change.WORSE
    within = 1 / (1 + threshold) <= interval.low and interval.high <= 1 + threshold
    return Change.SAME if within else Change.INCONCLUSIVE


def shift(first: Sequence[float], second: Sequence[float]) -> tuple[float, Interval | None]:
    """Return by what factor the second values are larger, with its interval; none with too few on either side."""
    ratios = sorted(_log_ratio(first_value, second_value) for first_value in first for second_value in second)
    middle = math.exp(statistics.median(ratios))
    if min(len(first), len(second)) < ENOUGH_TRIALS:
        return middle, None
    cut = critical(len(first), len(second))
    return middle, Interval(math.exp(ratios[cut]), math.exp(ratios[-1 - cut]))


def _log_ratio(denominator: float, numerator: float) -> float:
    """Return the logarithm of numerator / denominator; infinite where either is zero or infinite, 0 where both are."""
    if denominator == numerator:
        return 0.0
    ordinary = 0 < denominator < math.inf and 0 < numerator < math.inf
    return math.log(numerator / denominator) if ordinary else math.copysign(math.inf, numerator - denominator)


@cache
def critical(first: int, second: int) -> int:
    """Return the largest U that by chance comes, or a smaller one, in 2.5 % of samples of these sizes at most.

    So many of the smallest and of the largest pairwise differences lie outside of the interval.
    """
    counts = _orders(first, second)
    total, below = sum(counts), 0
    for statistic, count in enumerate(counts):
        below += count
        if below / total > (1 - LEVEL) / 2:
            return statistic - 1
    raise AssertionError("the counts add up to more than any share")


@cache
def _orders(first: int, second: int) -> tuple[int, ...]:
    """Count in how many orders of the two samples each value of U comes, from 0 to first * second."""
    if first == 0 or second == 0:
        return (1,)
    counts = [0] * (first * second + 1)
    for at, count in enumerate(_orders(first - 1, second)):
        counts[at + second] += count
    for at, count in enumerate(_orders(first, second - 1)):
        counts[at] += count
    return tuple(counts)
