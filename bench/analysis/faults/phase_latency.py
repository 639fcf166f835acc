"""How long sends take before a fault, while a node is away and while it catches up: what its loss leaves in reserve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.log import EventLog
from bench.columns import PHASES
from bench.model import NANOS, NEVER_NS, Outcome
from bench.records.trial import TrialRecord

Row = dict[str, Any]

_FEWEST = 100
"""Of fewer messages there is no 99th percentile."""
_LEAST_RECOVERY_NS = 5 * NANOS
"""A recovery lasts so long at least: copies of a small backlog are back within a fraction of a second."""


class _Phase(NamedTuple):
    """A time of one row of `faults`, by the row's place, on the clock of the log."""

    trial: int
    row: int
    phase: str
    start_ns: int
    end_ns: int
    window_end_ns: int


def with_phase_times(
    spark: SparkSession,
    log: EventLog,
    trials: Iterable[TrialRecord],
    first_ns: Mapping[int, int],
    rows: list[Row],
) -> list[Row]:
    """Return the rows of `faults` (availability.py) with p99_before_ns, p99_away_ns and p99_recovery_ns.

    Each is the 99th percentile of the response time, from when a message was due, of what was due in that phase.

    Before: in the window, until the first fault was asked for; of the first fault only. Away: from when every
    partition had acknowledged a message since, until healing was asked for. Recovery: from when the node was back
    until every copy was, and for 5 s at least. Where the copies were there first, or never came, it lasts until the
    window's end.

    A send that failed or was never answered counts as if it had lasted until the window's end. Null where a phase did
    not come, or has fewer than 100 messages.
    """
    places_by_trial: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        places_by_trial.setdefault(row["trial"], []).append(place)
    phases = [
        phase
        for trial in trials
        for phase in _phases(trial, first_ns.get(trial.trial, 0), rows, places_by_trial.get(trial.trial, []))
        if phase.end_ns > phase.start_ns
    ]
    if not phases:
        return rows
    schema = "trial int, row int, phase string, start_ns long, end_ns long, window_end_ns long"
    p99_ns = _p99_ns(log, spark.createDataFrame(phases, schema))
    return [
        row | {f"p99_{phase}_ns": p99_ns.get((place, phase)) for phase in PHASES}
        for place, row in enumerate(rows)
    ]


def _p99_ns(log: EventLog, spans: DataFrame) -> dict[tuple[int, str], int]:
    """Return the 99th percentile of each phase that has messages enough, by the row's place and the phase."""
    due_ns = F.col("due_ns")
    acked_ns = F.when(F.col("outcome") == Outcome.OK.label, F.col("done_ns"))
    took_ns = F.coalesce(acked_ns, "window_end_ns") - due_ns
    inside = (due_ns >= F.col("start_ns")) & (due_ns < F.col("end_ns"))
    p99_ns = F.expr("percentile_disc(0.99) WITHIN GROUP (ORDER BY took_ns)")
    rows = (
        log.sends.join(F.broadcast(spans), "trial")
        .where(inside)
        .select("row", "phase", took_ns.alias("took_ns"))
        .groupBy("row", "phase")
        .agg(F.count("*").alias("messages"), p99_ns.alias("p99_ns"))
        .collect()
    )
    return {(row["row"], row["phase"]): round(row["p99_ns"]) for row in rows if row["messages"] >= _FEWEST}


def _phases(trial: TrialRecord, zero_ns: int, rows: list[Row], places: list[int]) -> Iterator[_Phase]:
    """Give the phases of a trial's faults; `places` are those of its rows, in the order of its faults."""
    window, faults = trial.window, trial.strikes.values()
    if window is None:
        return
    fault_starts_ns = [rows[place]["asked_ns"] + zero_ns for place in places]
    for place, fault, asked_ns, next_ns in zip(
        places, faults, fault_starts_ns, [*fault_starts_ns[1:], NEVER_NS], strict=False
    ):
        row, end_ns = rows[place], min(next_ns, window.end_ns)
        times = {}
        if place == places[0]:
            times["before"] = (window.start_ns, asked_ns)
        if (first_acked_ns := row.get("first_acked_ns")) is not None:
            healing_ns = min(end_ns, fault.heal_asked_ns or end_ns)
            times["away"] = (asked_ns + first_acked_ns, healing_ns)
        if (healed_ns := row.get("healed_ns")) is not None:
            times["recovery"] = (
                zero_ns + healed_ns,
                _recovered_ns(row, asked_ns, zero_ns + healed_ns, end_ns),
            )
        for phase, (start_ns, until_ns) in times.items():
            yield _Phase(trial.trial, place, phase, start_ns, until_ns, window.end_ns)


def _recovered_ns(row: Row, asked_ns: int, healed_ns: int, end_ns: int) -> int:
    """Return when recovery was over: with the last copy, where that came after the node, and not within 5 s of it."""
    back_ns = row.get("copies_back_ns")
    if back_ns is None or asked_ns + back_ns <= healed_ns:
        return end_ns
    return int(min(end_ns, max(asked_ns + back_ns, healed_ns + _LEAST_RECOVERY_NS)))
