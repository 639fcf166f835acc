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
    run_results = results.read(run)
    parts = sweep.parts(run_results)
    shown = presentation(run)
    drawings = gallery(run_results, parts, shown.labels, compared_cases(run_results, shown))
    front = front_page.context(run_results, parts, drawings, run_answer(run_results))
    room, _ = front_page.fitting(front)
    return templates.page("report.html.j2", _behind(run_results, parts) | front | {"room": room})


def _behind(run_results: results.Results, parts: Sequence[sweep.Part]) -> dict[str, Any]:
    """Return what stands behind the first page."""
    elsewhere = promise_evidence.elsewhere(run_results, parts)
    return {
        "context": context.context(run_results),
        "elsewhere": elsewhere.summary() if elsewhere else "",
        "interval": precision.interval(run_results),
        "middle": run_results.middle,
        "worth": fault_summary.tables(run_results),
        "capacities": capacities.tables(run_results, parts),
        "load_latency": load_latency.tables(load_curves(run_results), parts),
        "predictions": predictions.tables(run_results, parts),
        "service_level": capacities.level(run_results),
        "claimed": expected_figures.tables(run_results, parts),
        "costs": costs.tables(run_results),
        "effects": effects.tables(run_results, parts),
        "baselines": effects.baselines(run_results, parts),
        "matters": f"{effects.smallest(run_results) * 100:.3g} %",
        "measured": [tables.measured(run_results, part) for part in parts],
        "trial_pages_command": run_results.pages_command,
        "taken": [table for part in parts if (table := resources.usage_table(run_results, part))],
        "limited": resources.limit_sentence(run_results),
        "expectations": (run_expectations := expectations.expectations(run_results)),
        "tally": expectations.tally(run_expectations),
        "undecided": precision.undecided(run_results),
        "readings": readings.table(run_results, parts),
        "transfers": transfers.table(run_results, parts),
        "retention": run_results.retention,
        "statements": delivery.statements(run_results),
        "accounts": [delivery.account(run_results, part) for part in parts],
        "consumers": delivery.consumers(run_results, parts),
        "counters": delivery.counters(run_results),
        "unfinished": delivery.unfinished(run_results, parts),
        "offending": offending_messages.table(run_results, parts),
        "errors": delivery.errors(run_results, parts),
        "listed": offending_messages.LISTED,
        "offences": offending_messages.count(run_results),
        "sliced": run_results.sliced,
        "over_rounds": run_results.over_rounds,
        "unanswered": sends_without_latency.some(run_results),
        "struck": faults.struck(run_results, parts),
        "steps": faults.by_round(run_results, parts),
        "evidence": faults.evidence(run_results),
        "history": served.by_case(run_results),
        "sides": system_comparison.sides(run_results, elsewhere),
        "same_settings": same_settings.table(run_results, parts),
        "delivery_remark": servers.delivery_remark(run_results),
        "kept": None if elsewhere is None else promise_evidence.tables(elsewhere, parts),
        "guarantees": [tables.guarantees(run_results, part) for part in parts],
        "left_out": left_out_points.left_out(run_results),
        "not_counted": left_out_points.not_counted(run_results, parts),
        "flagged": precision.flagged(run_results, parts),
        "flags": precision.flags(run_results),
        "never_run": run_results.never_run,
        "facts": method.facts(run_results, parts),
        "effective": effective.effective(run_results, parts),
        "manifest_lines": manifest.lines(run_results),
        "trials": len(run_results.trials),
        "valid": len(run_results.valid),
    }
