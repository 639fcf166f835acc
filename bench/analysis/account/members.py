"""What the members of a consumer group had of a trial's messages: how many in all, how often again, how evenly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.account.delivery import MESSAGE
from bench.analysis.log import EventLog
from bench.columns import CONSUMED, KEYED
from bench.model import NANOS
from bench.records.trial import TrialRecord

Row = dict[str, Any]


def member_rows(spark: SparkSession, log: EventLog, trials: Iterable[TrialRecord]) -> dict[int, Row]:
    """Return the columns CONSUMED and MEMBERS of the trials whose consumers were members of one group, by trial.

    What counts was received in the window. A message that came to a member again, or to another one, is redelivered.
    Members that had none are idle; the busiest had `member_imbalance` times the mean of all. Where messages have keys
    the columns KEYED count what came in the whole trial.
    """
    grouped = {
        trial.trial: trial for trial in trials if trial.has_consumer_group and trial.window is not None
    }
    if not grouped:
        return {}
    windows = F.broadcast(
        spark.createDataFrame(
            [
                (number, record.window.start_ns, record.window.end_ns)
                for number, record in grouped.items()
                if record.window
            ],
            "trial int, start_ns long, end_ns long",
        )
    )
    received = (
        log.receives.where("stage = 'live'")
        .join(windows, "trial")
        .where("received_ns >= start_ns and received_ns < end_ns")
    )
    messages = {row["trial"]: row for row in _messages(received).collect()}
    members: dict[int, list[int]] = {}
    for row in received.groupBy("trial", "consumer").count().collect():
        members.setdefault(row["trial"], []).append(row["count"])
    keyed = _key_columns(spark, log, grouped.values())
    return {
        number: _row(trial, messages.get(number), members.get(number, [])) | keyed.get(number, {})
        for number, trial in grouped.items()
    }


def _key_columns(spark: SparkSession, log: EventLog, trials: Iterable[TrialRecord]) -> dict[int, Row]:
    """Return the columns KEYED of the trials whose messages have keys.

    A message is out of its key's order where its first receive, at whichever member, came after that of a later message
    of the same producer and key. Receives at the same time are in order.
    """
    keys = [(trial.trial, trial.load.keys) for trial in trials if trial.load.keys]
    if not keys:
        return {}
    with_keys = F.broadcast(spark.createDataFrame(keys, "trial int, keys int"))
    live = (
        log.receives.where("stage = 'live'")
        .join(with_keys, "trial")
        .withColumn("key", F.expr("sequence % keys"))
    )
    first = live.groupBy("trial", "key", "producer", "sequence").agg(F.min("received_ns").alias("first_ns"))
    earlier_receives = (
        Window.partitionBy("trial", "key", "producer")
        .orderBy("first_ns", "sequence")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    late = first.withColumn("latest", F.max("sequence").over(earlier_receives)).where("sequence < latest")
    columns: dict[int, Row] = {number: {KEYED[0]: 0, KEYED[1]: None} for number, _ in keys}
    for row in late.groupBy("trial").count().collect():
        columns[row["trial"]][KEYED[0]] = row["count"]
    of_key = live.groupBy("trial", "key").agg(F.countDistinct("consumer").alias("members"))
    for row in of_key.groupBy("trial").agg(F.avg("members").alias("mean")).collect():
        columns[row["trial"]][KEYED[1]] = row["mean"]
    return columns


def _messages(received: DataFrame) -> DataFrame:
    """Count each trial's messages, and the receives of those that had been received."""
    once = received.groupBy(*MESSAGE).agg(F.count("*").alias("times"))
    return once.groupBy("trial").agg(
        F.count("*").alias("messages"), (F.sum("times") - F.count("*")).alias("again")
    )


def _row(trial: TrialRecord, counted: Any, members: list[int]) -> Row:  # noqa: ANN401 - a row of Spark
    window = trial.window
    count = trial.load.consumers or len(members)
    length_ns = window.end_ns - window.start_ns if window else 0
    had = counted["messages"] if counted else 0
    return {
        CONSUMED: had * NANOS / length_ns if length_ns else None,
        "redelivered": counted["again"] if counted else 0,
        "idle_members": count - len(members),
        "member_imbalance": max(members) * count / sum(members) if members else None,
    }
