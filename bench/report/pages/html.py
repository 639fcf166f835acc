"""The report as one HTML file: styles, figures, typeface and a small script inside, nothing from the network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.report import results, sweep, templates
from bench.report.figures import gallery
from bench.report.load_curves import load_curves
from bench.report.pages import front_page
from bench.report.pages.compared_cases import compared_cases
from bench.report.presentation import presentation
from bench.report.run_answer import run_answer
from bench.report.sections import (
    capacities,
    context,
    costs,
    delivery,
    effective,
    effects,
    expectations,
    expected_figures,
    fault_summary,
    faults,
    left_out_points,
    load_latency,
    manifest,
    method,
    offending_messages,
    precision,
    predictions,
    promise_evidence,
    readings,
    resources,
    same_settings,
    sends_without_latency,
    served,
    servers,
    system_comparison,
    tables,
    transfers,
)


def render(run: Path) -> str:
    """Render a run's report. Raises ReportError where results or templates are missing or garbled."""
    found = results.read(run)
    parts = sweep.parts(found)
    shown = presentation(run)
    drawings = gallery(found, parts, shown.labels, compared_cases(found, shown))
    front = front_page.context(found, parts, drawings, run_answer(found))
    room, _ = front_page.fitting(front)
    return templates.page("report.html.j2", _behind(found, parts) | front | {"room": room})


def _behind(found: results.Results, parts: Sequence[sweep.Part]) -> dict[str, Any]:
    """Return what stands behind the first page."""
    elsewhere = promise_evidence.elsewhere(found, parts)
    return {
        "context": context.context(found),
        "elsewhere": elsewhere.summary() if elsewhere else "",
        "interval": precision.interval(found),
        "middle": found.middle,
        "worth": fault_summary.tables(found),
        "capacities": capacities.tables(found, parts),
        "load_latency": load_latency.tables(load_curves(found), parts),
        "predictions": predictions.tables(found, parts),
        "service_level": capacities.level(found),
        "claimed": expected_figures.tables(found, parts),
        "costs": costs.tables(found),
        "effects": effects.tables(found, parts),
        "baselines": effects.baselines(found, parts),
        "matters": f"{effects.smallest(found) * 100:.3g} %",
        "measured": [tables.measured(found, part) for part in parts],
        "trial_pages_command": found.pages_command,
        "taken": [table for part in parts if (table := resources.taken(found, part))],
        "limited": resources.told(found),
        "expectations": (every := expectations.expectations(found)),
        "tally": expectations.tally(every),
        "undecided": precision.undecided(found),
        "readings": readings.table(found, parts),
        "transfers": transfers.table(found, parts),
        "retention": found.retention,
        "statements": delivery.statements(found),
        "accounts": [delivery.account(found, part) for part in parts],
        "consumers": delivery.consumers(found, parts),
        "counters": delivery.counters(found),
        "unfinished": delivery.unfinished(found, parts),
        "offending": offending_messages.table(found, parts),
        "errors": delivery.errors(found, parts),
        "listed": offending_messages.LISTED,
        "offences": offending_messages.count(found),
        "sliced": found.sliced,
        "over_rounds": found.over_rounds,
        "unanswered": sends_without_latency.some(found),
        "struck": faults.struck(found, parts),
        "steps": faults.by_round(found, parts),
        "evidence": faults.evidence(found),
        "history": served.by_case(found),
        "sides": system_comparison.sides(found, elsewhere),
        "same_settings": same_settings.table(found, parts),
        "delivery_remark": servers.delivery_remark(found),
        "kept": None if elsewhere is None else promise_evidence.tables(elsewhere, parts),
        "guarantees": [tables.guarantees(found, part) for part in parts],
        "left_out": left_out_points.left_out(found),
        "not_counted": left_out_points.not_counted(found, parts),
        "flagged": precision.flagged(found, parts),
        "flags": precision.flags(found),
        "never_run": found.never_run,
        "facts": method.facts(found, parts),
        "effective": effective.effective(found, parts),
        "manifest_lines": manifest.lines(found),
        "trials": len(found.trials),
        "valid": len(found.valid),
    }
