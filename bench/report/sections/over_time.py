"""Throughput and resources over the time of a trial; in a run of retention, bytes on disk, of each server, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import pandas as pd

from bench.model import NANOS
from bench.report import sweep
from bench.report.figures import disk_usage
from bench.report.message_retention import bytes_text
from bench.report.results import Results
from bench.report.sections.delivery import labels
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Row, Table

_TIMES = 5
"""A table says what each server has at so many times at most, of a whole number of 10 s."""
_STEP_S = 10


@dataclass(frozen=True, slots=True)
class OverTime:
    """`drawn` names figures of throughput; in a run of `retention` what is stored is drawn instead.

    `by_server` has the bytes on each server's disk.
    """

    drawn: Sequence[str]
    retention: bool
    by_server: Table | None


def by_server(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """Return a row a server and case, of the case's trial of median size; None where nobody looked at disks."""
    courses = list(_courses(results, parts))
    if not courses:
        return None
    end_s = max(float(values.index.max()) for _, _, values in courses)
    step_s = _STEP_S * ceil(end_s / _TIMES / _STEP_S)
    times_s = range(step_s, int(end_s) + 1, step_s)
    columns = (
        Column("case", "name"),
        Column("server", "name"),
        *(Column(f"at {at_s} s") for at_s in times_s),
        Column("most"),
    )
    rows: list[Row] = []
    previous_case = ""
    for case, node, values in courses:
        at_times = [bytes_text(values[values.index <= at_s].iloc[-1:].max()) for at_s in times_s]
        cells = (Cell(case), Cell(node), *map(Cell, at_times), Cell(bytes_text(float(values.max()))))
        rows.append(Row(cells, opens=bool(rows) and case != previous_case))
        previous_case = case
    return Table("Bytes on the disk of each server", columns, tuple(rows))


def _courses(results: Results, parts: Sequence[sweep.Part]) -> Iterator[tuple[str, str, pd.Series[float]]]:
    """Give a case's name, a server's, and its bytes by seconds since the first send."""
    names = labels(results, parts)
    telemetry = results.telemetry[results.telemetry["metric"] == disk_usage.METRIC]
    for part in parts:
        for case in map(str, part.cases[part.cases["rounds"] > 0]["case"]):
            trial = disk_usage.shown_trial(results, case)
            if trial is None:
                continue
            samples = telemetry[telemetry["trial"] == trial].sort_values("at_ns")
            for node, of_node in samples.groupby("node"):
                yield names[trial], str(node), of_node.set_index(of_node["at_ns"] / NANOS)["value"]


def _content(report: ReportInput) -> OverTime:
    retention = report.results.retention
    return OverTime(
        report.available_drawings("course", "timeline"),
        retention,
        by_server(report.results, report.parts) if retention else None,
    )


SECTION = Section("over-time", "Over time", _content)
