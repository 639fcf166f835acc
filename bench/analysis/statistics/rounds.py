"""How many rounds a run of this kind would need, from how much its own rounds vary."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from scipy import stats

from bench.analysis.statistics.interval import LEVEL
from bench.model import ENOUGH_TRIALS

Row = Mapping[str, Any]

DIFFERENCE = 0.05
_MOST = 0.9
_POWER = 0.8
_MEDIAN_COST = math.pi / 2
"""A median takes so many times the trials of a mean to be known as well (normal noise, many trials)."""
_MOST_ROUNDS = 10_000


def rounds_for_difference(trials: Sequence[Row], *, closed: bool) -> dict[str, Any] | None:
    """Say how many rounds would show a difference of 5 % between two cases; None where no two share five rounds.

    Every pair of cases is looked at, by the ratio of their throughput (in an open loop: of their median response
    time) within each round: `half` of the pairs need that many rounds at most, nine in ten need `most`.
    """
    metric = "throughput_msgs_per_s" if closed else "response_p50_ns"
    cases: dict[str, dict[int, float]] = {}
    for row in trials:
        if row["verdict"] == "valid" and row.get(metric):
            cases.setdefault(row["case"], {})[row["round"]] = row[metric]
    spreads = sorted(
        found for one, other in combinations(cases.values(), 2) if (found := _spread(one, other)) is not None
    )
    if not spreads:
        return None
    return {
        "difference": DIFFERENCE,
        "metric": metric,
        "half": rounds_needed(statistics.median(spreads), DIFFERENCE),
        "most": rounds_needed(spreads[math.ceil(_MOST * len(spreads)) - 1], DIFFERENCE),
    }


def _spread(one: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """Return the standard deviation of the logarithms of the ratios by round, so 0.05 is 5 %; None for too few."""
    shared = one.keys() & other.keys()
    if len(shared) < ENOUGH_TRIALS:
        return None
    return statistics.stdev(math.log(one[number] / other[number]) for number in shared)


def rounds_needed(spread_of_ratios: float, difference: float) -> int:
    """Return how many rounds show a `difference` (0.05: 5 %) between two medians in four of five runs.

    `spread_of_ratios` is the standard deviation over rounds of the logarithm of their ratio. It is the sample
    size of a paired t-test at 5 %, two-sided, with a power of 80 %, times what a median costs more than a mean;
    never below `ENOUGH_TRIALS`.
    """
    aim = math.log1p(difference)
    for rounds in range(ENOUGH_TRIALS, _MOST_ROUNDS):
        freedom = rounds - 1
        needed = (stats.t.ppf(1 - (1 - LEVEL) / 2, freedom) + stats.t.ppf(_POWER, freedom)) * spread_of_ratios
        if aim * math.sqrt(rounds / _MEDIAN_COST) >= needed:
            return rounds
    return _MOST_ROUNDS
