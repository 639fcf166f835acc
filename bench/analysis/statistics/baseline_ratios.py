"""The table `ratios`: each case's figures over those of its system's baseline case."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.columns import CAPACITY, CONSUMED
from bench.statistics.interval import values_by_case
from bench.statistics.round_ratios import Groups, RoundRatio, RoundRatios, relative_half_width
from bench.statistics.slice_series import SliceSeries

Row = Mapping[str, Any]

_BOTH_LOOPS = ("service_p50_ns", "service_p99_ns", "e2e_p50_ns")
_CLOSED = ("throughput_msgs_per_s",)
_OPEN = ("response_p50_ns", "response_p99_ns")
METRICS = (*_CLOSED, *_BOTH_LOOPS[:2], *_OPEN, _BOTH_LOOPS[2], CAPACITY, CONSUMED)
"""The figures that have a ratio, in the order of the table; throughput in closed loops, response times in open ones."""


def ratio_rows(
    rows: Sequence[Row], baselines: Mapping[str, str], groups: Groups, slices: SliceSeries
) -> list[dict[str, Any]]:
    """Return a row a case and metric, of the cases that are not their system's baseline.

    `rows` are those of the table `trials`; `baselines` names each system's baseline case, `groups` the cluster of each
    case, and `slices` has what its slices came to. A ratio without an interval has neither `low` nor `high`; a metric
    without a ratio has no row.
    """
    valid = [row for row in rows if row["verdict"] == "valid"]
    ratios = {
        metric: RoundRatios(values_by_case(valid, metric), groups, slices.get(metric)) for metric in METRICS
    }
    cases = dict.fromkeys((row["system"], row["case"]) for row in valid)
    return [
        {"system": system, "case": case, "baseline": baselines[system], "metric": metric} | _columns(ratio)
        for system, case in cases
        if case != baselines.get(system, case)
        for metric in _metrics(valid, case)
        if (ratio := ratios[metric].ratio(case, baselines[system]))
    ]


def _columns(ratio: RoundRatio) -> dict[str, Any]:
    interval = ratio.interval()
    return {
        "ratio": ratio.ratio,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "rounds": ratio.rounds,
    }


def _metrics(rows: Iterable[Row], case: str) -> list[str]:
    """Return the metrics of a case: an open loop sets the throughput itself, a closed one has no response times."""
    open_loop = any(row["case"] == case and row.get("due_unsent") is not None for row in rows)
    absent = _CLOSED if open_loop else _OPEN
    return [metric for metric in METRICS if metric not in absent]


def half_widths(ratios: Iterable[Row]) -> dict[str, float]:
    """Return by metric the median over all ratios of how far their intervals reach, as a share: 0.05 is 5 %."""
    widths: dict[str, list[float]] = {}
    for row in ratios:
        if row["low"] is not None:
            widths.setdefault(row["metric"], []).append(relative_half_width(row["low"], row["high"]))
    return {metric: statistics.median(reaches) for metric, reaches in widths.items()}
