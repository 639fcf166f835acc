"""A run's answer as Markdown, for a pull request or a chat."""

from __future__ import annotations

import re
from pathlib import Path

from bench.report import results, templates
from bench.report.answer.model import Answer
from bench.report.corrections import corrections
from bench.report.results import Results
from bench.report.run_answer import run_answer
from bench.report.table import Table

_ESCAPED = re.compile(r"(?<!\\)([|<>])")


def explain(run: Path) -> str:
    """Return answer, expectations and conditions of a run. Raises ReportError where results are missing or garbled."""
    found = results.read(run)
    return render(run_answer(found), found)


def render(answer: Answer, found: Results) -> str:
    """Return an answer as Markdown; the run's name and corrections come from its results."""
    text = templates.filled(
        "explain.md.j2",
        {
            "answer": answer,
            "corrections": corrections(found.manifest, broken=found.broken).major,
            "table": _table(answer.table) if answer.table else [],
            "run": found.manifest.get("run", found.run.name),
            "versions": found.manifest.get("bench", {}).get("version", ""),
        },
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _table(table: Table) -> list[str]:
    """The lines of a table; a column's group stands before its head, a heading's row is one cell."""
    heads = [" ".join(filter(None, (column.group, column.head))) for column in table.columns]
    rules = ["---:" if column.kind == "number" else "---" for column in table.columns]
    rows = [[cell.text for cell in row.cells] + [""] * (len(heads) - len(row.cells)) for row in table.rows]
    return [_line(heads), _line(rules), *(_line(row) for row in rows)]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(cell: str) -> str:
    return _ESCAPED.sub(r"\\\1", cell)
