"""Whether a trial's sends keep the promises of docs/event-log.md that no column type can make.

A trial that breaks one is not dropped and does not stop the analysis: it is invalid, and says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the sends of one trial say about their own soundness."""

    first_ns: int
    sent: int
    problems: tuple[str, ...]


def recorded(sends: DataFrame) -> dict[int, Recorded]:
    """Look through all sends once; gives what was found by trial."""
    acked = F.col("outcome") == "ok"
    rows = (
        sends.groupBy("trial", "producer")
        .agg(
            F.min("sent_ns").alias("first_ns"),
            F.count("*").alias("count"),
            F.min("sequence").alias("lowest"),
            F.max("sequence").alias("highest"),
            F.sum("sequence").alias("total"),
            F.count_if(acked & F.col("done_ns").isNull()).alias("endless"),
            F.count_if(F.col("done_ns") < F.col("sent_ns")).alias("backward"),
        )
        .orderBy("trial", "producer")
        .collect()
    )
    by_trial: dict[int, list[Row]] = {}
    for row in rows:
        by_trial.setdefault(row.trial, []).append(row)
    return {trial: _trial(producers) for trial, producers in by_trial.items()}


def _trial(producers: Iterable[Row]) -> Recorded:
    producers = list(producers)
    problems = [problem for row in producers for problem in _problems(row)]
    first_ns, sent = min(row.first_ns for row in producers), sum(row["count"] for row in producers)
    return Recorded(first_ns, sent, tuple(problems))


def _problems(row: Row) -> list[str]:
    """Compare one producer's sums with those of the sequence 0, 1, 2 … without gap or repetition."""
    count = row["count"]
    found = []
    if (row.lowest, row.highest, row.total) != (0, count - 1, count * (count - 1) // 2):
        found.append(
            f"The sends of producer {row.producer} are not the sequence 0 to {count - 1}: "
            f"{count} rows from {row.lowest} to {row.highest}."
        )
    if row.endless:
        found.append(f"{row.endless} acknowledged sends of producer {row.producer} have no done_ns.")
    if row.backward:
        found.append(f"{row.backward} sends of producer {row.producer} were done before they were sent.")
    return found
