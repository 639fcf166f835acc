"""What each acknowledgement promises, what that costs, and what happened where nodes broke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench import numbers
from bench.report import sweep
from bench.report.results import Results
from bench.report.sections import promise_coverage, promise_evidence, resources
from bench.report.sections.promise_coverage import Coverage
from bench.report.sections.section import ReportInput, Section
from bench.report.table import (
    Cell,
    Column,
    Row,
    Table,
    heading,
    lost_cell,
    number_cell,
    setting_cells,
    setting_columns,
    without_empty,
)

_RATE, _TAIL = "throughput_msgs_per_s", "service_p99_ns"


@dataclass(frozen=True, slots=True)
class Guarantees:
    """`evidence` has a table a system with what other runs say to its promises.

    It has none where nothing broke in any of them, and is None for a run that says it itself, or promises nothing.
    """

    is_fault_run: bool
    middle: str
    tables: Sequence[Table]
    evidence: Sequence[Table] | None


def table(results: Results, part: sweep.Part) -> Table:
    """What an acknowledgement promises, and under each promise the configurations that give it.

    With what they cost where nothing broke, and what became of the messages; red is a loss that the promise covers.
    """
    priced = not results.is_fault_run
    columns = (
        *setting_columns(part),
        *(_price_columns(results) if priced else ()),
        Column("acknowledged", "number", "messages"),
        Column("deleted" if results.retention else "lost", "number", "messages"),
        Column("unread", "number", "messages"),
    )
    promised = part.cases["guarantee"].fillna("No promise is stated.")
    rows: list[Row] = []
    for promise in dict.fromkeys(promised):
        rows.append(heading(numbers.sentence(str(promise)), opens=bool(rows)))
        rows += [
            _case_row(results, part, case, priced=priced)
            for _, case in part.cases[promised == promise].iterrows()
        ]
    return without_empty(Table(part.title, columns, tuple(rows), part.system))


def _case_row(results: Results, part: sweep.Part, case: pd.Series[Any], *, priced: bool) -> Row:
    price = (
        Cell(numbers.rate(case[_RATE])),
        resources.limited_by(case),
        Cell(numbers.ms(case[_TAIL])),
    )
    tried = promise_coverage.of_case(results.trial_records.values(), case["case"])
    unread = case.get("unread") or None
    counts = (
        number_cell(case["acked"]),
        lost_cell(case, tone="bad" if tried.coverage is Coverage.WITHIN else "plain"),
        number_cell(unread, tone="warn"),
    )
    return Row((*setting_cells(part, case, None), *(price if priced else ()), *counts))


def _price_columns(results: Results) -> tuple[Column, ...]:
    return (
        Column(results.middle, "number", "messages/s"),
        Column("limited by", "name", "messages/s"),
        Column("p99", "number", "service time, ms"),
    )


def _content(report: ReportInput) -> Guarantees:
    return Guarantees(
        is_fault_run=report.results.is_fault_run,
        middle=report.results.middle,
        tables=[table(report.results, part) for part in report.parts],
        evidence=promise_evidence.tables(report.elsewhere, report.parts) if report.elsewhere else None,
    )


SECTION = Section("guarantees", "Guarantees and their price", _content, broken_title="Guarantees")
