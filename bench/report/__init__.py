"""Reports from a run's results: one HTML file, the same as PDF, the answer for the terminal and as Markdown.

The report reads results/, manifest.json, plan.json and trials/*/trial.json of a run folder, and nothing else.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from rich.console import RenderableType

from bench import durable_files
from bench.report import pdf
from bench.report.pages import html, markdown, terminal, trials
from bench.report.results import PAGES

__all__ = ["explain", "terminal_summary", "write_report"]


def write_report(run: Path, *, trial_pages: bool = False) -> tuple[Path, Path]:
    """Write report.html and report.pdf into the run folder, each whole or not at all, and return their paths.

    With `trial_pages` it also writes a page for each trial, to which report.html links; without, it removes earlier
    ones, which show earlier results.

    Raises ReportError where the results are missing or garbled, or the PDF cannot be printed.
    """
    if trial_pages:
        trials.write(run)
    else:
        shutil.rmtree(run / PAGES, ignore_errors=True)
    page = html.render(run)
    on_screen, on_paper = run / "report.html", run / "report.pdf"
    with (
        durable_files.replace_file(on_screen) as new_screen,
        durable_files.replace_file(on_paper) as new_paper,
    ):
        new_screen.write_text(page, encoding="utf-8")
        pdf.write(page, new_paper)
    return on_screen, on_paper


def terminal_summary(run: Path) -> RenderableType:
    """Return a run's answer and cases for a rich console. Raises ReportError where results are missing or garbled."""
    return terminal.summary(run)


def explain(run: Path) -> str:
    """Return a run's answer as Markdown. Raises ReportError where results are missing or garbled."""
    return markdown.explain(run)
