"""What drained a node or spread a topic: how long it took, what was copied, how long sends took meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from bench import numbers
from bench.report import sweep
from bench.report.results import Results
from bench.report.sections.delivery import labels
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Row, Table, number_cell, without_empty

_COLUMNS = (
    *(Column("case", "name"), Column("round"), Column("step", "name"), Column("node", "name")),
    *(Column("took"), Column("copied over the network"), Column("send p99 undisturbed")),
    *(Column("send p99 meanwhile"), Column("times as long")),
    *(Column("end to end p99 undisturbed"), Column("end to end p99 meanwhile"), Column("times as long")),
)


def table(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """Return a row a step and trial; None where no step moved messages."""
    named = labels(results, parts)
    rounds = dict(zip(results.trials["trial"], results.trials["round"], strict=True))
    rows = []
    for _, transfer in results.transfers.iterrows():
        trial = int(transfer["trial"])
        rows.append(
            Row(
                (
                    Cell(named[trial]),
                    number_cell(rounds[trial] + 1),
                    Cell(str(transfer["transfer"])),
                    Cell("" if numbers.absent(transfer["nodes"]) else str(transfer["nodes"])),
                    Cell(numbers.duration(transfer["done_ns"])),
                    Cell(numbers.size(transfer["copied_bytes"])),
                    *_times(
                        transfer["send_p99_before_ns"],
                        transfer["send_p99_during_ns"],
                        transfer["send_slowdown"],
                    ),
                    *_times(
                        transfer["e2e_p99_before_ns"], transfer["e2e_p99_during_ns"], transfer["e2e_slowdown"]
                    ),
                )
            )
        )
    title = "What moved stored messages, and what senders saw of it"
    return without_empty(Table(title, _COLUMNS, tuple(rows))) if rows else None


def _times(before_ns: float, during_ns: float, slowdown: float) -> tuple[Cell, Cell, Cell]:
    factor = numbers.NOTHING if numbers.absent(slowdown) else f"{slowdown:.2f}"
    return Cell(numbers.duration(before_ns)), Cell(numbers.duration(during_ns)), Cell(factor)


def _content(report: ReportInput) -> Table | None:
    return table(report.results, report.parts)


SECTION = Section("transfers", "What moved messages", _content)
