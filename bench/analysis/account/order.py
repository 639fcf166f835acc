"""Messages that lie behind a later one: the order within each partition, by the full read."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.log import EventLog

POSITION = ("ledger", "entry", "batch_index")
LANE = ("trial", "partition", "producer")
"""Within one of these sequences should rise."""


def verify_rows(log: EventLog) -> DataFrame:
    """Give the rows of the full read, with -1 for a null in a position: null sorts first."""
    rows = log.receives.where("stage != 'live'")
    positions = {name: F.coalesce(F.col(name), F.lit(-1)) for name in POSITION}
    return rows.withColumns(positions).select(*LANE, "sequence", "sent_ns", *POSITION, "received_ns")


def out_of_order(verify: DataFrame) -> DataFrame:
    """Give the messages whose first occurrence in a partition follows a larger sequence of their producer.

    The rows of `verify`, with `previous`: the largest sequence before, and where that lies (POSITION).
    Cached, since it is usually next to nothing and costs a sort of all rows; clear the cache after use.
    """
    behind = _behind(verify).persist()
    behind.count()
    return _first_occurrences(behind, verify)


def _behind(verify: DataFrame) -> DataFrame:
    """Find every row after a larger sequence: messages out of order, and late copies of others."""
    earlier_rows = Window.partitionBy(*LANE).orderBy(*POSITION).rowsBetween(Window.unboundedPreceding, -1)
    largest = F.max(F.struct("sequence", *POSITION)).over(earlier_rows)
    return verify.withColumn("previous", largest).where(F.col("previous.sequence") > F.col("sequence"))


def _first_occurrences(behind: DataFrame, verify: DataFrame) -> DataFrame:
    """Drop the rows that have a twin before them."""
    message = [*LANE, "sequence"]
    twins = verify.join(behind.select(*message).distinct(), message, "left_semi").alias("twin")
    same = [F.col(f"late.{name}") == F.col(f"twin.{name}") for name in message]
    return behind.alias("late").join(twins, [*same, _place("twin") < _place("late")], "left_anti")


def _place(side: str) -> Column:
    return F.struct(*[F.col(f"{side}.{name}") for name in POSITION])
