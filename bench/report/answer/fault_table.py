"""The table of a fault's first page: each configuration with its settings, outages, losses and duplicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from bench import numbers
from bench.report import case_groups, sweep
from bench.report.answer import expectation_figures
from bench.report.answer.fault_findings import FaultRun
from bench.report.sections import fault_cells, fault_outcome, fault_settings
from bench.report.sections.fault_outcome import FaultOutcome
from bench.report.table import Cell, Column, Row, Table, heading, without_empty

_MOST, _MOST_WITH_FIGURES = 8, 12
_WRITES, _WRITES_OR_READS = Column("no writes"), Column("no writes or reads")
_COLUMNS = (
    Column("configuration", "name"),
    Column("settings", "values"),
    _WRITES,
    Column("no reads"),
    Column("lost in a trial"),
    Column("duplicated"),
)

Same: TypeAlias = Callable[[FaultOutcome, FaultOutcome], bool]
"""Whether two configurations of a system share a row."""


def table(run: FaultRun, join: Same | None = None) -> Table | None:
    """Return a row a configuration; those of a system that are the same by `join` share one.

    Without it at most eight have rows of their own; of more those with the same outcome share one.

    Where a scenario asks for figures they take the place of the settings, and twelve rows have room.

    Where reads stopped for as long as writes, or nearly so, in all of them, one column spans the times of both.
    """
    reads_like_writes = run.reads_like_writes and all(
        outcome.writes and outcome.reads for outcome in run.case_outcomes
    )
    column_figures = expectation_figures.column_figures(run)
    if join is None and len(run.case_outcomes) > (_MOST_WITH_FIGURES if column_figures else _MOST):
        join = same
    outcomes = run.group_by_system(join) if join else run.outcomes
    rows = [
        row
        for part, part_outcomes in zip(run.parts, outcomes, strict=True)
        for row in _rows(
            run,
            part,
            part_outcomes,
            column_figures,
            reads_like_writes=reads_like_writes,
        )
    ]
    columns = [_WRITES_OR_READS if reads_like_writes and column is _WRITES else column for column in _COLUMNS]
    columns[1:2] = expectation_figures.columns(column_figures) or columns[1:2]
    return without_empty(Table("What the fault did", tuple(columns), tuple(rows))) if rows else None


def same(first: FaultOutcome, second: FaultOutcome) -> bool:
    """Whether two configurations of a system had the same outcome: fate of messages, and about the same outage.

    Where messages are lost or unread, what broke is also within the promise of both, or of neither.
    """
    return fault_outcome.same_fate(first, second) and case_groups.same_outage(first.writes, second.writes)


def _rows(
    run: FaultRun,
    part: sweep.Part,
    outcomes: Sequence[FaultOutcome],
    column_figures: Sequence[expectation_figures.Figures],
    *,
    reads_like_writes: bool,
) -> Iterator[Row]:
    """Give a system's rows below its heading, which has the settings that all of its rows share."""
    outcome_settings = [fault_settings.settings(run.results, part, outcome.cases) for outcome in outcomes]
    common = fault_settings.shared_settings(outcome_settings)
    if outcomes:
        yield heading(
            ": ".join(filter(None, (part.title, fault_settings.words(common)))),
            opens=part is not run.parts[0],
        )
    for outcome, settings in zip(outcomes, outcome_settings, strict=True):
        writes, lost, duplicated = fault_cells.cells(outcome)
        reads = fault_cells.outage_cell(outcome.reads)
        if reads_like_writes and outcome.writes and outcome.reads:
            writes, reads = (
                fault_cells.outage_cell(outcome.writes.merge(outcome.reads)),
                Cell(numbers.NOTHING),
            )
        differing = fault_settings.words(fault_settings.without(settings, common))
        label = Cell(outcome.label or part.title)
        figures = expectation_figures.cells(run, column_figures, outcome) or [
            Cell(differing or numbers.NOTHING)
        ]
        yield Row((label, *figures, writes, reads, lost, duplicated))
