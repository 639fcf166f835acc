"""Figures that expectations speak of and that no other table has: a row a configuration, a column a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from bench import numbers
from bench.report import sweep
from bench.report.results import Results
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Table, case_table, without_empty


class Figure(NamedTuple):
    """What a figure is called, and how a value is written."""

    words: str
    written: Callable[[float], str]


def _times(value: float) -> str:
    return f"{value:.2f}"


_OF_TRIALS: Mapping[str, Figure] = {
    "create_ns": Figure("creation", numbers.duration),
    "servers_rss_bytes": Figure("servers' memory", numbers.size),
    "servers_open_files": Figure("open files", numbers.count),
    "messages_per_request": Figure("messages a request", _times),
    "broker_spread": Figure("farthest broker from the mean", numbers.percent),
    "moves": Figure("moves of partitions", numbers.count),
    "consumed_msgs_per_s": Figure("consumed, messages/s", numbers.rate),
    "redelivered": Figure("received again", numbers.count),
    "idle_members": Figure("members without messages", numbers.count),
    "key_order_violations": Figure("out of their key's order", numbers.count),
    "members_per_key": Figure("members that had a key", _times),
    "member_imbalance": Figure("busiest member over the mean", _times),
}
_OF_FAULTS: Mapping[str, Figure] = {
    "others_gap_ns": Figure("partitions of other nodes: no ack", numbers.duration),
    "first_acked_ns": Figure("until all partitions had an ack", numbers.duration),
    "share_ns": Figure("until the node took its part", numbers.duration),
    "copied_bytes": Figure("copied to the node", numbers.size),
    "live_gap_ns": Figure("a partition was not read for", numbers.duration),
    "first_message_ns": Figure("until the member had a message", numbers.duration),
    "p99_before_ns": Figure("send p99 before", numbers.duration),
    "p99_away_ns": Figure("send p99, node away", numbers.duration),
    "p99_recovery_ns": Figure("send p99, node catching up", numbers.duration),
}
_OF_READINGS: Mapping[str, Figure] = {
    "send_p99_before_ns": Figure("send p99 before", numbers.duration),
    "send_p99_during_ns": Figure("send p99 while it read", numbers.duration),
    "send_slowdown": Figure("times as long", _times),
    "e2e_p99_before_ns": Figure("end to end p99 before", numbers.duration),
    "e2e_p99_during_ns": Figure("end to end p99 while it read", numbers.duration),
    "e2e_slowdown": Figure("times as long, end to end", _times),
    "disk_read_bytes": Figure("read from disk meanwhile", numbers.size),
}


def tables(results: Results, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return a table a system whose expectations speak of such figures: medians over valid trials, and their range."""
    return [table for part in parts if (table := _table(results, part)) is not None]


def _table(results: Results, part: sweep.Part) -> Table | None:
    expectations = [
        expectation
        for expectation in results.manifest.get("expectations") or ()
        if expectation.get("system") == part.system
    ]
    columns, values = [], []
    for figures, frame, key in (
        (_OF_TRIALS, results.valid, ""),
        (_OF_FAULTS, results.faults, "fault"),
        (_OF_READINGS, results.readings, "reading"),
    ):
        for name, figure in figures.items():
            if any(_speaks(expectation, name, key) for expectation in expectations) and name in frame:
                columns.append(Column(figure.words))
                values.append((figure, _by_case(results, frame, name)))
    cells = [
        [_cell(figure, by_case.get(str(case["case"]), [])) for figure, by_case in values]
        for _, case in part.cases.iterrows()
    ]
    table = without_empty(case_table(part, columns, cells)) if columns else None
    return table if table is not None and table.rows else None


def _speaks(expectation: Mapping[str, object], name: str, key: str) -> bool:
    """Whether an expectation speaks of a figure; of a reading's times all stand together."""
    if key and not expectation.get(key):
        return False
    metric = str(expectation.get("metric"))
    return metric == name or (name in _OF_READINGS and metric in _OF_READINGS)


def _by_case(results: Results, frame: pd.DataFrame, name: str) -> dict[str, list[float]]:
    cases = dict(zip(results.valid["trial"], results.valid["case"], strict=True))
    values_by_case: dict[str, list[float]] = {}
    for trial, value in zip(frame["trial"], frame[name], strict=True):
        if trial in cases and not numbers.absent(value):
            values_by_case.setdefault(str(cases[trial]), []).append(float(value))
    return values_by_case


def _cell(figure: Figure, values: Sequence[float]) -> Cell:
    if not values:
        return Cell(numbers.NOTHING, "quiet")
    ends = (float(pd.Series(values).median()), min(values), max(values))
    middle, low, high = map(figure.written, ends)
    return Cell(middle if low == high else f"{middle} ({low} to {high})", sort=min(values))


def _content(report: ReportInput) -> list[Table] | None:
    return tables(report.results, report.parts) or None


SECTION = Section("claimed", "Other figures", _content)
