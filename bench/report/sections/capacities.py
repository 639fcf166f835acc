"""What each case sustains under its service level: the search's result, and the limit above it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench import numbers
from bench.capacity.judgement import HoldVerdict
from bench.capacity.service_level import LATE_SHARE
from bench.report import sweep
from bench.report.load_curves import load_curves
from bench.report.results import Results
from bench.report.sections import load_latency, predictions
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Table, case_table


@dataclass(frozen=True, slots=True)
class Capacities:
    """`service_level` says what a rate must meet, `held` for how long; `load_latency` has response times over load."""

    tables: Sequence[Table]
    service_level: str
    held: str
    load_latency: Sequence[Table]
    predictions: Sequence[Table]


def tables(results: Results, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return a table a system with a row a case; none where no case searched for its capacity."""
    return [] if results.capacities.empty else [_table(results, part) for part in parts]


def level(results: Results) -> str:
    """Say what a rate must meet to count as sustained; empty where nobody searched."""
    if results.capacities.empty:
        return ""
    service_level = results.service_level
    most_late = numbers.share(service_level.most_backlog_growth)
    counted = "late_copies_share" in results.holds and results.holds["late_copies_share"].notna().any()
    late_copies = f"no storage node late with more than {most_late} of its copies; " if counted else ""
    return (
        f"99 % of the messages acknowledged within {numbers.duration(service_level.response_p99_ns)} of when they were "
        f"due, and with a consumer within {numbers.duration(service_level.end_to_end_p99_ns)}; every due message "
        f"sent; none failed; no copy known to be missing at the end; {late_copies}no backlog that grows by more than "
        f"{most_late} of the rate"
    )


def _hold_times(results: Results) -> str:
    """Say how long the rates were held on which results rest."""
    times = {
        float(capacity["confirm_s"])
        for trial in results.trial_records.values()
        if (capacity := trial.case.configuration.get("capacity"))
    }
    return " or ".join(numbers.seconds(time_s) for time_s in sorted(times))


def _table(results: Results, part: sweep.Part) -> Table:
    capacities = results.capacities.set_index("case")
    columns = (
        Column("passed", "number", "messages/s, median of starts"),
        Column("failed", "number", "messages/s, median of starts"),
        Column("95 % interval", "number"),
        Column("MB/s", "number"),
        Column("of the closed loop", "number"),
        Column("limit above", "text"),
        Column("starts", "number"),
    )
    cells = [
        _cells(results, case, capacities.loc[case["case"]] if case["case"] in capacities.index else None)
        for _, case in part.cases.iterrows()
    ]
    return case_table(part, columns, cells)


def _cells(results: Results, case: pd.Series[Any], capacity: pd.Series[Any] | None) -> list[Cell]:
    if capacity is None:
        return [Cell(numbers.NOTHING, "quiet")] * 7
    passed, failed = float(capacity["passed_rate"]), float(capacity["failed_rate"])
    interval = not numbers.absent(capacity["low"])
    closed = float(case["throughput_msgs_per_s"])
    return [
        Cell(numbers.rate(passed), "strong", sort=passed),
        Cell(numbers.rate(failed) if failed < float("inf") else "none", sort=failed),
        Cell(
            numbers.rates(float(capacity["low"]), float(capacity["high"])) if interval else "too few starts",
            "quiet",
        ),
        Cell(numbers.rate(passed * _bytes(results, str(case["case"])) / 1e6)),
        Cell(numbers.share(passed / closed) if closed else numbers.NOTHING),
        Cell(limit(results, str(case["case"]))),
        Cell(_starts(capacity), sort=int(capacity["starts"])),
    ]


def _starts(capacity: pd.Series[Any]) -> str:
    """Count the cluster starts, and those on which a rate passed that is higher than one that failed."""
    starts, non_monotone = int(capacity["starts"]), int(capacity["non_monotone"])
    return f"{starts} ({non_monotone} not monotone)" if non_monotone else str(starts)


def _bytes(results: Results, case: str) -> int:
    trial = next(trial for trial in results.trial_records.values() if trial.case.name == case)
    return trial.load.message_bytes or 0


def limit(results: Results, case: str) -> str:
    """Name what most often broke the service level in the long holds of a case, or that the client was the limit."""
    trials = results.valid.loc[results.valid["case"] == case, "trial"]
    holds = results.holds[results.holds["trial"].isin(trials)]
    holds = holds[holds["verdict"].isin([HoldVerdict.FAILED, HoldVerdict.CLIENT_LIMITED])]
    long = holds[holds["confirms"].astype(bool)]
    most_late = results.service_level.most_backlog_growth
    factors = Counter(
        _limiting_factor(hold, most_late) for _, hold in (holds if long.empty else long).iterrows()
    )
    return factors.most_common(1)[0][0] if factors else numbers.NOTHING


def _limiting_factor(hold: pd.Series[Any], most_late: float) -> str:
    """Name the limit that a hold broke; `most_late` is the largest share of late copies that the level allows."""
    if hold["verdict"] == HoldVerdict.CLIENT_LIMITED:
        return "the load process"
    due = max(1, int(hold["due"]))
    limits = (
        (hold["failed"] > 0, "failed messages"),
        (hold["late"] / due > LATE_SHARE, "response time"),
        (hold["late_end_to_end"] / due > LATE_SHARE, "end-to-end time"),
        (hold["sent"] < hold["due"], "messages never sent"),
        (hold.get("copies_missing") is True, "copies that did not keep up"),
        ((hold.get("late_copies_share") or 0.0) > most_late, "copies that did not keep up"),
    )
    return next((name for broken, name in limits if broken), "a growing backlog")


def _content(report: ReportInput) -> Capacities | None:
    results, parts = report.results, report.parts
    capacity_tables = tables(results, parts)
    if not capacity_tables:
        return None
    return Capacities(
        tables=capacity_tables,
        service_level=level(results),
        held=_hold_times(results),
        load_latency=load_latency.tables(load_curves(results), parts),
        predictions=predictions.tables(results, parts),
    )


SECTION = Section("capacities", "Capacity", _content)
