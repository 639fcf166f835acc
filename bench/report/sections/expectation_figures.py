"""Figures that expectations speak of and that no other table has: a row a configuration, a column a figure."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench import numbers
from bench.report import sweep
from bench.report.expectation_figures import ExpectationFigure, expectation_figures, heads
from bench.report.results import Results
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Table, case_table, without_empty


def tables(results: Results, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return a table a system whose expectations speak of such figures: medians over valid trials, and their range."""
    return [table for part in parts if (table := _table(results, part)) is not None]


def _table(results: Results, part: sweep.Part) -> Table | None:
    figures = expectation_figures(results, part.system)
    values = [figure.values(results) for figure in figures]
    cells = [
        [
            cell(figure, by_case.get(str(case["case"]), []))
            for figure, by_case in zip(figures, values, strict=True)
        ]
        for _, case in part.cases.iterrows()
    ]
    columns = [Column(head) for head in heads(figures)]
    table = without_empty(case_table(part, columns, cells)) if columns else None
    return table if table is not None and table.rows else None


def cell(figure: ExpectationFigure, values: Sequence[float]) -> Cell:
    """Write the median of a figure, and its range where trials differ."""
    if not values:
        return Cell(numbers.NOTHING, "quiet")
    ends = (float(pd.Series(values).median()), min(values), max(values))
    middle, low, high = map(figure.metric.written, ends)
    return Cell(middle if low == high else f"{middle} ({low} to {high})", sort=min(values))


def _content(report: ReportInput) -> list[Table] | None:
    return tables(report.results, report.parts) or None


SECTION = Section("expectation-figures", "Other figures", _content)
