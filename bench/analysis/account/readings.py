"""What readers and consumer groups of steps found of the messages that were acknowledged by then: table `readings`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.account.delivery import MESSAGE
from bench.analysis.folder import TrialRecord
from bench.analysis.log import EventLog
from bench.model import READING, Outcome

Row = dict[str, object]


def reading_rows(
    spark: SparkSession, log: EventLog, trials: Iterable[TrialRecord], first_ns: Mapping[int, int]
) -> list[Row]:
    """Return a row a step that reads; times count from the trial's first send.

    `found` and `missing` are of the messages that were acknowledged before the step was due.
    """
    steps = [
        (trial.trial, place, step)
        for trial in trials
        for place, step in enumerate(trial.faults)
        if step["kind"] in READING
    ]
    if not steps:
        return []
    due = [(trial, place, int(step["asked_ns"])) for trial, place, step in steps]
    counts = _counts(log, spark.createDataFrame(due, "trial int, step int, asked_ns long"))
    return [
        {
            "trial": trial,
            "reading": step["name"],
            "group": step.get("group"),
            "asked_ns": step["asked_ns"] - first_ns.get(trial, 0),
            "received": step.get("received"),
            "reason": step.get("reason"),
            **_since(counts.get((trial, place), {}), first_ns.get(trial, 0)),
        }
        for trial, place, step in steps
    ]


def _since(counts: Mapping[str, int | None], first_ns: int) -> Row:
    """Return the counts, with times counted from the first send."""
    return {
        name: value - first_ns if value is not None and name.endswith("_ns") else value
        for name, value in counts.items()
    }


def _counts(log: EventLog, due: DataFrame) -> dict[tuple[int, int], dict[str, int | None]]:
    acked = log.sends.where(F.col("outcome") == Outcome.OK.label).select(*MESSAGE, "done_ns")
    wanted = acked.join(F.broadcast(due), "trial").where(F.col("done_ns") < F.col("asked_ns"))
    there = log.reads.select(*MESSAGE, "step").distinct().withColumn("there", F.lit(1))
    found = F.col("there").isNotNull()
    gone_ns = F.when(~found, F.col("sent_ns"))
    rows = (
        wanted.join(there, [*MESSAGE, "step"], "left")
        .groupBy("trial", "step")
        .agg(
            F.count("*").alias("acked"),
            F.count_if(found).alias("found"),
            F.count_if(~found).alias("missing"),
            F.min(gone_ns).alias("missing_first_ns"),
            F.max(gone_ns).alias("missing_last_ns"),
        )
        .collect()
    )
    return {
        (row.trial, row.step): {
            name: value for name, value in row.asDict().items() if name not in {"trial", "step"}
        }
        for row in rows
    }
