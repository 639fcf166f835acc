"""What each held rate of each search for capacity showed, and what that says of the case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.folder import HoldRecord, TrialRecord
from bench.analysis.log import EventLog
from bench.capacity.capacity import Capacity, combined, judgements, steps_of
from bench.capacity.hold import Hold
from bench.capacity.hold_log import SAMPLE_NS, HeldSlice, hold_of
from bench.capacity.service_level import ServiceLevel, service_level
from bench.model import BUSY, NANOS, Outcome

Row = dict[str, Any]
Held = tuple[int, int]
"""A trial and the slice in which it held a rate."""

_SPANS = "trial int, slice int, start_ns long, end_ns long, response_ns long, end_to_end_ns long"


def holds_of(spark: SparkSession, log: EventLog, trials: Iterable[TrialRecord]) -> dict[Held, Hold]:
    """Count every hold from the sends and live receives of its slice. Trials without holds cost nothing."""
    held = {(trial.trial, one.slice): held_in(trial, one) for trial in trials for one in trial.holds or ()}
    if not held:
        return {}
    numbers = sorted({trial for trial, _ in held})
    spans = spark.createDataFrame(
        [
            (*place, span.start_ns, span.end_ns, level.response_p99_ns, level.end_to_end_p99_ns)
            for place, (span, level, _) in held.items()
        ],
        _SPANS,
    )
    seen = (
        log.receives.where(F.col("trial").isin(numbers) & (F.col("stage") == "live"))
        .groupBy("trial", "producer", "sequence")
        .agg(F.min("received_ns").alias("seen_ns"))
    )
    sends = log.sends.join(F.broadcast(spans), ["trial", "slice"])
    rows = (
        sends.join(seen, ["trial", "producer", "sequence"], "left")
        .select(
            "trial", "slice", F.explode(F.filter(F.array(*_counted()), lambda one: one["place"].isNotNull()))
        )
        .groupBy("trial", "slice", "col")
        .count()
        .collect()
    )
    counts: dict[Held, dict[str, dict[int, int]]] = {place: {} for place in held}
    for row in rows:
        counts[row.trial, row.slice].setdefault(row.col.kind, {})[row.col.place] = row["count"]
    return {
        place: hold_of(span, counts[place], limited_by_client=limited)
        for place, (span, _, limited) in held.items()
    }


def _counted() -> list[Column]:
    """Return the kinds that a send counts for, each with its place (hold_log.Counts); null where it does not."""
    due, start = F.col("due_ns"), F.col("start_ns")
    acked = F.col("outcome") == Outcome.OK.label
    acked_ns = F.when(acked, F.col("done_ns"))
    counted = (due >= start) & (due < F.col("end_ns"))
    second = F.floor((due - start) / NANOS)

    def sample(time_ns: Column) -> Column:
        return F.greatest(F.lit(0), F.floor((time_ns - start) / SAMPLE_NS) + 1)

    places = {
        "sent": F.when(counted, 0),
        "failed": F.when(counted & ~acked, 0),
        "in_time": F.when(counted & (acked_ns <= due + F.col("response_ns")), second),
        "seen_in_time": F.when(counted & (F.col("seen_ns") <= due + F.col("end_to_end_ns")), second),
        "acked": F.when(acked_ns.isNotNull(), sample(acked_ns)),
        "seen": F.when(F.col("seen_ns").isNotNull(), sample(F.col("seen_ns"))),
    }
    return [
        F.struct(F.lit(kind).alias("kind"), place.cast("long").alias("place"))
        for kind, place in places.items()
    ]


def hold_rows(trials: Iterable[TrialRecord], holds: Mapping[Held, Hold]) -> Iterator[Row]:
    """Give the rows of the table `holds`, in the order in which each trial held its rates."""
    for trial in trials:
        made = _made(trial, holds)
        verdicts = judgements(((hold, one.confirms) for one, hold in made), _level(trial)) if made else ()
        for (one, hold), judgement in zip(made, verdicts, strict=True):
            yield {
                "trial": trial.trial,
                "slice": one.slice,
                "rate": hold.rate,
                "seconds": hold.seconds,
                "confirms": one.confirms,
                "due": sum(hold.due),
                **{name: getattr(hold, name) for name in ("sent", "failed")},
                **{name: sum(getattr(hold, name)) for name in ("late", "late_end_to_end")},
                **{f"{name}_growth": slope.messages_per_s for name, slope in hold.backlogs.items()},
                "client_cpu_share": one.client_cpu_share,
                "verdict": judgement.verdict,
                "reason": judgement.reason,
            }


def capacities(trials: Iterable[TrialRecord], holds: Mapping[Held, Hold]) -> dict[int, Capacity]:
    """Return what the search of each trial found, by trial; those without a search are not among them."""
    return {
        trial.trial: Capacity(
            tuple(steps_of([(hold, one.confirms) for one, hold in _made(trial, holds)], _level(trial)))
        )
        for trial in trials
        if trial.holds
    }


def _made(trial: TrialRecord, holds: Mapping[Held, Hold]) -> list[tuple[HoldRecord, Hold]]:
    """Return the holds of a trial with what they showed, in the order run."""
    return [(one, holds[trial.trial, one.slice]) for one in trial.holds or ()]


def capacity_rows(
    trials: Iterable[TrialRecord], valid: Collection[int], found: Mapping[int, Capacity]
) -> Iterator[Row]:
    """Give the rows of the table `capacities`: a row a case that searched, over the searches of its valid trials."""
    by_case: dict[tuple[str, str], list[Capacity]] = {}
    for trial in trials:
        if trial.trial in found and trial.trial in valid:
            by_case.setdefault((trial.case.system, trial.case.name), []).append(found[trial.trial])
    for (system, case), results in by_case.items():
        every = combined(results)
        interval = every.interval
        yield {
            "system": system,
            "case": case,
            "starts": every.starts,
            "passed_rate": every.passed_rate,
            "failed_rate": every.failed_rate,
            "low": interval and interval.low,
            "high": interval and interval.high,
            "limited_by_client": every.limited_by_client,
            "non_monotone": every.non_monotone,
            "finding": results[0].finding if len(results) == 1 else None,
        }


def _level(trial: TrialRecord) -> ServiceLevel:
    return service_level(trial.case.configuration["capacity"])


def held_in(trial: TrialRecord, one: HoldRecord) -> tuple[HeldSlice, ServiceLevel, bool]:
    """Return the slice of a hold, the level that it is to keep, and whether the load process was at its limit."""
    held = HeldSlice(
        number=one.slice,
        rate=one.rate,
        producers=trial.load.producers or 1,
        begun_ns=one.begun_ns,
        start_ns=one.start_ns,
        end_ns=one.end_ns,
    )
    return held, _level(trial), one.client_cpu_share >= BUSY
