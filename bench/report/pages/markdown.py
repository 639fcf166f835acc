"""A run's answer as Markdown, for a pull request or a chat."""

from __future__ import annotations

import re
from pathlib import Path

from bench.report import results, templates
from bench.report.answer.model import Answer
from bench.report.corrections import corrections
from bench.report.results import Results
from bench.report.run_answer import run_answer
from bench.report.table import Row, Table

_ESCAPED = re.compile(r"(?<!\\)([|<>])")


def explain(run: Path) -> str:
    """Return answer, expectations and conditions of a run. Raises ReportError where results are missing or garbled."""
    run_results = results.read(run)
    return render(run_answer(run_results), run_results)


def render(answer: Answer, run_results: Results) -> str:
    """Return an answer as Markdown; the run's name and corrections come from its results."""
    text = templates.render(
        "explain.md.j2",
        {
            "answer": answer,
            "corrections": corrections(run_results.manifest, is_fault_run=run_results.is_fault_run).major,
            "table": _table(answer.table) if answer.table else [],
            "run": run_results.manifest.get("run", run_results.run.name),
            "version": run_results.manifest.get("bench", {}).get("version", ""),
        },
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _table(table: Table) -> list[str]:
    """The lines of a table; a column's group stands before its head, a heading is bold, in the first cell."""
    heads = [" ".join(filter(None, (column.group, column.head))) for column in table.columns]
    rules = ["---:" if column.kind == "number" else "---" for column in table.columns]
    return [_line(heads), _line(rules), *(_line(_row(row, len(heads))) for row in table.rows)]


def _row(row: Row, width: int) -> list[str]:
    cells = [f"**{cell.text}**" if row.heading and cell.text else cell.text for cell in row.cells]
    return cells + [""] * (width - len(cells))


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(map(_escape, cells))} |"


def _escape(cell: str) -> str:
    return _ESCAPED.sub(r"\\\1", cell)
