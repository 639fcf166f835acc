"""The analysis from end to end: which table is made of what, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bench import durable_files
from bench.analysis import case_tables, tables
from bench.analysis.account.consumers import consumer_rows, sums_by_trial
from bench.analysis.account.delivery import accounts, messages
from bench.analysis.account.members import member_rows
from bench.analysis.account.offenders import (
    OFFENCES,
    STRAY,
    merge_offenders,
    offenders,
    out_of_order_messages,
    present,
)
from bench.analysis.account.order import out_of_order, verify_rows
from bench.analysis.account.readings import reading_rows
from bench.analysis.account.transfers import transfer_rows
from bench.analysis.faults.availability import availability, breakage, fault_rows
from bench.analysis.faults.joined_members import first_messages
from bench.analysis.faults.node_joining import share_times
from bench.analysis.faults.partition_history import partition_history_rows
from bench.analysis.faults.phase_latency import with_phase_times
from bench.analysis.folder import RunRecords, read_folder
from bench.analysis.log import EventLog, check_log
from bench.analysis.log_validation import check_sends
from bench.analysis.resources import telemetry
from bench.analysis.resources.costs import cost_rows
from bench.analysis.resources.held_cpu import held_cpu, held_machine
from bench.analysis.resources.predictions import prediction_rows
from bench.analysis.resources.telemetry import NodeFigure
from bench.analysis.resources.usage import use_by_role
from bench.analysis.spark import spark_session
from bench.analysis.speed.holds import (
    HoldTimes,
    capacities,
    capacity_rows,
    held_sends,
    hold_rows,
    hold_times,
    holds_of,
)
from bench.analysis.speed.latency import MEASURES, distributions
from bench.analysis.speed.quantiles import SCALE
from bench.analysis.speed.slices import slice_rows, slice_times
from bench.analysis.speed.throughput import SendTally, errors, live_tally, sends_by_slice, tally
from bench.analysis.speed.timeline import service_by_second, timeline
from bench.analysis.speed.unsent_counts import UnsentCounts, unsent_counts
from bench.analysis.statistics.steadiness import flag, rounds_apart, service_by_part
from bench.analysis.trials import TrialCounts, clocks_suffice, trial_row
from bench.analysis.verdicts import run_verdicts
from bench.analysis.verdicts.deciding_rows import MeasuredRows
from bench.analysis.window import last_ends, windows
from bench.capacity.hold import Hold
from bench.errors import AnalysisError
from bench.model import EMULATED_FSYNC
from bench.records.trial import HoldKey, TrialRecord

_Record = TypeVar("_Record", SendTally, NodeFigure)
_ROWS_PER_TASK = 400_000
"""Small enough that a task's share of the heap holds its rows, so that little is spilled."""
_MIN_ROWS_PER_TASK = 20_000
"""For fewer, starting one more task takes longer than it saves."""


@dataclass(frozen=True, slots=True)
class _Measurements:
    """What Spark has made of the event log: all that the tables are written from."""

    counted: TrialCounts
    timeline: list[dict[str, object]]
    slices: list[dict[str, object]]
    holds: dict[HoldKey, Hold]
    hold_times: dict[HoldKey, HoldTimes]
    held_cpu: dict[HoldKey, dict[str, float]]
    errors: list[dict[str, object]]
    telemetry: Any
    offenders: Any
    consumers: list[dict[str, Any]]
    faults: list[dict[str, object]]
    partition_history: list[dict[str, object]]
    readings: list[dict[str, object]]
    transfers: list[dict[str, object]]
    parts: dict[int, dict[int, float]]


def analyse(run: Path) -> None:
    """Compute <run>/results/ from the run's event log (docs/event-log.md, docs/tables.md, docs/method).

    Results that were there are replaced once all new ones are written; after an error they are as they were.

    Raises:
        EventLogError: the folder does not follow docs/event-log.md.
        AnalysisError: Spark could not do the work, or the results cannot be laid out.
        SetupError: Spark did not start.
    """
    began = time.monotonic()
    folder = read_folder(run)
    tables.fields("trials", folder.settings)
    files = check_log(folder)
    with spark_session(files.rows) as spark, _readable_errors(run), files.open_log(spark) as log:
        _fit_tasks(spark, files.rows)
        measured = _measure(spark, folder, log)
    with durable_files.replace_folder(run / "results") as fresh:
        _write(fresh, folder, measured, began)


@contextmanager
def _readable_errors(run: Path) -> Iterator[None]:
    """Turn Spark's errors, which carry pages of Java, into one that names the run and the cause."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        cause = str(error).strip().splitlines()[0]
        raise AnalysisError(
            f"analysing {run}: Spark gave up: {cause}. "
            f"Where it ran out of space or memory, set TMPDIR or SPARK_DRIVER_MEMORY"
        ) from error


def _measure(spark: SparkSession, folder: RunRecords, log: EventLog) -> _Measurements:
    """Run all Spark jobs. Every job looks at all trials at once."""
    try:
        return _jobs(spark, folder, log)
    finally:
        spark.catalog.clearCache()


def _fit_tasks(spark: SparkSession, rows: int) -> None:
    tasks = min(2 * spark.sparkContext.defaultParallelism, 1 + rows // _MIN_ROWS_PER_TASK)
    spark.conf.set("spark.sql.shuffle.partitions", max(tasks, rows // _ROWS_PER_TASK))


def _jobs(spark: SparkSession, folder: RunRecords, log: EventLog) -> _Measurements:
    records_by_trial = check_sends(log.sends, folder.trials)
    first_ns = {trial: record.first_ns for trial, record in records_by_trial.items()}
    any_sliced = any(trial.has_slices for trial in folder.trials)
    ends_ns = last_ends(log.sends) if any_sliced else {}
    windowed = windows(spark, folder.trials, first_ns, ends_ns)
    sends = windowed.sends(log)
    tallies, live = tally(sends), live_tally(log.receives, windowed)
    service = {} if all(trial.has_slices for trial in folder.trials) else service_by_second(sends)
    stepped = telemetry.steps(log.samples, windowed).persist()
    all_messages, verify = messages(log).persist(), verify_rows(log)
    late = out_of_order(verify)
    by_trial = _by_trial(tallies)
    never = _unsent(folder, by_trial)
    counted_unsent = {
        (trial, number): counts.in_window
        for trial, slices in never.items()
        for number, counts in slices.items()
    }
    any_open = any(trial.open_loop for trial in folder.trials)
    measured = distributions(sends, windowed.messages(all_messages), counted_unsent, any_open=any_open)
    account = accounts(all_messages)
    consumers = consumer_rows(log, all_messages, folder.trials, account)
    by_slice = slice_times(sends, counted_unsent, any_open=any_open) if any_sliced else {}
    sends_held = held_sends(spark, log, folder.trials)
    held = holds_of(sends_held, folder.trials)
    counted = TrialCounts(
        logged=log.recorded,
        recorded=records_by_trial,
        tallies=by_trial,
        accounts=account,
        consumers=sums_by_trial(consumers),
        capacities=capacities(folder.trials, held),
        unsent={trial: sum(counts.in_slice for counts in slices.values()) for trial, slices in never.items()},
        distributions=measured,
        out_of_order={row.trial: row["count"] for row in late.groupBy("trial").count().collect()},
        used=_by_trial(telemetry.node_usage(stepped)),
        levels={} if all(trial.has_slices for trial in folder.trials) else telemetry.levels(log.samples),
        members=member_rows(spark, log, folder.trials),
        held_machine=held_machine(log.samples, folder.trials, ends_ns),
    )
    struck = availability(spark, log, folder.trials)
    of_started = _merge_rows(
        share_times(stepped, folder.trials, first_ns), first_messages(spark, log, folder.trials)
    )
    faults = fault_rows(folder.trials, first_ns, struck, of_started)
    faults = with_phase_times(spark, log, folder.trials, first_ns, faults)
    complete_trials = [trial.trial for trial in folder.trials if trial.is_verified]
    parts = [offenders(all_messages, log, verify, complete_trials)] if _any(counted, OFFENCES) else []
    parts += [out_of_order_messages(late)] if counted.out_of_order else []
    return _Measurements(
        counted=counted,
        timeline=list(timeline(folder.trials, first_ns, tallies, live, service)),
        slices=list(slice_rows(folder.trials, tallies, by_slice)),
        holds=held,
        hold_times=hold_times(sends_held, held),
        held_cpu=held_cpu(log.samples, folder.trials, ends_ns),
        errors=errors(tallies, present(log, verify) if _any(counted, STRAY) else {}),
        telemetry=tables.frame("telemetry", telemetry.over_time(stepped)),
        consumers=consumers,
        offenders=tables.frame("messages", merge_offenders(parts) if parts else None),
        faults=faults,
        partition_history=list(partition_history_rows(folder.trials, first_ns)),
        readings=reading_rows(
            log, all_messages, telemetry.counter_growth(stepped, "disk_read_bytes"), folder.trials, first_ns
        ),
        transfers=transfer_rows(log, all_messages, stepped, folder.trials, first_ns),
        parts=service_by_part(sends),
    )


def _unsent(
    folder: RunRecords, tallies: Mapping[int, Sequence[SendTally]]
) -> dict[int, dict[int, UnsentCounts]]:
    """Count the sends that were due and never made, by trial and slice, where a schedule says what was due."""
    counts = {
        trial.trial: unsent_counts(trial, sends_by_slice(tallies[trial.trial]))
        for trial in folder.trials
        if trial.trial in tallies
    }
    return {trial: slices for trial, slices in counts.items() if slices}


def _by_trial(rows: Iterable[_Record]) -> dict[int, list[_Record]]:
    by_trial: dict[int, list[_Record]] = {}
    for row in rows:
        by_trial.setdefault(row.trial, []).append(row)
    return by_trial


def _merge_rows(
    *row_tables: Mapping[tuple[int, int], dict[str, object]],
) -> dict[tuple[int, int], dict[str, object]]:
    """Join rows by trial and place of a step."""
    rows: dict[tuple[int, int], dict[str, object]] = {}
    for table in row_tables:
        for place, row in table.items():
            rows.setdefault(place, {}).update(row)
    return rows


def _any(counted: TrialCounts, kinds: Sequence[str]) -> bool:
    """Whether a second look at the messages can find any of some kinds at all."""
    return any(account.get(kind) for account in counted.accounts.values() for kind in kinds)


def _write(results: Path, folder: RunRecords, measured: _Measurements, began: float) -> None:
    settings = folder.settings
    trials = [trial_row(trial, settings, measured.counted) for trial in folder.trials]
    for trial, row in zip(folder.trials, trials, strict=True):
        row.update(breakage(trial, measured.faults, measured.counted.accounts.get(trial.trial, {})))
    flag(trials, measured.parts, {trial.trial for trial in folder.trials if trial.is_fault_trial})
    cases = case_tables.cases(folder, trials)
    tables.write_rows(results, "trials", trials, settings)
    tables.write_rows(results, "cases", cases, settings)
    tables.write_rows(results, "timeline", measured.timeline)
    tables.write_rows(results, "slices", measured.slices)
    _write_capacities(results, folder, trials, measured)
    tables.write_table(results, "telemetry", measured.telemetry)
    use = list(_use(measured.counted))
    tables.write_rows(results, "use", use)
    tables.write_rows(results, "costs", cost_rows(folder.trials, trials, use))
    tables.write_rows(results, "percentiles", _curves(folder.trials, measured.counted))
    tables.write_rows(results, "errors", measured.errors)
    tables.write_table(results, "messages", measured.offenders)
    tables.write_rows(results, "consumers", measured.consumers)
    tables.write_rows(results, "faults", measured.faults)
    tables.write_rows(results, "readings", measured.readings)
    tables.write_rows(results, "transfers", measured.transfers)
    tables.write_rows(results, "served", measured.partition_history)
    measured_rows = MeasuredRows(
        trials, measured.faults, measured.errors, measured.slices, measured.readings, measured.transfers
    )
    undecided = run_verdicts.write(results, folder, measured_rows)
    summary = _summary(folder, measured_rows, time.monotonic() - began)
    tables.write_json(results, "summary", summary | {"undecided": undecided})


def _write_capacities(
    results: Path, folder: RunRecords, trials: Sequence[Mapping[str, Any]], measured: _Measurements
) -> None:
    """Write the tables of searches for capacities."""
    valid = [row["trial"] for row in trials if row["verdict"] == "valid"]
    holds = list(hold_rows(folder.trials, measured.holds, measured.hold_times, measured.held_cpu))
    measured_capacities = list(capacity_rows(folder.trials, valid, measured.counted.capacities))
    predictions = prediction_rows(folder.trials, valid, holds, measured_capacities)
    tables.write_rows(results, "holds", holds)
    tables.write_rows(results, "capacities", measured_capacities)
    tables.write_rows(results, "predictions", predictions)


def _use(counted: TrialCounts) -> Iterator[dict[str, object]]:
    for trial, rows in sorted(counted.used.items()):
        yield from ({"trial": trial} | row for row in use_by_role(rows))


def _curves(trials: Iterable[TrialRecord], counted: TrialCounts) -> Iterator[dict[str, object]]:
    """Yield the rows of `percentiles`, without end-to-end times that the error of two clocks would decide."""
    clock_errors_ns = {trial.trial: trial.clock_error_ns for trial in trials}
    order = sorted(counted.distributions, key=lambda key: (key[0], MEASURES.index(key[1])))
    for trial, measure in order:
        for quantile, value in counted.distributions[trial, measure].curve():
            if measure == "e2e" and not clocks_suffice(value, clock_errors_ns[trial]):
                continue
            yield {"trial": trial, "measure": measure, "quantile": quantile / SCALE, "value_ns": value}


def _summary(folder: RunRecords, measured_rows: MeasuredRows, elapsed_s: float) -> dict[str, object]:
    closed = not any(trial.open_loop for trial in folder.trials)
    broken, trials = folder.is_fault_run, measured_rows.trials
    return {
        "rounds_apart": [] if broken else rounds_apart(trials),
        "sides": case_tables.both_systems(folder, measured_rows),
        "figure": _figure(folder, closed=closed, broken=broken),
        "analysis_s": round(elapsed_s, 1),
        "messages": sum(row.get("sent") or 0 for row in trials),
        "spark": pyspark.__version__,
    }


def _figure(folder: RunRecords, *, closed: bool, broken: bool) -> str:
    """Name the figure that answers what the run asked."""
    if broken:
        return "timeline"
    if len({trial.settings.get(EMULATED_FSYNC) for trial in folder.trials}) > 1:
        return "price"
    return "throughput" if closed else "response"
