"""What to know before using a run's numbers: machine and load in short, and what was odd about trials."""

from __future__ import annotations

from dataclasses import dataclass

from bench import numbers
from bench.model import EMULATED_FSYNC
from bench.report import other_runs
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

_QUICK = "Profile `quick`: too short for decisions, good for trying things out."
_QUICK_IN_SLICES = (
    "Profile `quick` decides large effects only: what is undecided here takes profile `standard`."
)


@dataclass(frozen=True, slots=True)
class Context:
    """`limits` say what the rates mean, `warnings` what was odd about trials, `conditions` are short."""

    limits: tuple[str, ...]
    warnings: tuple[str, ...]
    conditions: tuple[str, ...]


def context(results: Results) -> Context:
    """Return everything to know before using the numbers of a run."""
    return Context(tuple(resources.limits(results)), _warnings(results), _conditions(results))


def _conditions(results: Results) -> tuple[str, ...]:
    cost = results.manifest.get("fsync_ns") or {}
    synced = f"one fsync takes {numbers.duration(cost.get('p50'))} (p99 {numbers.duration(cost.get('p99'))})"
    changes = other_runs.changes(results.manifest)
    conditions = (
        f"changed on the command line: {changes}" if changes else "",
        f"one machine, {method.cores(results)} {method.sharing(results)}",
        f"{synced}{_gate(results)}" if cost.get("p50") else "the fsync latency was not measured",
        method.pacing(results),
        servers.memory(results),
        *([servers.patience(results), servers.duplicates_remark(results)] if results.broken else []),
        precision.spans(results) if results.broken else precision.interval(results).rstrip("."),
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


def _warnings(results: Results) -> tuple[str, ...]:
    invalid_count = len(results.trials) - len(results.valid)
    warnings = [statement.text for statement in delivery.statements(results) if statement.tone == "bad"]
    if invalid_count:
        warnings.append(
            f"{invalid_count} of {numbers.plural(len(results.trials), 'trial')} do not count; see what was left out."
        )
    if missing := results.never_run:
        warnings.append(f"The run was cut short: {numbers.plural(missing, 'planned trial')} never ran.")
    if busy_warning := resources.busy(results):
        warnings.append(busy_warning)
    if flagged := precision.flag_counts(results):
        warnings.append(flagged)
    warnings += machine_speed.apart(results)
    optional = (
        promise_coverage.unlike(results) if results.struck else None,
        sends_without_latency.warning(results),
        method.cold(results),
        machine_speed.unsteady(results),
        method.crowding(results),
    )
    warnings += [warning for warning in optional if warning]
    if other_runs.is_quick(results.manifest):
        warnings.append(_QUICK_IN_SLICES if results.sliced else _QUICK)
    return tuple(warnings)
