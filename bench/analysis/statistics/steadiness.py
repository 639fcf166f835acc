"""Which trials are unlike a steady one: drift within the window, outliers in their case. Flagged, never dropped."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it
from scipy import stats

from bench.analysis.window import PARTS
from bench.model import ENOUGH_TRIALS

TREND, OUTLIER = "trend", "outlier"
"""What a trial is flagged as."""

DRIFT = 0.10
"""From this change of the mean service time over the window on, a trend is flagged."""
_CHANCE = 0.01
_FEWEST_PARTS = 10

APART = 0.10
"""Nearer than this to its case's median no trial is called an outlier."""
_DEVIATIONS = 3.5
_TO_SIGMA = 1.4826


def service_by_part(sends: DataFrame) -> dict[int, dict[int, float]]:
    """Compute, by trial, the mean service time in each part of the window that has an acknowledged send."""
    rows = (
        sends.where(F.col("in_window") & F.col("service_ns").isNotNull())
        .groupBy("trial", "window_part")
        .agg(F.avg("service_ns").alias("mean"))
        .collect()
    )
    found: dict[int, dict[int, float]] = {}
    for row in rows:
        found.setdefault(row.trial, {})[row.window_part] = row.mean
    return found


def drift(parts: Mapping[int, float]) -> float | None:
    """Return by what share of its median the mean service time changes from the window's start to its end.

    The slope is that of Theil and Sen: the median of the slopes between all pairs of parts. None where fewer than
    half of the parts hold a send.
    """
    if len(parts) < _FEWEST_PARTS:
        return None
    places = sorted(parts)
    values = [parts[place] for place in places]
    middle = statistics.median(values)
    slope = float(stats.theilslopes(values, places).slope)
    return slope * PARTS / middle if middle > 0 else None


def trending(parts: Mapping[int, float]) -> bool:
    """Whether the mean service time rises or falls by `DRIFT` or more, by chance in 1 % at most (Mann-Kendall)."""
    change = drift(parts)
    if change is None or abs(change) < DRIFT:
        return False
    places = sorted(parts)
    return bool(stats.kendalltau(places, [parts[place] for place in places]).pvalue <= _CHANCE)


def outlying(values: Sequence[float | None]) -> list[bool]:
    """Say of each trial of one case whether it lies far from the others; of fewer than five nobody can say.

    Far is 3.5 scaled median absolute deviations of the logarithms (B. Iglewicz, D. Hoaglin, "How to Detect and
    Handle Outliers", 1993), and `APART` at least.
    """
    known = [math.log(value) for value in values if value is not None and value > 0]
    if len(known) < ENOUGH_TRIALS:
        return [False] * len(values)
    middle = statistics.median(known)
    scale = _TO_SIGMA * statistics.median(abs(value - middle) for value in known)
    far = max(_DEVIATIONS * scale, math.log1p(APART))
    return [value is not None and value > 0 and abs(math.log(value) - middle) > far for value in values]


def flag(
    rows: Sequence[dict[str, Any]], parts: Mapping[int, Mapping[int, float]], broken: Collection[int]
) -> None:
    """Write `drift` and `flags` into the rows of `trials`; where something was broken neither says anything."""
    steady = [row for row in rows if row["verdict"] == "valid" and row["trial"] not in broken]
    for row in steady:
        seen = parts.get(row["trial"], {})
        row["drift"] = drift(seen)
        row["flags"] = TREND if trending(seen) else None
    for case in dict.fromkeys(row["case"] for row in steady):
        members = [row for row in steady if row["case"] == case]
        for row, far in zip(members, outlying([row.get("service_mean_ns") for row in members]), strict=True):
            if far:
                row["flags"] = f"{row['flags']}, {OUTLIER}" if row["flags"] else OUTLIER
