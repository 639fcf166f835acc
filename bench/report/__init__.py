"""Reports from a run's results: one HTML file, the same as PDF, the answer for the terminal and as Markdown.

The report reads results/, manifest.json, plan.json and trials/*/trial.json of a run folder, and nothing else.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType

from bench.report import pdf
from bench.report.pages import html, markdown, terminal, trials

__all__ = ["explain", "terminal_summary", "write_report"]


def write_report(run: Path, *, of_trials: bool = True) -> tuple[Path, Path]:
    """Write report.html, report.pdf and a page `of_trials` each into the run folder, each whole or not at all.

    Returns the paths of the first two. report.html leads to the trials' pages where there are some.

    Raises ReportError where the results are missing or garbled, or the PDF cannot be printed.
    """
    if of_trials:
        trials.write(run)
    page = html.render(run)
    on_screen, on_paper = run / ".report.html", run / ".report.pdf"
    on_screen.write_text(page, encoding="utf-8")
    pdf.write(page, on_paper)
    return on_screen.rename(run / "report.html"), on_paper.rename(run / "report.pdf")


def terminal_summary(run: Path) -> RenderableType:
    """Return a run's answer and cases for a rich console. Raises ReportError where results are missing or garbled."""
    return terminal.summary(run)


def explain(run: Path) -> str:
    """Return a run's answer as Markdown. Raises ReportError where results are missing or garbled."""
    return markdown.explain(run)
