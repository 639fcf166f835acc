"""Checks of a trial's sends against docs/event-log.md that no column type can make.

A trial that breaks one is not dropped and does not stop the analysis: it is invalid, and says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.model import SETTLING_SLICE
from bench.records.trial import TrialRecord


@dataclass(frozen=True, slots=True)
class LogCheck:
    """What the sends of one trial say about their own soundness."""

    first_ns: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProducerSums:
    """Counts and sums over the sends of one producer, which a sound log determines.

    `endless` are acknowledged sends without done_ns, `backward` those that were done before they were sent.
    """

    producer: int
    first_ns: int
    count: int
    lowest: int
    highest: int
    total: int
    endless: int
    backward: int
    lowest_slice: int
    highest_slice: int


def check_sends(sends: DataFrame, trials: Iterable[TrialRecord]) -> dict[int, LogCheck]:
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
            F.min("slice").alias("lowest_slice"),
            F.max("slice").alias("highest_slice"),
        )
        .orderBy("trial", "producer")
        .collect()
    )
    by_trial: dict[int, list[ProducerSums]] = {}
    for row in rows:
        sums = row.asDict()
        by_trial.setdefault(sums.pop("trial"), []).append(ProducerSums(**sums))
    slices = {trial.trial: trial.slice_count for trial in trials}
    return {trial: soundness(producers, slices[trial]) for trial, producers in by_trial.items()}


def soundness(producers: Sequence[ProducerSums], slices: int) -> LogCheck:
    """Say what is wrong with the sends of one trial, which has so many slices (1 where it is contiguous)."""
    problems = [problem for row in producers for problem in _problems(row, slices)]
    return LogCheck(min(row.first_ns for row in producers), tuple(problems))


def _problems(row: ProducerSums, slices: int) -> list[str]:
    """Compare one producer's sums with those of the sequence 0, 1, 2 … without gap or repetition."""
    count = row.count
    problems = []
    if (row.lowest, row.highest, row.total) != (0, count - 1, count * (count - 1) // 2):
        problems.append(
            f"The sends of producer {row.producer} are not the sequence 0 to {count - 1}: "
            f"{count} rows from {row.lowest} to {row.highest}."
        )
    if row.endless:
        problems.append(f"{row.endless} acknowledged sends of producer {row.producer} have no done_ns.")
    if row.backward:
        problems.append(f"{row.backward} sends of producer {row.producer} were done before they were sent.")
    if row.lowest_slice < SETTLING_SLICE or row.highest_slice >= slices:
        problems.append(
            f"The sends of producer {row.producer} belong to slices {row.lowest_slice} to {row.highest_slice}, "
            f"but trial.json has slices 0 to {slices - 1}."
        )
    return problems
