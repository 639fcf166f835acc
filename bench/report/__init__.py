"""Reports from a run's results: one HTML file, the same as PDF, and a table for the terminal.

The report reads results/, manifest.json, plan.json and trials/*/trial.json of a run folder, and nothing else.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType

from bench.report import pdf
from bench.report.pages import html, terminal, trials

__all__ = ["terminal_table", "write_html", "write_report"]


def write_report(run: Path) -> tuple[Path, Path]:
    """Write the trials' pages, report.html and report.pdf into the run folder, each whole or not at all.

    Returns the paths of the latter two.

    Raises ReportError where the results are missing or garbled, or the PDF cannot be printed.
    """
    trials.write(run)
    page = write_html(run)
    on_paper = run / "report.pdf"
    hidden = on_paper.with_name(f".{on_paper.name}")
    pdf.write(page.read_text(encoding="utf-8"), hidden)
    hidden.rename(on_paper)
    return page, on_paper


def write_html(run: Path) -> Path:
    """Write report.html, whole or not at all, with links to the trials' pages where there are some.

    Raises ReportError as write_report does.
    """
    path = run / "report.html"
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(html.render(run), encoding="utf-8")
    return hidden.rename(path)


def terminal_table(run: Path) -> RenderableType:
    """Return a run's cases for a rich console. Raises ReportError where results are missing or garbled."""
    return terminal.summary(run)
