"""Flags of trials: drift within the window, outliers in their case, rounds in which all cases differ.

Flagged, never dropped.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import scipy
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

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
ROUND_APART = 0.25
"""Nearer than this to the other rounds no round is called apart: freshly started clusters differ by 8 % as it is."""
_FEWEST_CASES = 3
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
    by_part: dict[int, dict[int, float]] = {}
    for row in rows:
        by_part.setdefault(row.trial, {})[row.window_part] = row.mean
    return by_part


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
    slope = float(scipy.stats.theilslopes(values, places).slope)
    return slope * PARTS / middle if middle > 0 else None


def has_trend(parts: Mapping[int, float]) -> bool:
    """Whether the mean service time rises or falls by `DRIFT` or more, by chance in 1 % at most (Mann-Kendall)."""
    change = drift(parts)
    if change is None or abs(change) < DRIFT:
        return False
    places = sorted(parts)
    return bool(scipy.stats.kendalltau(places, [parts[place] for place in places]).pvalue <= _CHANCE)


def outlier_mask(values: Sequence[float | None], apart: float = APART) -> list[bool]:
    """Say of each trial of one case whether it lies far from the others; of fewer than five nobody can say.

    Far is 3.5 scaled median absolute deviations of the logarithms (B. Iglewicz, D. Hoaglin, "How to Detect and
    Handle Outliers", 1993), and `apart` at least, a share of the median.
    """
    logarithms = [math.log(value) for value in values if value is not None and value > 0]
    if len(logarithms) < ENOUGH_TRIALS:
        return [False] * len(values)
    middle = statistics.median(logarithms)
    scale = _TO_SIGMA * statistics.median(abs(value - middle) for value in logarithms)
    far = max(_DEVIATIONS * scale, math.log1p(apart))
    return [value is not None and value > 0 and abs(math.log(value) - middle) > far for value in values]


def flag(
    rows: Sequence[dict[str, Any]], parts: Mapping[int, Mapping[int, float]], broken: Collection[int]
) -> None:
    """Write `drift` and `flags` into the rows of `trials`; where something was broken neither says anything."""
    steady = [row for row in rows if row["verdict"] == "valid" and row["trial"] not in broken]
    for row in steady:
        trial_parts = parts.get(row["trial"], {})
        row["drift"] = drift(trial_parts)
        row["flags"] = TREND if has_trend(trial_parts) else None
    for case in dict.fromkeys(row["case"] for row in steady):
        members = [row for row in steady if row["case"] == case]
        for row, far in zip(
            members, outlier_mask([row.get("service_mean_ns") for row in members]), strict=True
        ):
            if far:
                row["flags"] = f"{row['flags']}, {OUTLIER}" if row["flags"] else OUTLIER


def rounds_apart(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Say which rounds of a system are off as a whole, as its cases agree: not by what they differ in, then.

    A round's `ratio` is the median, over its `cases`, of a trial's mean service time as a multiple of its case's
    median over rounds. It is apart where that is an outlier among the system's rounds (`outlier_mask`), and by
    `ROUND_APART` at least. `agree` of its cases are off in the same direction. A round with fewer than three cases
    says no more than its trials' own flags.
    """
    outlier_rows = []
    valid = [row for row in trials if row["verdict"] == "valid" and row.get("service_mean_ns")]
    for system in dict.fromkeys(row["system"] for row in valid):
        by_round = _against_median([row for row in valid if row["system"] == system])
        rounds = sorted(number for number, ratios in by_round.items() if len(ratios) >= _FEWEST_CASES)
        middles = [statistics.median(by_round[number]) for number in rounds]
        for number, middle, far in zip(rounds, middles, outlier_mask(middles, ROUND_APART), strict=True):
            if far:
                ratios = by_round[number]
                agree = sum((ratio > 1) == (middle > 1) for ratio in ratios)
                outlier_row = {
                    "system": system,
                    "round": number,
                    "ratio": middle,
                    "cases": len(ratios),
                    "agree": agree,
                }
                outlier_rows.append(outlier_row)
    return outlier_rows


def _against_median(rows: Sequence[Mapping[str, Any]]) -> dict[int, list[float]]:
    """Return by round each trial's mean service time over its case's median, of cases with trials enough for one."""
    cases: dict[str, dict[int, float]] = {}
    for row in rows:
        cases.setdefault(row["case"], {})[row["round"]] = row["service_mean_ns"]
    by_round: dict[int, list[float]] = {}
    for means in cases.values():
        if len(means) >= ENOUGH_TRIALS:
            middle = statistics.median(means.values())
            for number, mean in means.items():
                by_round.setdefault(number, []).append(mean / middle)
    return by_round
