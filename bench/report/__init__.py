"""Reports from a run's results: one HTML file, the same as PDF, and a table for the terminal.

The report reads results/, manifest.json, plan.json and trials/*/trial.json of a run folder, and nothing else.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType

from bench.report import compare, family, html, pdf, terminal

__all__ = ["compare", "family", "terminal_table", "write_report"]


def write_report(run: Path) -> tuple[Path, Path]:
    """Write report.html and report.pdf into the run folder, each whole or not at all; return their paths.

    Raises ReportError where the results are missing or garbled, or the PDF cannot be printed.
    """
    page = html.render(run)
    on_screen, on_paper = run / "report.html", run / "report.pdf"
    hidden_screen, hidden_paper = (path.with_name(f".{path.name}") for path in (on_screen, on_paper))
    hidden_screen.write_text(page, encoding="utf-8")
    hidden_screen.rename(on_screen)
    pdf.write(page, hidden_paper)
    hidden_paper.rename(on_paper)
    return on_screen, on_paper


def terminal_table(run: Path) -> RenderableType:
    """Return a run's cases for a rich console. Raises ReportError where results are missing or garbled."""
    return terminal.summary(run)
