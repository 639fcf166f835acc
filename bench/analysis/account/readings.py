"""What readers and consumer groups of steps found of the messages that were acknowledged by then: table `readings`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.account.delivery import MESSAGE
from bench.analysis.folder import TrialRecord
from bench.analysis.log import EventLog
from bench.model import Outcome

Row = dict[str, object]


def reading_rows(
    spark: SparkSession, log: EventLog, trials: Iterable[TrialRecord], first_ns: Mapping[int, int]
) -> list[Row]:
    """Return a row a step that reads; times count from the trial's first send.

    `found` and `missing` are of the messages that were acknowledged before the step was due.
    """
    steps = [(trial.trial, place, step) for trial in trials for place, step in trial.reading_steps.items()]
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
