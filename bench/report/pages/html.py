"""The report as one HTML file: styles, figures, typeface and a small script inside, nothing from the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bench.report import results, style, sweep, templates
from bench.report.answer.model import Answer
from bench.report.corrections import corrections
from bench.report.figures import Drawing, gallery
from bench.report.pages import front_page
from bench.report.pages.compared_cases import compared_cases
from bench.report.presentation import presentation
from bench.report.run_answer import run_answer
from bench.report.sections import (
    certainty,
    context,
    delivery,
    effective,
    effects,
    expectations,
    faults,
    kept,
    manifest,
    method,
    offending,
    omissions,
    resources,
    same_settings,
    served,
    servers,
    sides,
    tables,
    unserved,
    worth,
)

_OF_EVERY_CASE = frozenset({"throughput", "service", "response", "e2e"})
"""Figures that show every case of a run."""


def render(run: Path) -> str:
    """Render a run's report. Raises ReportError where results or templates are missing or garbled."""
    found = results.read(run)
    parts = sweep.parts(found)
    shown = presentation(run)
    drawings = gallery(found, parts, shown.labels, compared_cases(found, shown))
    return templates.page("report.html.j2", _context(found, parts, drawings, run_answer(found)))


def _context(
    found: results.Results, parts: Sequence[sweep.Part], drawings: Mapping[str, Drawing], answer: Answer
) -> dict[str, Any]:
    elsewhere = kept.elsewhere(found, parts)
    return {
        "run": found.manifest.get("run", found.run.name),
        "manifest": found.manifest,
        "answer": answer,
        "room": front_page.room(answer),
        "corrections": corrections(found.manifest, broken=found.broken),
        "lead": _lead(answer, drawings),
        "context": context.context(found),
        "elsewhere": elsewhere.summary() if elsewhere else "",
        "figures": {name: (drawing, Markup(drawing.svg)) for name, drawing in drawings.items()},  # noqa: S704 - our own SVG
        "looks": {part.system: style.look(part.system) for part in parts},
        "interval": certainty.interval(found),
        "worth": worth.tables(found),
        "effects": effects.tables(found, parts),
        "baselines": effects.baselines(found, parts),
        "matters": f"{effects.smallest(found) * 100:.3g} %",
        "measured": [tables.measured(found, part) for part in parts],
        "trial_pages_command": found.pages_command,
        "taken": [table for part in parts if (table := resources.taken(found, part))],
        "limited": resources.told(found),
        "expectations": (every := expectations.expectations(found)),
        "tally": expectations.tally(every),
        "undecided": certainty.undecided(found),
        "statements": delivery.statements(found),
        "accounts": [delivery.account(found, part) for part in parts],
        "counters": delivery.counters(found),
        "unfinished": delivery.unfinished(found, parts),
        "offending": offending.table(found, parts),
        "errors": delivery.errors(found, parts),
        "listed": offending.LISTED,
        "offences": offending.count(found),
        "broken": found.broken,
        "sliced": found.sliced,
        "over_rounds": certainty.over_rounds(found),
        "unanswered": unserved.some(found),
        "struck": faults.struck(found, parts),
        "steps": faults.by_round(found, parts),
        "evidence": faults.evidence(found),
        "history": served.by_case(found),
        "sides": sides.sides(found, elsewhere),
        "same_settings": same_settings.table(found, parts),
        "new_messages": servers.new_messages(found),
        "kept": None if elsewhere is None else kept.tables(elsewhere, parts),
        "guarantees": [tables.guarantees(found, part) for part in parts],
        "left_out": omissions.left_out(found),
        "not_counted": omissions.not_counted(found, parts),
        "flagged": certainty.flagged(found, parts),
        "flags": certainty.flags(found),
        "never_run": found.never_run,
        "facts": method.facts(found, parts),
        "effective": effective.effective(found, parts),
        "manifest_lines": manifest.lines(found),
        "trials": len(found.trials),
        "valid": len(found.valid),
        "systems": [part.title for part in parts],
    }


def _lead(answer: Answer, drawings: Mapping[str, Drawing]) -> str:
    """Name the figure of the first page: exactly what the answer compares, where that is not drawn over something."""
    return "answer" if "answer" in drawings and answer.figure in _OF_EVERY_CASE else answer.figure
