"""What each second of each contiguous trial saw."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.speed.quantiles import SCALE, quantiles
from bench.analysis.speed.throughput import LiveTally, SendTally
from bench.model import NANOS
from bench.records.trial import TrialRecord

_POINTS = {50_000: "service_p50_ns", 99_000: "service_p99_ns", SCALE: "service_max_ns"}
_GRID = tuple(range(quantile, quantile + 1) for quantile in _POINTS)
_COUNTS = {"ok": "acked", "fail": "failed", "unknown": "unknown"}

Second = tuple[int, int]
"""A trial and one of its seconds."""


def service_by_second(sends: DataFrame) -> dict[Second, dict[str, int]]:
    """Compute the service time of acknowledged sends (as Windows.sends gives them) by the second sent."""
    values = sends.where(F.col("service_ns").isNotNull() & ~F.col("sliced")).select(
        "trial", F.col("sent_second").alias("second"), F.col("service_ns").alias("value")
    )
    by_second: dict[Second, dict[str, int]] = defaultdict(dict)
    for row in quantiles(values, ["trial", "second"], _GRID).collect():
        by_second[row.trial, row.second][_POINTS[row.quantile]] = row.value
    return by_second


def timeline(
    trials: Iterable[TrialRecord],
    first_ns: Mapping[int, int],
    tallies: Iterable[SendTally],
    live: Iterable[LiveTally],
    service: Mapping[Second, Mapping[str, int]],
) -> Iterator[dict[str, object]]:
    """Give the rows of the table `timeline`: every second of a contiguous trial up to its last, silent or not."""
    counts = _counts(tallies, live)
    last: dict[int, int] = {}
    for number, second in (*counts, *service):
        last[number] = max(second, last.get(number, 0))
    for trial in (trial for trial in trials if not trial.has_slices):
        for second in range(last.get(trial.trial, -1) + 1):
            yield {
                "trial": trial.trial,
                "second": second,
                "in_window": _in_window(trial, first_ns[trial.trial], second),
                **dict.fromkeys(("acked", "failed", "unknown", "received"), 0),
                **counts.get((trial.trial, second), {}),
                **dict.fromkeys(_POINTS.values()),
                **service.get((trial.trial, second), {}),
            }


def _counts(tallies: Iterable[SendTally], live: Iterable[LiveTally]) -> dict[Second, Counter[str]]:
    counts: dict[Second, Counter[str]] = defaultdict(Counter)
    for row in tallies:
        counts[row.trial, row.second][_COUNTS[row.outcome]] += row.sends
    for tally in live:
        counts[tally.trial, tally.second]["received"] += tally.received
    return counts


def _in_window(trial: TrialRecord, first_ns: int, second: int) -> bool:
    """Whether the whole second lies inside the window."""
    start = first_ns + second * NANOS
    window = trial.window
    return window is not None and window.start_ns <= start and start + NANOS <= window.end_ns
