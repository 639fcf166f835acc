"""Exact nearest-rank quantiles of many groups at once, without sorting every message.

Two passes over the values. The first counts each group's values in narrow buckets whose order is the order of the
values. That says in which bucket each wanted rank lies, and how many values lie before it. The second looks only at
those buckets, counts their distinct values, and finds the value at each rank. Nothing is approximated, and what is
shuffled and sorted is a small part of the values unless nearly all are alike.

Quantiles are integers in units of 1 / SCALE: a rank computed in binary fractions can be off by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

SCALE = 100_000

_BUCKETS_PER_E = 512
"""Buckets per factor of e: each is 0.2 % wide, about 1,200 over a decade."""
_LAST_BUCKET = 1 << 30
_GROUP_FIGURES = ("count", "known", "mean")
"""The figures of a group as a whole."""


Grid: TypeAlias = Sequence[range]
"""The wanted quantiles, of SCALE, as rising ranges: 0, 0.01 … 0.99, 1 are (range(0, SCALE + 1, 1000),)."""


def quantiles(values: DataFrame, by: Sequence[str], grid: Grid) -> DataFrame:
    """Give, for each group of `by`, the value at each wanted quantile (nearest rank).

    `values` has the columns of `by` and `value` (long; null is above every value: what never came to an end). The
    result has `by`, quantile (int, of SCALE) and value (long, null where a null has that rank). Of the whole group
    it has count (long), known (long: those that are not null) and mean (double, of those).
    """
    place = [*by, "bucket"]
    bucketed = values.select(*by, "value", _bucket(F.col("value")).alias("bucket"))
    targets = _targets(_histogram(bucketed, by), place, grid)
    distinct = (
        bucketed.join(F.broadcast(targets), place)
        .groupBy(*place, "value")
        .agg(F.count("*").alias("size"), *[F.max(name).alias(name) for name in ("below", *_GROUP_FIGURES)])
        .withColumn("upto", F.col("below") + F.sum("size").over(Window.partitionBy(*place).orderBy("value")))
    )
    hits = _hits(distinct, grid).select(
        *by, F.explode(F.sequence("first_hit", "last_hit")).alias("hit"), "value", *_GROUP_FIGURES
    )
    names = F.array(*[F.lit(quantile) for span in grid for quantile in span])
    return hits.select(*by, F.element_at(names, F.col("hit")).alias("quantile"), "value", *_GROUP_FIGURES)


def _bucket(value: Column) -> Column:
    """Number the bucket of a value. Java's log1p never falls as its argument rises, so neither does this."""
    number = (F.signum(value) * F.floor(F.log1p(F.abs(value)) * _BUCKETS_PER_E)).cast("int")
    return F.coalesce(number, F.lit(_LAST_BUCKET))


def _histogram(bucketed: DataFrame, by: Sequence[str]) -> DataFrame:
    """Count and add up each bucket; sums are doubles, which cannot overflow."""
    group = Window.partitionBy(*by)
    return (
        bucketed.groupBy(*by, "bucket")
        .agg(
            F.count("*").alias("size"),
            F.count("value").alias("valued"),
            F.sum(F.col("value").cast("double")).alias("total"),
        )
        .withColumn("upto", F.sum("size").over(group.orderBy("bucket")))
        .withColumn("count", F.sum("size").over(group))
        .withColumn("known", F.sum("valued").over(group))
        .withColumn("mean", F.sum("total").over(group) / F.nullif(F.col("known"), F.lit(0)))
    )


def _targets(histogram: DataFrame, place: Sequence[str], grid: Grid) -> DataFrame:
    """Keep the buckets in which a wanted rank lies, with the number of values below each."""
    below = F.col("upto") - F.col("size")
    return _hits(histogram, grid).select(*place, below.alias("below"), *_GROUP_FIGURES)


def _hits(rows: DataFrame, grid: Grid) -> DataFrame:
    """Keep the rows that hold a wanted rank; first_hit … last_hit number those quantiles, from 1.

    A row holds the ranks upto - size + 1 … upto of `count`. The nearest rank of q is the smallest r with r / count
    >= q, and at least 1. So q lies in this row when below / count < q <= upto / count. It also lies there when q is
    0 and nothing lies below. With q in whole units of SCALE both bounds may be rounded down.
    """
    below = F.col("upto") - F.col("size")
    wanted_below = F.when(below == 0, 0).otherwise(_wanted_up_to(_share(below), grid))
    hits = rows.withColumns(
        {"first_hit": wanted_below + 1, "last_hit": _wanted_up_to(_share(F.col("upto")), grid)}
    )
    return hits.where("first_hit <= last_hit")


def _share(ranks: Column) -> Column:
    return F.call_function("div", ranks * SCALE, F.col("count"))


def _wanted_up_to(share: Column, grid: Grid) -> Column:
    """Count the wanted quantiles that are not above a share: plain arithmetic, done for every row."""
    counts = [
        F.least(
            F.lit(len(span)),
            F.greatest(F.lit(0), F.call_function("div", share - (span.start - span.step), F.lit(span.step))),
        )
        for span in grid
    ]
    return reduce(Column.__add__, counts).cast("int")
