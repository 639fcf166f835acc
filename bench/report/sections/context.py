"""What to know before using a run's numbers: machine and load in short, and what was odd about trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench import numbers
from bench.model import EMULATED_FSYNC
from bench.report import other_runs
from bench.report.cause import Cause
from bench.report.results import Results
from bench.report.sections import (
    delivery,
    machine_speed,
    method,
    precision,
    promise_coverage,
    resources,
    sends_without_latency,
    servers,
)
from bench.report.sections.section import ReportInput, Section

_QUICK = "Profile `quick`: too short for decisions, good for trying things out."
_QUICK_IN_SLICES = (
    "Profile `quick` decides large effects only: what is undecided here takes profile `standard`."
)


@dataclass(frozen=True, slots=True)
class Context:
    """`limits` say what the rates mean, `warnings` what was odd about trials, `conditions` are short.

    `undecided` counts the expectations that are, `elsewhere` is what other runs say to the promises: empty for nothing.
    """

    limits: Sequence[str]
    warnings: Sequence[str]
    undecided: str
    elsewhere: str
    causes: Sequence[Cause]
    conditions: Sequence[str]


def _conditions(results: Results) -> tuple[str, ...]:
    cost = results.manifest.get("fsync_ns") or {}
    synced = f"one fsync takes {numbers.duration(cost.get('p50'))} (p99 {numbers.duration(cost.get('p99'))})"
    changes = other_runs.changes(results.manifest)
    conditions = (
        f"changed on the command line: {changes}" if changes else "",
        f"one machine, {method.cores(results)} {method.machine_sharing(results)}",
        f"{synced}{_gate(results)}" if cost.get("p50") else "the fsync latency was not measured",
        method.pacing(results),
        servers.memory(results),
        *([servers.patience(results), servers.duplicates_remark(results)] if results.is_fault_run else []),
        precision.spans(results) if results.is_fault_run else precision.interval(results).rstrip("."),
    )
    return tuple(condition for condition in conditions if condition)


def _gate(results: Results) -> str:
    """Say, where fsyncs are emulated, what one takes on the unmodified disk, behind what emulates longer ones."""
    if not results.plan_sweeps(EMULATED_FSYNC):
        return ""
    gated = method.gated_fsync(results)
    return (
        f", unmodified {gated} behind the gate that emulates longer ones"
        if gated
        else "; longer ones are emulated"
    )


def warnings(results: Results) -> list[str]:
    """Return what was odd about the trials of a run."""
    invalid_count = len(results.trials) - len(results.valid)
    sentences = [statement.text for statement in delivery.statements(results) if statement.tone == "bad"]
    if invalid_count:
        sentences.append(
            f"{invalid_count} of {numbers.plural(len(results.trials), 'trial')} "
            f"{'does' if invalid_count == 1 else 'do'} not count; see what was left out."
        )
    if missing := results.never_run:
        sentences.append(f"The run was cut short: {numbers.plural(missing, 'planned trial')} never ran.")
    if busy_warning := resources.busy(results):
        sentences.append(busy_warning)
    if flagged := precision.flag_counts(results):
        sentences.append(flagged)
    sentences += machine_speed.apart(results)
    optional = (
        promise_coverage.unlike(results) if results.has_strikes else None,
        sends_without_latency.warning(results),
        method.cold(results),
        machine_speed.unsteady(results),
        method.other_work_warning(results),
    )
    sentences += [warning for warning in optional if warning]
    if other_runs.is_quick(results.manifest):
        sentences.append(_QUICK_IN_SLICES if results.has_slices else _QUICK)
    return sentences


def _content(report: ReportInput) -> Context:
    results = report.results
    return Context(
        limits=list(resources.limits(results)),
        warnings=warnings(results),
        undecided=precision.undecided_expectations(results),
        elsewhere=report.elsewhere.summary() if report.elsewhere else "",
        causes=report.causes,
        conditions=_conditions(results),
    )


SECTION = Section("context", "Before you use these numbers", _content)
