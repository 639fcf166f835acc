"""Both systems side by side, where a scenario sweeps the same of them: ratios of like with like, paired by round."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.analysis.statistics.interval import by_round, paired, paired_ratio
from bench.guarantee import Guarantee

Row = Mapping[str, Any]
Point = tuple[str, ...]
"""A value of each swept setting."""

METRICS = ("throughput_msgs_per_s", "service_p99_ns", "e2e_p99_ns")


def sides(
    trials: Sequence[Row], swept: Mapping[str, Sequence[str]], promises: Mapping[str, Guarantee | None]
) -> dict[str, Any] | None:
    """Compare two systems at every point of the sweep that both have; None where they do not sweep the same.

    `trials` are rows of the table, in the order in which the points are to come; `swept` names each system's settings,
    `promises` has what each case promises. A ratio is the first system's value over the second's: the median over the
    rounds in which both have one, and its interval from five on.
    """
    if len(swept) != 2 or len({frozenset(names) for names in swept.values()}) != 1:
        return None
    (first, settings), (second, _) = swept.items()
    ones, others = (_points(trials, system, settings) for system in (first, second))
    points = [
        {
            "values": dict(zip(settings, point, strict=True)),
            "cases": (cases := [rows[point][0]["case"] for rows in (ones, others)]),
            **_promised([promises.get(case) for case in cases]),
            **_ratios(ones[point], others[point]),
        }
        for point in ones
        if point in others
    ]
    return {"systems": [first, second], "settings": list(settings), "points": points} if points else None


def _points(trials: Iterable[Row], system: str, settings: Sequence[str]) -> dict[Point, list[Row]]:
    found: dict[Point, list[Row]] = {}
    for row in trials:
        if row["system"] == system and row["verdict"] == "valid":
            found.setdefault(tuple(row[name] for name in settings), []).append(row)
    return found


def _promised(promises: Sequence[Guarantee | None]) -> dict[str, Any]:
    """Say what both survive, whether that is the same, and whose writes go on with a node gone; null: not known."""
    one, other = promises
    return {
        "survives": [promise and promise.survives for promise in promises],
        "same": one.same(other) if one and other else None,
        "go_on": [
            promise.spare > 0 if promise and promise.spare is not None else None for promise in promises
        ],
    }


def _ratios(ones: Sequence[Row], others: Sequence[Row]) -> dict[str, Any]:
    return {metric: _compared(by_round(ones, metric), by_round(others, metric)) for metric in METRICS}


def _compared(one: Mapping[int, float], other: Mapping[int, float]) -> dict[str, Any]:
    pairs = paired(one, other)
    ratio = paired_ratio(pairs)
    interval = ratio.interval if ratio else None
    return {
        "first": statistics.median(one.values()) if one else None,
        "second": statistics.median(other.values()) if other else None,
        "rounds": len(pairs),
        "ratio": ratio.median if ratio else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
    }
