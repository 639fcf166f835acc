"""One count of all sends and live receives, from which throughput, timeline and errors are added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.window import Windows, second
from bench.errors import EventLogError
from bench.model import NANOS, Outcome
from bench.records.trial import SliceRecord

OUTCOMES = tuple(outcome.label for outcome in Outcome)
STAGES = ("live", "verify")
ErrorKey: TypeAlias = tuple[int, str, str | None]
"""A trial, the outcome of sends in it, and the error that the client gave."""


class SendTally(NamedTuple):
    """Sends of one slice that ended alike in the same second: how many, and their bytes."""

    trial: int
    slice: int
    second: int
    outcome: str
    error: str | None
    in_window: bool
    sends: int
    size: int


class LiveTally(NamedTuple):
    """Messages that the live consumers of one trial got within one second."""

    trial: int
    second: int
    received: int


def tally(sends: DataFrame) -> list[SendTally]:
    """Count all sends (as Windows.sends gives them) by how and when they ended.

    Raises:
        EventLogError: an outcome is none of ok, fail, unknown.
    """
    rows = (
        sends.groupBy("trial", "slice", "done_second", "outcome", "error", "done_in_window")
        .agg(F.count("*"), F.sum("bytes"))
        .collect()
    )
    for row in rows:
        _expect(row.trial, "sends", "outcome", row.outcome, OUTCOMES)
    return [SendTally(*row) for row in rows]


def live_tally(receives: DataFrame, windows: Windows) -> list[LiveTally]:
    """Count what live consumers got, by second.

    Raises:
        EventLogError: a stage is neither live nor verify.
    """
    live_second = F.when(F.col("stage") == "live", second(F.col("received_ns")))
    rows = (
        windows.over_trial(receives)
        .groupBy("trial", "stage", live_second.alias("second"))
        .agg(F.count("*").alias("received"))
        .collect()
    )
    for row in rows:
        _expect(row.trial, "receives", "stage", row.stage, STAGES)
    return [LiveTally(row.trial, row.second, row.received) for row in rows if row.stage == "live"]


def _expect(trial: int, folder: str, column: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise EventLogError(
            f"reading trials/{trial:04d}/{folder}: column {column} holds {value!r}, expected one of "
            f"{', '.join(allowed)} (docs/event-log.md)"
        )


def throughput(tallies: Iterable[SendTally], spans: Iterable[SliceRecord]) -> dict[str, float | None]:
    """Acknowledged sends and bytes of one trial that ended inside its spans, per second of all spans together."""
    names = ("window_s", "throughput_msgs_per_s", "throughput_bytes_per_s")
    length_ns = sum(span.length_ns for span in spans)
    if not length_ns:
        return dict.fromkeys(names)
    counted = [row for row in tallies if row.outcome == "ok" and row.in_window]
    seconds = length_ns / NANOS
    sends, size = sum(row.sends for row in counted), sum(row.size for row in counted)
    return dict(zip(names, (seconds, sends / seconds, size / seconds), strict=True))


def sends_by_slice(tallies: Iterable[SendTally]) -> Counter[int]:
    """Count all sends of one trial by slice."""
    counts: Counter[int] = Counter()
    for row in tallies:
        counts[row.slice] += row.sends
    return counts


def errors(tallies: Sequence[SendTally], present: Mapping[ErrorKey, int]) -> list[dict[str, object]]:
    """Give the rows of the table `errors`, with how many are in the log: most frequent first within a trial."""
    counts: Counter[ErrorKey] = Counter()
    for row in tallies:
        if row.outcome != "ok":
            counts[row.trial, row.outcome, row.error] += row.sends
    ordered = sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1], item[0][2] or ""))
    names = ("trial", "outcome", "error", "count", "present")
    return [dict(zip(names, (*key, count, present.get(key, 0)), strict=True)) for key, count in ordered]
