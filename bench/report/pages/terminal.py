"""The results in a terminal, at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from bench import numbers
from bench.report import results, sweep
from bench.report.answer.model import Answer, ExpectationFinding
from bench.report.run_answer import run_answer
from bench.report.sections import delivery, effects, precision, throughput
from bench.report.table import Cell, Column, Table, number_cell

STYLES = {
    "strong": "bold",
    "quiet": "dim",
    "neutral": "cyan",
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
}
_AGAINST = "against the\nbaseline"
_SHOWN = {
    ("throughput, messages/s", "mean"): "mean\nmsgs/s",
    ("throughput, messages/s", "median"): "median\nmsgs/s",
    ("throughput, messages/s", "range"): "range\nmsgs/s",
    ("throughput, messages/s", throughput.INTERVAL): "95 % interval\nmsgs/s",
    ("throughput, messages/s", effects.AGAINST): _AGAINST,
    ("", throughput.MEAN_SERVICE): "mean\nms",
    ("throughput, messages/s", "limited by"): "limited\nby",
    ("service time, ms", "p50"): "service\np50 ms",
    ("service time, ms", "p99"): "service\np99 ms",
    ("end to end, ms", "p99"): "e2e\np99 ms",
} | {
    ("throughput, messages/s", f"{metric.words}, {effects.AGAINST}"): f"{metric.words},\nagainst the baseline"
    for metric in effects.METRICS
}
_IN_PLACE_OF = {
    ("throughput, messages/s", throughput.INTERVAL): ("throughput, messages/s", effects.AGAINST),
    ("throughput, messages/s", "range"): ("throughput, messages/s", effects.AGAINST),
    ("service time, ms", "p50"): ("", throughput.MEAN_SERVICE),
}
"""What a terminal has no room for beside a column that says more about a case."""


def summary(run: Path) -> RenderableType:
    """A run's answer, then every system's cases with throughput, latency, loss and trials.

    Raises ReportError without results.
    """
    run_results = results.read(run)
    parts = sweep.parts(run_results)
    answer = run_answer(run_results)
    statements = [
        Text(statement.text, STYLES[statement.tone]) for statement in delivery.statements(run_results)
    ]
    about = [effects.baselines(run_results, parts), precision.interval(run_results)]
    return Group(
        *_answer(answer),
        *(_table(run_results, part) for part in parts),
        *(Text(words, "dim") for words in about if words),
        Text(),
        *statements,
        *map(_expectation, answer.expectations),
        Text(_plain(precision.undecided_expectations(run_results))),
    )


def _answer(answer: Answer) -> Iterator[Text]:
    """Question, findings, advice and causes; then losses in red, and what changes the conclusion in yellow."""
    yield Text(_plain(answer.question), "dim")
    for number, finding in enumerate(answer.findings):
        yield Text(_plain(finding.text), "bold" if number == 0 else "")
        if finding.detail:
            yield Text(_plain(finding.detail))
    for sentence in answer.advice:
        yield Text(f"What to do: {_plain(sentence)}")
    for cause in answer.causes:
        yield Text(f"{cause.why}: {_plain(' '.join(filter(None, (cause.text, cause.prevention))))}")
    for alarm in answer.alarms:
        yield Text(_plain(alarm), STYLES["bad"])
    for notice in answer.notices:
        yield Text(_plain(notice), STYLES["warn"])
    yield Text(_plain(answer.conditions), "dim")


def _expectation(expectation: ExpectationFinding) -> Text:
    """Write a verdict in its colour, the claim, and how large the effect is."""
    system = f"{expectation.system}: " if expectation.system else ""
    effect = f" ({expectation.effect})" if expectation.effect else ""
    return Text.assemble(
        (f"{expectation.mark} {expectation.verdict}", STYLES.get(expectation.tone, "")),
        f"  {system}{_plain(expectation.claim)}",
        (effect, "dim"),
    )


def _plain(text: str) -> str:
    """Text without the backticks around names."""
    return text.replace("`", "")


def _table(run_results: results.Results, part: sweep.Part) -> RichTable:
    measured = throughput.table(run_results, part)
    column_keys = {(column.group, column.head) for column in measured.columns}
    shown_columns = [
        (place, head)
        for place, column in enumerate(measured.columns)
        if _IN_PLACE_OF.get((column.group, column.head)) not in column_keys and (head := _head(column))
    ]
    drawn = RichTable(
        title=f"\n{part.title}", title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0)
    )
    for place, head in shown_columns:
        drawn.add_column(head, justify="right" if measured.columns[place].kind == "number" else "left")
    drawn.add_column("\nlost", justify="right")
    drawn.add_column("valid\ntrials", justify="right")
    trials = next(place for place, column in enumerate(measured.columns) if column.group == "trials")
    for row, lost in zip(measured.rows, part.cases["lost"], strict=True):
        cells = [row.cells[place] for place, _ in shown_columns]
        drawn.add_row(*map(styled_text, [*cells, number_cell(lost, tone="bad"), row.cells[trials]]))
    return drawn


def _head(column: Column) -> str | None:
    short_head = _SHOWN.get((column.group.split(throughput.CLOCK_ERROR)[0], column.head))
    return short_head if short_head or column.group else "\n".join(sweep.wrap_name(column.head))


def rich_table(table: Table) -> RichTable:
    """Draw a table of the report as it is; its title and group heads are left out."""
    shown = RichTable(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in table.columns:
        shown.add_column(
            "\n".join(column.head.rsplit(" ", 1)),
            justify="right" if column.kind == "number" else "left",
            no_wrap=column.kind != "name",
            overflow="fold",  # cut short, cases that differ in their last setting would look alike
        )
    for row in table.rows:
        cells = zip(table.columns, row.cells, strict=True)
        shown.add_row(*(styled_text(cell, may_wrap=column.kind == "name") for column, cell in cells))
    return shown


def styled_text(cell: Cell, *, may_wrap: bool = False) -> Text:
    """Write a cell in its tone, intervals and "of" without spaces, so that a line holds more, unless it `may_wrap`."""
    tight = cell.text.replace(f" {numbers.NOTHING} ", numbers.NOTHING).replace(" / ", "/")
    return Text(cell.text if may_wrap else tight, STYLES.get(cell.tone, ""), no_wrap=not may_wrap)
