"""The results in a terminal, at the end of a run."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from bench import numbers
from bench.report import results, sweep
from bench.report.sections import certainty, delivery, tables
from bench.report.table import Cell, Column, number_cell

STYLES = {"strong": "bold", "quiet": "dim", "good": "green", "warn": "yellow", "bad": "bold red"}
_SHOWN = {
    ("throughput, messages/s", "median"): "median\nmsgs/s",
    ("throughput, messages/s", "range"): "range\nmsgs/s",
    ("throughput, messages/s", tables.INTERVAL): "95 % interval\nmsgs/s",
    ("throughput, messages/s", "limited by"): "limited\nby",
    ("service time, ms", "p50"): "service\np50 ms",
    ("service time, ms", "p99"): "service\np99 ms",
    ("end to end, ms", "p99"): "e2e\np99 ms",
}


def summary(run: Path) -> RenderableType:
    """Every system's cases with throughput, latency, loss and trials. Raises ReportError without results."""
    found = results.read(run)
    drawn = [_table(found, part) for part in sweep.parts(found)]
    said = [Text(statement.text, STYLES[statement.tone]) for statement in delivery.statements(found)]
    return Group(*drawn, Text(), *said, Text(certainty.interval(found), "dim"))


def _table(found: results.Results, part: sweep.Part) -> RichTable:
    measured = tables.measured(found, part)
    chosen = [(place, head) for place, column in enumerate(measured.columns) if (head := _head(column))]
    drawn = RichTable(
        title=f"\n{part.title}", title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0)
    )
    for place, head in chosen:
        drawn.add_column(head, justify="right" if measured.columns[place].kind == "number" else "left")
    drawn.add_column("\nlost", justify="right")
    drawn.add_column("valid\ntrials", justify="right")
    trials = next(place for place, column in enumerate(measured.columns) if column.group == "trials")
    for row, lost in zip(measured.rows, part.cases["lost"], strict=True):
        cells = [row.cells[place] for place, _ in chosen]
        drawn.add_row(*map(styled, [*cells, number_cell(lost, tone="bad"), row.cells[trials]]))
    return drawn


def _head(column: Column) -> str | None:
    if not column.group:
        return "\n".join(sweep.wrapped(column.head))
    return _SHOWN.get((column.group, column.head))


def styled(cell: Cell, *, whole: bool = False) -> Text:
    """Write a cell in its tone, intervals and "of" without spaces, so that a line holds more; `whole` ones may wrap."""
    tight = cell.text.replace(f" {numbers.NOTHING} ", numbers.NOTHING).replace(" / ", "/")
    return Text(cell.text if whole else tight, STYLES.get(cell.tone, ""), no_wrap=not whole)
