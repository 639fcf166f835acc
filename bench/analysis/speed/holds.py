"""What each held rate of each search for capacity showed, and what that says of the case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.log import EventLog
from bench.analysis.speed.latency import MEASURES, measured_values, never_made
from bench.analysis.speed.quantiles import quantiles
from bench.capacity.capacity import Capacity, combine_starts, merge_repeats, steps_of
from bench.capacity.hold import Hold
from bench.capacity.hold_log import SAMPLE_NS, HeldSlice, hold_of
from bench.capacity.judgement import judge
from bench.capacity.service_level import ServiceLevel, service_level
from bench.model import NANOS, Outcome
from bench.records.trial import HoldKey, HoldRecord, TrialRecord

Row = dict[str, Any]

_PLACE = ("trial", "slice")
_TIMED = {"response": "response", "e2e": "end_to_end"}
"""What is timed in a hold (latency.MEASURES), and how its columns begin."""
_QUANTILES = {50_000: "p50", 99_000: "p99"}
_GRID = tuple(range(quantile, quantile + 1) for quantile in _QUANTILES)
HoldTimes = dict[str, int | None]
"""Columns of `holds` with a time: response_p50_ns, response_p99_ns, end_to_end_p50_ns, end_to_end_p99_ns."""

_SPANS = "trial int, slice int, start_ns long, end_ns long, response_ns long, end_to_end_ns long"


def held_sends(spark: SparkSession, log: EventLog, trials: Iterable[TrialRecord]) -> DataFrame | None:
    """Give the sends of all holds, each with its hold's limits and `seen_ns`, its first live receive; None without."""
    held = _held_slices(trials)
    if not held:
        return None
    numbers = sorted({trial for trial, _ in held})
    spans = spark.createDataFrame(
        [
            (*place, span.start_ns, span.end_ns, level.response_p99_ns, level.end_to_end_p99_ns)
            for place, (span, level) in held.items()
        ],
        _SPANS,
    )
    first_receives = (
        log.receives.where(F.col("trial").isin(numbers) & (F.col("stage") == "live"))
        .groupBy("trial", "producer", "sequence")
        .agg(F.min("received_ns").alias("seen_ns"))
    )
    sends = log.sends.join(F.broadcast(spans), ["trial", "slice"])
    return sends.join(first_receives, ["trial", "producer", "sequence"], "left")


def _held_slices(trials: Iterable[TrialRecord]) -> dict[HoldKey, tuple[HeldSlice, ServiceLevel]]:
    return {
        (trial.trial, record.slice): (held_slice(trial, record), level_of(trial))
        for trial in trials
        for record in trial.holds or ()
    }


def holds_of(sends: DataFrame | None, trials: Iterable[TrialRecord]) -> dict[HoldKey, Hold]:
    """Count every hold from its sends (`held_sends`)."""
    if sends is None:
        return {}
    kinds = F.filter(F.array(*_send_kinds()), lambda kind: kind["place"].isNotNull())
    rows = sends.select("trial", "slice", F.explode(kinds)).groupBy("trial", "slice", "col").count().collect()
    held = _held_slices(trials)
    counts: dict[HoldKey, dict[str, dict[int, int]]] = {place: {} for place in held}
    for row in rows:
        counts[row.trial, row.slice].setdefault(row.col.kind, {})[row.col.place] = row["count"]
    return {place: hold_of(span, counts[place]) for place, (span, _) in held.items()}


def hold_times(sends: DataFrame | None, holds: Mapping[HoldKey, Hold]) -> dict[HoldKey, HoldTimes]:
    """Compute the times of what was due in every hold, from when it was due, as columns of the table `holds`.

    What failed, what was never sent and what no consumer had took longer than anything else: a quantile that falls
    there is None.
    """
    if sends is None:
        return {}
    acked_ns = F.when(F.col("outcome") == Outcome.OK.label, F.col("done_ns"))
    due = sends.where("due_ns >= start_ns and due_ns < end_ns").select(
        *_PLACE,
        (acked_ns - F.col("due_ns")).alias("response_ns"),
        (F.col("seen_ns") - F.col("due_ns")).alias("e2e_ns"),
    )
    parts = [measured_values(due, measure, _PLACE, missing=True) for measure in _TIMED]
    missing = {place: sum(hold.due) - hold.sent for place, hold in holds.items()}
    if any(missing.values()):
        parts.append(never_made(sends.sparkSession, missing, _TIMED, _PLACE))
    times: dict[HoldKey, HoldTimes] = {}
    for row in quantiles(reduce(DataFrame.unionAll, parts), [*_PLACE, "measure"], _GRID).collect():
        name = f"{_TIMED[MEASURES[row.measure]]}_{_QUANTILES[row.quantile]}_ns"
        times.setdefault((row.trial, row.slice), {})[name] = row.value
    return times


def _send_kinds() -> list[Column]:
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


def hold_rows(
    trials: Iterable[TrialRecord],
    holds: Mapping[HoldKey, Hold],
    times: Mapping[HoldKey, HoldTimes],
    cpu: Mapping[HoldKey, Mapping[str, float]],
) -> Iterator[Row]:
    """Give the rows of the table `holds`, in the order in which each trial held its rates.

    `times` and `cpu` are of `hold_times` and `held_cpu`.
    """
    for trial in trials:
        made = _holds_made(trial, holds)
        for record, (hold, _), (repeated, _) in zip(
            trial.holds or (), made, merge_repeats(made), strict=True
        ):
            judgement = judge(repeated, level_of(trial))
            yield {
                "trial": trial.trial,
                "slice": record.slice,
                "rate": hold.rate,
                "seconds": hold.seconds,
                "confirms": record.confirms,
                "due": sum(hold.due),
                **{name: getattr(hold, name) for name in ("sent", "failed")},
                **{name: sum(getattr(hold, name)) for name in ("late", "late_end_to_end")},
                **times.get((trial.trial, record.slice), {}),
                **{f"{name}_growth": slope.messages_per_s for name, slope in hold.backlogs.items()},
                "copies_missing": record.copies_missing,
                "late_copies_share": record.late_copies_share,
                "client_cpu_share": record.client_cpu_share,
                **cpu.get((trial.trial, record.slice), {}),
                "verdict": judgement.verdict,
                "reason": judgement.reason,
            }


def capacities(trials: Iterable[TrialRecord], holds: Mapping[HoldKey, Hold]) -> dict[int, Capacity]:
    """Return what the search of each trial found, by trial; those without a search are not among them."""
    return {
        trial.trial: Capacity(tuple(steps_of(_holds_made(trial, holds), level_of(trial))))
        for trial in trials
        if trial.holds
    }


def _holds_made(trial: TrialRecord, holds: Mapping[HoldKey, Hold]) -> list[tuple[Hold, bool]]:
    """Return the holds of a trial in the order run, each with whether it confirms."""
    return [(holds[trial.trial, record.slice], record.confirms) for record in trial.holds or ()]


def capacity_rows(
    trials: Iterable[TrialRecord], valid: Collection[int], by_trial: Mapping[int, Capacity]
) -> Iterator[Row]:
    """Give the rows of the table `capacities`: a row a case that searched, over the searches of its valid trials."""
    by_case: dict[tuple[str, str], list[Capacity]] = {}
    for trial in trials:
        if trial.trial in by_trial and trial.trial in valid:
            by_case.setdefault((trial.case.system, trial.case.name), []).append(by_trial[trial.trial])
    for (system, case), results in by_case.items():
        overall = combine_starts(results)
        interval = overall.interval
        yield {
            "system": system,
            "case": case,
            "starts": overall.starts,
            "passed_rate": overall.passed_rate,
            "failed_rate": overall.failed_rate,
            "low": interval and interval.low,
            "high": interval and interval.high,
            "limited_by_client": overall.limited_by_client,
            "non_monotone": overall.non_monotone,
            "finding": results[0].finding if len(results) == 1 else None,
        }


def level_of(trial: TrialRecord) -> ServiceLevel:
    """Return the service level that the holds of a trial are to keep."""
    return service_level(trial.case.configuration["capacity"])


def held_slice(trial: TrialRecord, record: HoldRecord) -> HeldSlice:
    """Return the slice of a hold as it is counted."""
    return HeldSlice(
        number=record.slice,
        rate=record.rate,
        producers=trial.load.producers or 1,
        begun_ns=record.begun_ns,
        start_ns=record.start_ns,
        end_ns=record.end_ns,
        client_cpu_share=record.client_cpu_share,
        copies_missing=bool(record.copies_missing),
        late_copies_share=record.late_copies_share,
    )
