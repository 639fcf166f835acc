"""Declared changes in a run in which something broke: how long writes stopped with a change, and without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import numbers
from bench.columns import OUTAGE
from bench.report import fault_words as words
from bench.report import sweep
from bench.report.answer.configurations import Configurations
from bench.report.answer.effect import EffectOutcome
from bench.report.answer.fault_findings import FaultRun
from bench.report.answer.model import Finding
from bench.report.answer.sentences import sentence
from bench.report.outage import Outage
from bench.report.presentation import DeclaredComparison


@dataclass(frozen=True, slots=True)
class CasePair:
    """Two cases of one system that differ by a declared change; `shared` has the other settings that vary."""

    of: str
    to: str
    shared: Mapping[str, str]


def case_pairs(parts: Sequence[sweep.Part], comparison: DeclaredComparison) -> list[CasePair]:
    """Return each case with a change of time without writes, and the one without it with the same other settings."""
    part = next((part for part in parts if part.system == comparison.system), None)
    if part is None or comparison.metric != OUTAGE:
        return []
    varied = part.varied_settings
    cases = [
        (str(case["case"]), dict(zip(part.settings, part.values(case), strict=True)))
        for _, case in part.cases.iterrows()
    ]
    with_change, without_change = (
        {
            tuple((name, value) for name, value in settings.items() if name not in side_settings): case
            for case, settings in cases
            if side_settings.items() <= settings.items()
        }
        for side_settings in (comparison.of, comparison.to)
    )
    return [
        CasePair(
            case,
            without_change[other_settings],
            {name: value for name, value in other_settings if name in varied},
        )
        for other_settings, case in with_change.items()
        if other_settings in without_change
    ]


def findings(run: FaultRun, comparisons: Sequence[DeclaredComparison]) -> list[Finding]:
    """State what each declared change of a system made of the time without writes; none where nothing is known.

    Where trials are too few for a verdict the last of them says so.
    """
    cases = Configurations(run.results, run.labels)
    changes = [
        {"change": comparison.change, "pairs": pairs}
        for comparison in comparisons
        if (pairs := list(_slots(run, cases, comparison)))
    ]
    few = "" if run.has_enough_trials else numbers.plural(run.fewest_trials, "trial")
    return [
        Finding(
            sentence("fault-change", change | {"few": few if change is changes[-1] else ""}),
            decided=run.has_enough_trials,
            anchor="faults",
        )
        for change in changes
    ]


def _slots(
    run: FaultRun, cases: Configurations, comparison: DeclaredComparison
) -> Iterator[Mapping[str, Any]]:
    outages = {case: outcome.writes for outcome in run.case_outcomes for case in outcome.cases}
    for pair in case_pairs(run.parts, comparison):
        of, to = outages.get(pair.of), outages.get(pair.to)
        if of is not None and to is not None:
            yield {
                "label": run.labels.label(comparison.system, pair.shared) if pair.shared else "",
                "of": _outage_slots(of),
                "to": _outage_slots(to),
                "script": _script(of, to),
                "outcome": _outcome(cases, pair, of, to) if run.has_enough_trials else "",
            }


def _outage_slots(outage: Outage) -> Mapping[str, Any]:
    return {
        "time": words.times(outage.low_ns, outage.high_ns, brief=True),
        "endless": outage.endless,
    }


def _script(*outages: Outage) -> str:
    """Say how much of both times the script set; empty where it did not set both."""
    scripts_ns = [outage.script_ns for outage in outages if outage.script_ns is not None]
    return words.times(min(scripts_ns), max(scripts_ns)) if len(scripts_ns) == len(outages) else ""


def _outcome(cases: Configurations, pair: CasePair, of: Outage, to: Outage) -> EffectOutcome:
    if of.endless or to.endless:
        return EffectOutcome.UNDECIDED
    return cases.effect(pair.of, pair.to, OUTAGE).outcome(cases.smallest)
