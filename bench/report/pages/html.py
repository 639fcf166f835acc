"""The report as one HTML file: styles, figures, typeface and a small script inside, nothing from the network."""

from __future__ import annotations

from pathlib import Path

from bench.report import results, sweep, templates
from bench.report.figures import gallery
from bench.report.pages import front_page
from bench.report.pages.compared_cases import compared_cases
from bench.report.presentation import presentation
from bench.report.run_answer import run_answer
from bench.report.sections.contents import contents
from bench.report.sections.promise_evidence import elsewhere
from bench.report.sections.section import ReportInput


def render(run: Path) -> str:
    """Render a run's report. Raises ReportError where results or templates are missing or garbled."""
    run_results = results.read(run)
    parts = sweep.parts(run_results)
    shown = presentation(run)
    drawings = gallery(run_results, parts, shown.labels, compared_cases(run_results, shown))
    answer = run_answer(run_results)
    front = front_page.first_page(run_results, parts, drawings, answer)
    room, _ = front_page.fit_to_sheet(front)
    report = ReportInput(
        results=run_results,
        parts=parts,
        drawings=drawings,
        elsewhere=elsewhere(run_results, parts),
        causes=answer.causes,
        whole_table=room.whole_table,
        compared=answer.compared,
    )
    page = {
        "room": room,
        "sections": contents(report),
        "bench_version": run_results.manifest.get("bench", {}).get("version", ""),
    }
    return templates.page("report.html.j2", templates.fields(front) | page)
