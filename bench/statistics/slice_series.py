"""Figures of slices by case, round and cycle: the noise within a trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from bench.statistics.round_ratios import Series

Row = Mapping[str, Any]

SliceSeries: TypeAlias = Mapping[str, Series]
"""By metric the figures of slices by case, round and cycle."""

METRICS = ("throughput_msgs_per_s", "service_p50_ns")
"""Figures of a trial that vary like the mean of the same figures of its slices."""


def slice_series(trials: Iterable[Row], slices: Iterable[Row]) -> SliceSeries:
    """Sort the rows of the table `slices` by metric, case, round and cycle; a slice without a value is left out.

    `trials` are rows of the table `trials`.
    """
    places = {row["trial"]: (row["case"], row["round"]) for row in trials if row["verdict"] == "valid"}
    series: dict[str, dict[str, dict[int, dict[int, float]]]] = {metric: {} for metric in METRICS}
    for row in slices:
        if row["trial"] not in places:
            continue
        case, number = places[row["trial"]]
        for metric in METRICS:
            if row[metric] is not None:
                series[metric].setdefault(case, {}).setdefault(number, {})[row["cycle"]] = row[metric]
    return series
