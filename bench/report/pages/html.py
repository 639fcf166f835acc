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
    certainty,
    claimed,
    context,
    costs,
    delivery,
    effective,
    effects,
    expectations,
    faults,
    kept,
    load_latency,
    manifest,
    method,
    offending,
    omissions,
    predictions,
    readings,
    resources,
    same_settings,
    served,
    servers,
    sides,
    tables,
    transfers,
    unserved,
    worth,
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
    elsewhere = kept.elsewhere(found, parts)
    return {
        "context": context.context(found),
        "elsewhere": elsewhere.summary() if elsewhere else "",
        "interval": certainty.interval(found),
        "middle": found.middle,
        "worth": worth.tables(found),
        "capacities": capacities.tables(found, parts),
        "load_latency": load_latency.tables(load_curves(found), parts),
        "predictions": predictions.tables(found, parts),
        "service_level": capacities.level(found),
        "claimed": claimed.tables(found, parts),
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
        "undecided": certainty.undecided(found),
        "readings": readings.table(found, parts),
        "transfers": transfers.table(found, parts),
        "retention": found.retention,
        "statements": delivery.statements(found),
        "accounts": [delivery.account(found, part) for part in parts],
        "consumers": delivery.consumers(found, parts),
        "counters": delivery.counters(found),
        "unfinished": delivery.unfinished(found, parts),
        "offending": offending.table(found, parts),
        "errors": delivery.errors(found, parts),
        "listed": offending.LISTED,
        "offences": offending.count(found),
        "sliced": found.sliced,
        "over_rounds": found.over_rounds,
        "unanswered": unserved.some(found),
        "struck": faults.struck(found, parts),
        "steps": faults.by_round(found, parts),
        "evidence": faults.evidence(found),
        "history": served.by_case(found),
        "sides": sides.sides(found, elsewhere),
        "same_settings": same_settings.table(found, parts),
        "delivery_remark": servers.delivery_remark(found),
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
    }
