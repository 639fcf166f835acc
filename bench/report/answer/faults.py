"""The answer of a run in which something broke: how long nobody could write or read, and what was lost."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report.answer import expectation_figures, outage_changes
from bench.report.answer.conditions import conditions
from bench.report.answer.expectation_findings import expectation_findings
from bench.report.answer.fault_findings import MOST_FINDINGS, FaultRun, fault_run, findings
from bench.report.answer.fault_notices import alarms, notices
from bench.report.answer.fault_table import same, table
from bench.report.answer.glossary import glossary
from bench.report.answer.model import Answer, Finding
from bench.report.answer.reserve import reserve
from bench.report.cause import Cause
from bench.report.figures.expectation_values import NAME, drawn_figure
from bench.report.presentation import DeclaredCause, Presentation
from bench.report.results import Results
from bench.report.sections import fault_outcome
from bench.report.table import Table
from bench.systems.registry import system_title

_MOST_CAUSES = 3
_MANY_STRIKES = 5
"""From so many faults in a trial on the figure of their total outage shows the answer, not one of seconds."""


def answer(results: Results, presentation: Presentation) -> Answer:
    """Return the answer of a run in which something broke on purpose. Raises ReportError."""
    run = fault_run(results, presentation.labels)
    manifest = results.manifest
    changes = outage_changes.findings(run, presentation.comparisons)
    shown, run_findings = table(run), _findings(run, changes)
    joined = table(run, fault_outcome.same_fate if changes else same)  # the figure of changes has their times
    amber, red = notices(run, presentation.note), tuple(alarms(run))
    causes = tuple(agreeing_causes(results, presentation))
    texts = [*(finding.full_text for finding in run_findings), *amber, *red, *_texts(shown)]
    texts += [f"{cause.text} {cause.prevention}" for cause in causes]
    return Answer(
        title=presentation.title or str(manifest.get("title") or results.run.name),
        question=presentation.question or str(manifest.get("question") or ""),
        findings=run_findings,
        conditions=conditions(results, run.unlost),
        causes=causes,
        table=shown,
        leading=joined if shown and joined and len(joined.rows) < len(shown.rows) else None,
        glossary=glossary(" ".join(texts)),
        notices=amber,
        alarms=red,
        expectations=expectation_findings(results, presentation.claims),
        figure="answer" if changes else _figure(run),
    )


def _findings(run: FaultRun, changes: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings; a reserve and what the scenario asks for go first, except before a loss."""
    fault_findings, figures = findings(run, changes), (*expectation_figures.findings(run), *reserve(run))
    lost = any(outcome.most_lost_messages for outcome in run.case_outcomes)
    ordered = (*fault_findings, *figures) if lost else (*figures, *fault_findings)
    return ordered[:MOST_FINDINGS]


def agreeing_causes(results: Results, presentation: Presentation) -> list[Cause]:
    """Return the declared causes with which all valid trials of their cases agree, each once, at most three."""
    agreeing: dict[str, list[DeclaredCause]] = {}
    for cause in presentation.causes:
        if cause.agrees(results.trials):
            agreeing.setdefault(cause.cause, []).append(cause)
    causes = [
        Cause(
            words,
            same_causes[0].prevention,
            same_causes[0].source,
            " and ".join(dict.fromkeys(system_title(c.system) for c in same_causes)),
        )
        for words, same_causes in agreeing.items()
    ]
    return causes[:_MOST_CAUSES]


def _figure(run: FaultRun) -> str:
    """Name the figure of the first page."""
    if drawn_figure(run.results) is not None:
        return NAME
    return "downtime" if _strikes_often(run) else "timeline"


def _strikes_often(run: FaultRun) -> bool:
    outages = [outcome.writes for outcome in run.case_outcomes if outcome.writes]
    return any(len(outage.strikes_ns) >= _MANY_STRIKES * len(outage.times_ns) for outage in outages)


def _texts(shown: Table | None) -> Sequence[str]:
    return [cell.text for row in shown.rows for cell in row.cells] if shown else []
