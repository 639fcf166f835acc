"""What readers and consumer groups of steps found of the messages that were acknowledged by then: table `readings`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.account.delivery import MESSAGE
from bench.analysis.account.slowdown import slowdowns
from bench.analysis.log import EventLog
from bench.model import Outcome
from bench.records.steps import GroupRecord
from bench.records.trial import TrialRecord

Row = dict[str, object]


def reading_rows(
    log: EventLog,
    messages: DataFrame,
    disk_reads: DataFrame,
    trials: Sequence[TrialRecord],
    first_ns: Mapping[int, int],
) -> list[Row]:
    """Return a row a step that reads; times count from the trial's first send.

    `found` and `missing` are of the messages that were acknowledged before the step was due. `messages` are those of
    delivery.py, with when live consumers had them; `disk_reads` what servers read from disk between
    two looks (telemetry.counter_growth).
    """
    steps = [(trial.trial, place, step) for trial in trials for place, step in trial.reading_steps.items()]
    if not steps:
        return []
    spark = messages.sparkSession
    times = _times(spark, log, messages, trials)
    read_bytes = _read_bytes(
        spark, log, disk_reads, [(trial, place, first_ns.get(trial, 0)) for trial, place, _ in steps]
    )
    due = [(trial, place, step.asked_ns) for trial, place, step in steps]
    counts = _counts(log, spark.createDataFrame(due, "trial int, step int, asked_ns long"))
    return [
        {
            "trial": trial,
            "reading": step.name,
            "group": step.group if isinstance(step, GroupRecord) else None,
            "asked_ns": step.asked_ns - first_ns.get(trial, 0),
            "received": step.received,
            "reason": step.reason,
            **_since(counts.get((trial, place), {}), first_ns.get(trial, 0)),
            **times.get((trial, place), {}),
            "disk_read_bytes": read_bytes.get((trial, place)),
        }
        for trial, place, step in steps
    ]


def _times(
    spark: SparkSession, log: EventLog, messages: DataFrame, trials: Iterable[TrialRecord]
) -> dict[tuple[int, int], Row]:
    """Return by trial and step what a read beside the load did to it (slowdown.py).

    It reads from its first message to its last; its process starts before that. What was read while nothing was sent
    did nothing.
    """
    read = [
        (trial.trial, place, step.asked_ns, trial.window.start_ns, trial.window.end_ns)
        for trial in trials
        if trial.window is not None
        for place, step in trial.reading_steps.items()
        if step.asked_ns < trial.window.end_ns
    ]
    if not read:
        return {}
    asked_times = spark.createDataFrame(
        read, "trial int, step int, asked_ns long, start_ns long, end_ns long"
    )
    ended = log.reads.groupBy("trial", "step").agg(
        F.min("received_ns").alias("begun_ns"), F.max("received_ns").alias("last_ns")
    )
    return slowdowns(log, messages, asked_times.join(ended, ["trial", "step"]))


def _read_bytes(
    spark: SparkSession, log: EventLog, disk_reads: DataFrame, steps: Sequence[tuple[int, int, int]]
) -> dict[tuple[int, int], int]:
    """Return by trial and step how many bytes all servers read from disk between its first message and its last.

    `steps` are trials, places of steps and when the trial's first send was. Growth between two looks counts whole where
    they overlap that time.
    """
    zeros = spark.createDataFrame(steps, "trial int, step int, zero_ns long")
    spans = (
        log.reads.join(F.broadcast(zeros), ["trial", "step"])
        .groupBy("trial", "step")
        .agg(
            F.min(F.col("received_ns") - F.col("zero_ns")).alias("begun_ns"),
            F.max(F.col("received_ns") - F.col("zero_ns")).alias("last_ns"),
        )
    )
    beside = (F.col("at_ns") > F.col("begun_ns")) & (F.col("at_ns") - F.col("took_ns") < F.col("last_ns"))
    rows = (
        disk_reads.join(F.broadcast(spans), "trial")
        .where(beside)
        .groupBy("trial", "step")
        .agg(F.sum("grown").alias("bytes"))
    )
    return {(row["trial"], row["step"]): round(row["bytes"]) for row in rows.collect()}


def _since(counts: Mapping[str, int | None], first_ns: int) -> Row:
    """Return the counts, with times counted from the first send."""
    return {
        name: value - first_ns if value is not None and name.endswith("_ns") else value
        for name, value in counts.items()
    }


def _counts(log: EventLog, due: DataFrame) -> dict[tuple[int, int], dict[str, int | None]]:
    """Count messages by trial and step; `due` has for each step when it was asked for."""
    acked = log.sends.where(F.col("outcome") == Outcome.OK.label).select(*MESSAGE, "done_ns")
    acked_before = acked.join(F.broadcast(due), "trial").where(F.col("done_ns") < F.col("asked_ns"))
    read = log.reads.select(*MESSAGE, "step").distinct().withColumn("read", F.lit(1))
    was_read = F.col("read").isNotNull()
    missing_ns = F.when(~was_read, F.col("sent_ns"))
    rows = (
        acked_before.join(read, [*MESSAGE, "step"], "left")
        .groupBy("trial", "step")
        .agg(
            F.count("*").alias("acked"),
            F.count_if(was_read).alias("found"),
            F.count_if(~was_read).alias("missing"),
            F.min(missing_ns).alias("missing_first_ns"),
            F.max(missing_ns).alias("missing_last_ns"),
        )
        .collect()
    )
    counts = {(row.trial, row.step): row.asDict() for row in rows}
    for of_step in counts.values():
        del of_step["trial"], of_step["step"]
    return counts
