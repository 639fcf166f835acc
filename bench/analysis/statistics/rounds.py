"""How many rounds a run of this kind would need, from how much its own rounds vary."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from bench.analysis.statistics.interval import rounds_needed, spread
from bench.model import ENOUGH_TRIALS

Row = Mapping[str, Any]

DIFFERENCE = 0.05
_MOST = 0.9


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
    shared = one.keys() & other.keys()
    return (
        spread([one[number] / other[number] for number in shared]) if len(shared) >= ENOUGH_TRIALS else None
    )
