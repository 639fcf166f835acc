"""What the readers and consumer groups of steps found: a row a step and trial."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench import numbers
from bench.report import sweep
from bench.report.results import Results
from bench.report.sections.delivery import labels
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Row, Table, number_cell, without_empty

_COLUMNS = (
    *(Column("case", "name"), Column("round"), Column("step", "name"), Column("group", "name")),
    *(Column("at, s"), Column("acknowledged"), Column("found"), Column("missing")),
    *(Column("first missing, s"), Column("last missing, s"), Column("ended by", "text")),
)


def table(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """Return the table; None where no step reads."""
    named = labels(results, parts)
    rounds = dict(zip(results.trials["trial"], results.trials["round"], strict=True))
    rows = []
    for _, reading in results.readings.iterrows():
        trial = int(reading["trial"])
        group, reason = (
            "" if numbers.absent(reading[name]) else str(reading[name]) for name in ("group", "reason")
        )
        rows.append(
            Row(
                (
                    Cell(named[trial]),
                    number_cell(rounds[trial] + 1),
                    Cell(str(reading["reading"])),
                    Cell(group),
                    _seconds(reading["asked_ns"]),
                    number_cell(reading["acked"]),
                    number_cell(reading["found"]),
                    number_cell(reading["missing"], tone="strong"),
                    _seconds(reading["missing_first_ns"]),
                    _seconds(reading["missing_last_ns"]),
                    Cell(reason),
                )
            )
        )
    return without_empty(Table("What readers of steps found", _COLUMNS, tuple(rows))) if rows else None


def _seconds(value_ns: float | None) -> Cell:
    if value_ns is None or pd.isna(value_ns):
        return Cell(numbers.NOTHING, "quiet")
    return Cell(f"{value_ns / 1e9:.1f}")


def _content(report: ReportInput) -> Table | None:
    return table(report.results, report.parts)


SECTION = Section("readings", "What readers found", _content)
