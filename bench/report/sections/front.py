"""The first page: the question, the answer, the one figure, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench import numbers
from bench.model import EMULATED_FSYNC
from bench.report import beside
from bench.report.figures import Drawing
from bench.report.results import Results
from bench.report.sections import (
    certainty,
    covered,
    delivery,
    evenness,
    method,
    resources,
    servers,
    unserved,
)

_QUICK = "Profile `quick`: too short for decisions, good for trying things out."
_QUICK_IN_SLICES = (
    "Profile `quick` decides large effects only: what is undecided here takes profile `standard`."
)


@dataclass(frozen=True, slots=True)
class Front:
    """What the first page says. `caveats` are short; `warnings` are those that a reader must not miss.

    `limits` are the warnings that say what the figure's rates mean: they stand before it, on the first sheet of paper.
    """

    title: str
    question: str
    answer: tuple[str, ...]
    limits: tuple[str, ...]
    figure: Drawing | None
    caveats: tuple[str, ...]
    warnings: tuple[str, ...]


def front(results: Results, drawings: Mapping[str, Drawing], elsewhere: str = "") -> Front:
    """Compose the first page."""
    manifest = results.manifest
    wanted = str(results.summary.get("figure") or "throughput")
    return Front(
        title=str(manifest.get("title") or manifest.get("scenario") or results.run.name),
        question=str(manifest.get("question") or ""),
        answer=(*_answer(results), *([elsewhere] if elsewhere else [])),
        limits=tuple(resources.limits(results)),
        figure=drawings.get(wanted) or next(iter(drawings.values()), None),
        caveats=_caveats(results),
        warnings=_warnings(results),
    )


def _answer(results: Results) -> tuple[str, ...]:
    headline = tuple(str(sentence) for sentence in results.summary.get("headline") or ())
    if headline:
        return headline
    if results.valid.empty:
        return ("No trial of this run is valid, so it answers nothing; the reasons are listed below.",)
    return ("The analysis drew no conclusion from this run; the numbers are below.",)


def _caveats(results: Results) -> tuple[str, ...]:
    cost = results.manifest.get("fsync_ns") or {}
    synced = f"one fsync costs {numbers.duration(cost.get('p50'))} (p99 {numbers.duration(cost.get('p99'))})"
    changes = beside.changes(results.manifest)
    said = (
        f"changed on the command line: {changes}" if changes else "",
        f"one machine, {method.cores(results)} {method.sharing(results)}",
        f"{synced}{_gate(results)}" if cost.get("p50") else "the cost of one fsync was not measured",
        method.pacing(results),
        servers.memory(results),
        *([servers.patience(results), servers.unguarded(results)] if results.broken else []),
        certainty.spans(results) if results.broken else certainty.interval(results).rstrip("."),
    )
    return tuple(caveat for caveat in said if caveat)


def _gate(results: Results) -> str:
    """Say, where fsyncs are emulated, what they cost as they are, which is not what they cost without that."""
    if not results.plan_sweeps(EMULATED_FSYNC):
        return ""
    gated = method.gated_fsync(results)
    return (
        f", as is {gated} behind the gate that emulates longer ones"
        if gated
        else "; longer ones are emulated"
    )


def _warnings(results: Results) -> tuple[str, ...]:
    others = len(results.trials) - len(results.valid)
    warnings = [
        statement.text
        for statement in delivery.statements(results)
        if statement.tone == "bad" and not results.broken  # else the answer itself tells
    ]
    if others:
        warnings.append(
            f"{others} of {numbers.plural(len(results.trials), 'trial')} do not count; see what was left out."
        )
    if missing := results.never_run:
        warnings.append(f"The run was cut short: {numbers.plural(missing, 'planned trial')} never ran.")
    if how := resources.busy(results):
        warnings.append(how)
    if flagged := certainty.flag_counts(results):
        warnings.append(flagged)
    warnings += evenness.apart(results)
    said = (
        covered.unlike(results) if results.broken else None,
        unserved.warning(results),
        method.cold(results),
        evenness.unsteady(results),
        method.crowding(results),
    )
    warnings += [warning for warning in said if warning]
    if beside.is_quick(results.manifest):
        warnings.append(_QUICK_IN_SLICES if results.sliced else _QUICK)
    return tuple(warnings)
