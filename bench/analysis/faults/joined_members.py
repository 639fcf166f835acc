"""How soon members of a consumer group that a step started have their first message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.log import EventLog
from bench.model import MEMBER
from bench.records.trial import TrialRecord

Row = dict[str, Any]

_START = "start"


def first_messages(
    spark: SparkSession, log: EventLog, trials: Iterable[TrialRecord]
) -> dict[tuple[int, int], Row]:
    """Return `first_message_ns` of each step that started members, by trial and place of the step.

    From when it was asked for until each of them had received a message; null where one never did.
    """
    started = [
        (trial.trial, place, consumer, fault.asked_ns)
        for trial in trials
        for place, fault in trial.strikes.items()
        if fault.kind == _START
        for consumer in map(_consumer, fault.nodes)
        if consumer is not None
    ]
    if not started:
        return {}
    starts = spark.createDataFrame(started, "trial int, step int, consumer int, asked_ns long")
    since = F.when(F.col("received_ns") >= F.col("asked_ns"), F.col("received_ns") - F.col("asked_ns"))
    live = log.receives.where("stage = 'live'").select("trial", "consumer", "received_ns")
    rows = (
        F.broadcast(starts)
        .join(live, ["trial", "consumer"], "left")
        .groupBy("trial", "step", "consumer")
        .agg(F.min(since).alias("first_ns"))
        .groupBy("trial", "step")
        .agg(F.when(F.count("first_ns") == F.count("*"), F.max("first_ns")).alias("first_ns"))
        .collect()
    )
    return {(row["trial"], row["step"]): {"first_message_ns": row["first_ns"]} for row in rows}


def _consumer(node: str) -> int | None:
    """Return which consumer a member is: member-1 is consumer 0; None for another node."""
    role, _, number = node.rpartition("-")
    return int(number) - 1 if role == MEMBER else None
