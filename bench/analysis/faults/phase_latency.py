"""How long sends take before a fault, while a node is away and while it catches up: what its loss leaves in reserve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.folder import TrialRecord
from bench.analysis.log import EventLog
from bench.model import NEVER_NS, PHASES

Row = dict[str, Any]

_FEWEST = 100
"""Of fewer messages there is no 99th percentile."""


class _Phase(NamedTuple):
    """A time of one row of `faults`, by the row's place, on the clock of the log."""

    trial: int
    row: int
    phase: str
    start_ns: int
    end_ns: int


def with_phase_times(
    spark: SparkSession,
    log: EventLog,
    trials: Iterable[TrialRecord],
    first_ns: Mapping[int, int],
    rows: list[Row],
) -> list[Row]:
    """Return the rows of `faults` (availability.py) with p99_before_ns, p99_away_ns and p99_recovery_ns.

    Each is the 99th percentile of the response time, from when a message was due, of what was due in that phase:

    - before: in the window, until the fault was asked for;
    - away: from when every partition had acknowledged a message since, until healing was asked for;
    - recovery: from when the node was back until every copy was, or until the window's end.

    A send that failed counts with the time until it had failed. Null where a phase did not come, or has fewer than 100
    messages.
    """
    by_trial: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        by_trial.setdefault(row["trial"], []).append(place)
    phases = [
        phase
        for trial in trials
        if trial.window is not None
        for phase in _phases(trial, first_ns.get(trial.trial, 0), rows, by_trial.get(trial.trial, []))
        if phase.end_ns > phase.start_ns
    ]
    if not phases:
        return rows
    spans = spark.createDataFrame(phases, "trial int, row int, phase string, start_ns long, end_ns long")
    took_ns = F.col("done_ns") - F.coalesce("due_ns", "sent_ns")
    times = (
        log.sends.where("done_ns is not null")
        .join(F.broadcast(spans), "trial")
        .where(
            (F.coalesce("due_ns", "sent_ns") >= F.col("start_ns"))
            & (F.coalesce("due_ns", "sent_ns") < F.col("end_ns"))
        )
        .select("row", "phase", took_ns.alias("took_ns"))
        .groupBy("row", "phase")
        .agg(
            F.count("*").alias("messages"),
            F.expr("percentile_disc(0.99) WITHIN GROUP (ORDER BY took_ns)").alias("p99_ns"),
        )
    )
    found = {
        (one["row"], one["phase"]): round(one["p99_ns"])
        for one in times.collect()
        if one["messages"] >= _FEWEST
    }
    return [
        row | {f"p99_{phase}_ns": found.get((place, phase)) for phase in PHASES}
        for place, row in enumerate(rows)
    ]


def _phases(trial: TrialRecord, zero_ns: int, rows: list[Row], places: list[int]) -> Iterator[_Phase]:
    """Give the phases of a trial's faults; `places` are those of its rows, in the order of its faults."""
    window, faults = trial.window, [fault for fault in trial.faults if "proven" in fault]
    if window is None:
        return
    asked = [rows[place]["asked_ns"] + zero_ns for place in places]
    for place, fault, asked_ns, next_ns in zip(
        places, faults, asked, chain(asked[1:], [NEVER_NS]), strict=False
    ):
        row, end_ns = rows[place], min(next_ns, window.end_ns)
        yield _Phase(trial.trial, place, "before", window.start_ns, asked_ns)
        if (first_acked_ns := row.get("first_acked_ns")) is not None:
            away_until_ns = min(end_ns, fault.get("heal_asked_ns") or end_ns)
            yield _Phase(trial.trial, place, "away", asked_ns + first_acked_ns, away_until_ns)
        if (healed_ns := row.get("healed_ns")) is not None:
            back_ns = row.get("copies_back_ns")
            until_ns = end_ns if back_ns is None else min(end_ns, asked_ns + back_ns)
            yield _Phase(trial.trial, place, "recovery", zero_ns + healed_ns, until_ns)
