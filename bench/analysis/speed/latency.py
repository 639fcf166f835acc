"""Service, response, queue and end-to-end time: from messages to each trial's figures and curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.speed.quantiles import SCALE, quantiles

MEASURES = ("service", "response", "queue", "e2e")
_SINCE_DUE = ("response", "queue")
"""The measures that count from when a send was due."""

Span: TypeAlias = tuple[int, int]
"""A trial and one of its slices; the window of a contiguous trial is slice 0."""

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
    """One measure of one trial: how many messages, how many of them have a time, and the value at each of CURVE.

    What has none took longer than anything that has one: a quantile that falls there has no value.
    """

    count: int
    timed_count: int
    mean_ns: float | None
    values: Mapping[int, int]

    def figures(self, measure: str) -> dict[str, int | None]:
        """Return the columns of `trials`: <measure>_min_ns … <measure>_max_ns."""
        points = {f"{measure}_{point}_ns": self.values.get(quantile) for point, quantile in POINTS.items()}
        mean_ns = self.mean_ns if self.timed_count == self.count else None
        return points | {f"{measure}_mean_ns": None if mean_ns is None else round(mean_ns)}

    def curve(self) -> list[tuple[int, int]]:
        """Return (quantile, value) as far as the sample is fine enough to tell it from the extremes."""
        return [
            (quantile, self.values[quantile])
            for span in CURVE
            for quantile in span
            if quantile in self.values and _is_resolved(quantile, self.count)
        ]


def _is_resolved(quantile: int, count: int) -> bool:
    return quantile in {0, SCALE} or min(quantile, SCALE - quantile) * count >= SCALE


def distributions(
    sends: DataFrame, messages: DataFrame, unsent: Mapping[Span, int], *, any_open: bool
) -> dict[tuple[int, str], Distribution]:
    """Compute every distribution of every trial, by (trial, measure), over all its slices.

    `sends` and `messages` are as Windows gives them. `unsent` are the sends due in each part that counts that were
    never made. They have no response and no queue time, and those would be the longest. Without an open loop there
    are no such times, and `any_open` saves looking for them.
    """
    measures = ("service", "response", "queue") if any_open else ("service",)
    values = send_times(sends, measures, unsent, ("trial",))
    e2e = measured_values(messages.where("in_window"), "e2e", ("trial",), missing=True)
    rows = quantiles(values.unionAll(e2e), ["trial", "measure"], CURVE).collect()
    return _gather_distributions(rows)


def send_times(
    sends: DataFrame, measures: Sequence[str], unsent: Mapping[Span, int], by: Sequence[str]
) -> DataFrame:
    """Give the times of all sends that count, each with the columns of `by`, measure (its place in MEASURES) and value.

    The value is null for the sends that were never made (`unsent`), in the measures that count from when one was due.
    """
    counted = sends.where("acked and in_window")
    parts = [measured_values(counted, measure, by) for measure in measures]
    since_due = [measure for measure in measures if measure in _SINCE_DUE]
    if since_due and any(unsent.values()):
        parts.append(never_made(sends.sparkSession, unsent, since_due, by))
    return reduce(DataFrame.unionAll, parts)


def measured_values(frame: DataFrame, measure: str, by: Sequence[str], *, missing: bool = False) -> DataFrame:
    """Give one measure's values as `send_times` does; those that are null only where `missing` ones count."""
    value = F.col(f"{measure}_ns")
    return (frame if missing else frame.where(value.isNotNull())).select(
        *by, F.lit(MEASURES.index(measure)).alias("measure"), value.alias("value")
    )


def never_made(
    spark: SparkSession, unsent: Mapping[Span, int], measures: Iterable[str], by: Sequence[str]
) -> DataFrame:
    """Give each send that was never made (`unsent` by trial and slice) a row without a value in each measure."""
    rows = [
        (trial, number, MEASURES.index(measure), missing)
        for (trial, number), missing in unsent.items()
        if missing
        for measure in measures
    ]
    spans = spark.createDataFrame(rows, "trial int, slice int, measure int, missing int")
    ordinal = F.explode(F.sequence(F.lit(1), F.col("missing")))
    return spans.select(*by, "measure", ordinal.alias("number")).select(
        *by, "measure", F.lit(None).cast("long").alias("value")
    )


def _gather_distributions(rows: Iterable[Row]) -> dict[tuple[int, str], Distribution]:
    distribution_by_key: dict[tuple[int, str], Distribution] = {}
    values: dict[tuple[int, str], dict[int, int]] = {}
    for row in rows:
        key = (row["trial"], MEASURES[row["measure"]])
        points = values.setdefault(key, {})
        if row["value"] is not None:
            points[row["quantile"]] = row["value"]
        distribution_by_key[key] = Distribution(row["count"], row["known"], row["mean"], points)
    return distribution_by_key
