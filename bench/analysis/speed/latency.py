"""Service, response, queue and end-to-end time: from messages to each trial's figures and curves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.speed.quantiles import SCALE, quantiles

MEASURES = ("service", "response", "queue", "e2e")

_SEEN = 0.99
"""End-to-end times are told where live consumers had so large a share of what was acknowledged."""

CURVE = (
    range(0, SCALE, 1_000),
    range(99_100, SCALE, 100),
    range(99_910, SCALE, 10),
    range(99_999, SCALE + 1),
)
"""The quantiles of a curve: 0, 0.01 … 0.99, 0.991 … 0.999, 0.9991 … 0.9999, 0.99999, 1."""

POINTS = {
    "min": 0,
    "p50": 50_000,
    "p90": 90_000,
    "p95": 95_000,
    "p99": 99_000,
    "p99_9": 99_900,
    "p99_99": 99_990,
    "max": SCALE,
}


@dataclass(frozen=True, slots=True)
class Distribution:
    """One measure of one trial: how many messages, their mean, and the value at each quantile of CURVE."""

    count: int
    mean_ns: float
    values: Mapping[int, int]

    def figures(self, measure: str) -> dict[str, int]:
        """Return the columns of `trials`: <measure>_min_ns … <measure>_max_ns."""
        points = {f"{measure}_{point}_ns": self.values[quantile] for point, quantile in POINTS.items()}
        return points | {f"{measure}_mean_ns": round(self.mean_ns)}

    def curve(self) -> list[tuple[int, int]]:
        """Return (quantile, value) as far as the sample is fine enough to tell it from the extremes."""
        return [
            (quantile, self.values[quantile])
            for span in CURVE
            for quantile in span
            if _resolved(quantile, self.count)
        ]


def _resolved(quantile: int, count: int) -> bool:
    return quantile in {0, SCALE} or min(quantile, SCALE - quantile) * count >= SCALE


def distributions(
    sends: DataFrame, messages: DataFrame, *, any_open: bool
) -> dict[tuple[int, str], Distribution]:
    """Compute every distribution of every trial, by (trial, measure).

    `sends` and `messages` are as Windows gives them. Without an open loop there are no response and queue times,
    and `any_open` saves looking for them.
    """
    counted, seen = sends.where("acked and in_window"), messages.where("in_window")
    values = _measured(counted, "service").unionAll(_measured(seen, "e2e"))
    if any_open:
        values = values.unionAll(_measured(counted, "response")).unionAll(_measured(counted, "queue"))
    rows = quantiles(values, ["trial", "measure"], CURVE).collect()
    return _gathered((row.trial, MEASURES[row.measure], *row[2:]) for row in rows)


def told(
    found: Mapping[tuple[int, str], Distribution], broken: Collection[int]
) -> dict[tuple[int, str], Distribution]:
    """Leave end-to-end times out where live consumers had too few of the messages: those would be the fast ones.

    Under faults (`broken` trials) consumers lack what was lost, or was not read in time: there they stay.
    """
    acked = {
        trial: distribution.count for (trial, measure), distribution in found.items() if measure == "service"
    }
    return {
        (trial, measure): distribution
        for (trial, measure), distribution in found.items()
        if measure != "e2e" or trial in broken or distribution.count >= _SEEN * acked.get(trial, 0)
    }


def _measured(frame: DataFrame, measure: str) -> DataFrame:
    value = F.col(f"{measure}_ns")
    return frame.where(value.isNotNull()).select(
        "trial", F.lit(MEASURES.index(measure)).alias("measure"), value.alias("value")
    )


def _gathered(rows: Iterable[tuple[int, str, int, int, int, float]]) -> dict[tuple[int, str], Distribution]:
    found: dict[tuple[int, str], Distribution] = {}
    values: dict[tuple[int, str], dict[int, int]] = {}
    for trial, measure, quantile, value, count, mean in rows:
        key = (trial, measure)
        points = values.setdefault(key, {})
        points[quantile] = value
        found[key] = Distribution(count, mean, points)
    return found
