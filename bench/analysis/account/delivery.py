"""The delivery account of every trial: sends and receives joined, and the fate of each message."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.log import EventLog
from bench.model import Outcome

MESSAGE = ("trial", "producer", "sequence", "sent_ns")
"""What tells one message from all others. A row read back with another sent_ns is not the message sent."""


def messages(log: EventLog) -> DataFrame:
    """Give a row a message, sent or only read.

    Columns: those of MESSAGE, sends, slice, outcome, copies and live_ns. `sends` counts the rows in sends: 1, or 0
    where nobody sent it. `slice` is that of its send, and `outcome` an Outcome as int; both are null where it was
    not sent. `copies` counts the rows of the verify stage. `live_ns` is when the first live consumer had it, null
    where none had. One exchange by message and one hash aggregation, of numbers only: text would be sorted instead.
    """
    sends = log.sends.select(
        *MESSAGE,
        F.lit(1).alias("sends"),
        "slice",
        _outcome(F.col("outcome")).alias("outcome"),
        F.lit(0).alias("copies"),
        F.lit(None).cast("long").alias("live_ns"),
    )
    live = F.col("stage") == "live"
    receives = log.receives.select(
        *MESSAGE,
        F.lit(0).alias("sends"),
        F.lit(None).cast("int").alias("slice"),
        F.lit(None).cast("int").alias("outcome"),
        F.when(live, 0).otherwise(1).alias("copies"),
        F.when(live, F.col("received_ns")).alias("live_ns"),
    )
    return (
        sends.unionAll(receives)
        .repartition(*MESSAGE)
        .groupBy(*MESSAGE)
        .agg(
            F.sum("sends").alias("sends"),
            F.max("slice").alias("slice"),
            F.max("outcome").alias("outcome"),
            F.sum("copies").alias("copies"),
            F.min("live_ns").alias("live_ns"),
        )
    )


def _outcome(label: Column) -> Column:
    """Turn the log's word into its number; anything else has stopped the analysis (throughput.tally)."""
    label_number = F.when(label == Outcome.OK.label, Outcome.OK.value).when(
        label == Outcome.FAIL.label, Outcome.FAIL.value
    )
    return label_number.otherwise(Outcome.UNKNOWN.value)


def is_kind(kind: str) -> Column:
    """Whether a row of `messages` is of this kind. What is a matter of places is in order.py and consumers.py."""
    sent, stored = F.col("sends") > 0, F.col("copies") > 0
    outcome, consumed = F.col("outcome"), F.col("live_ns").isNotNull()
    return {
        "lost": sent & ~stored & (outcome == Outcome.OK.value),
        "fail_present": sent & stored & (outcome == Outcome.FAIL.value),
        "unknown_present": sent & stored & (outcome == Outcome.UNKNOWN.value),
        "unknown_absent": sent & ~stored & (outcome == Outcome.UNKNOWN.value),
        "duplicate": sent & (F.col("copies") > 1),
        "foreign": ~sent & stored,
        "read_unacknowledged": sent & consumed & (outcome != Outcome.OK.value),
        "read_then_gone": sent & consumed & ~stored,
    }[kind]


MESSAGE_KINDS = ("lost", "fail_present", "unknown_present", "unknown_absent", "duplicate", "foreign")


def accounts(messages: DataFrame) -> dict[int, dict[str, int | None]]:
    """Count every trial's messages: the counters of `trials` but out_of_order and consumers' own, and `repeated`.

    `repeated` counts messages that stand in the sends more than once, which breaks the log's contract. Beside them
    lost_first and lost_last: when the first and the last of the lost ones was sent, null without any.
    """
    sends, copies, outcome = F.col("sends"), F.col("copies"), F.col("outcome")
    lost_ns = F.when(is_kind("lost"), F.col("sent_ns"))
    rows = (
        messages.groupBy("trial")
        .agg(
            F.sum("sends").alias("sent"),
            *[
                F.sum(F.when(outcome == number.value, sends).otherwise(0)).alias(name)
                for name, number in zip(("acked", "failed", "unknown"), Outcome, strict=True)
            ],
            F.sum("copies").alias("received"),
            *[
                F.count_if(is_kind(kind)).alias(kind)
                for kind in ("lost", "fail_present", "unknown_present", "unknown_absent")
            ],
            F.sum(F.when(is_kind("duplicate"), copies - 1).otherwise(0)).alias("duplicates"),
            F.sum(F.when(sends == 0, copies).otherwise(0)).alias("foreign"),
            F.count_if(sends > 1).alias("repeated"),
            F.min(lost_ns).alias("lost_first"),
            F.max(lost_ns).alias("lost_last"),
        )
        .collect()
    )
    return {
        row.trial: {name: count for name, count in row.asDict().items() if name != "trial"} for row in rows
    }
