"""The finding on the reserve: how long sends take while a node is gone and while it catches up, beside before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from bench import numbers
from bench.columns import PHASES
from bench.report.answer.fault_findings import FaultRun
from bench.report.answer.model import Finding
from bench.report.answer.sentences import sentence
from bench.report.sections.fault_outcome import FaultOutcome

TIMES = [f"p99_{phase}_ns" for phase in PHASES]
"""How long sends take before a node is gone, while it is, and while it catches up."""


def reserve(run: FaultRun) -> Iterator[Finding]:
    """State it, a finding a system, where an expectation of the scenario speaks of one of these times."""
    expectations = run.results.manifest.get("expectations") or ()
    names = {expectation.get("fault") for expectation in expectations if expectation.get("metric") in TIMES}
    if not names:
        return
    faults = run.results.faults.merge(run.results.valid[["trial", "case"]], on="trial")
    faults = faults[faults["fault"].isin(names)]
    for part, outcomes in zip(run.parts, run.outcomes, strict=True):
        if outcome_slots := [slot for outcome in outcomes if (slot := _slot(outcome, faults))]:
            slots = {"system": part.title, "cases": outcome_slots}
            yield Finding(
                sentence("reserve", slots), decided=run.has_enough_trials, anchor="expectation-figures"
            )


def _slot(outcome: FaultOutcome, faults: pd.DataFrame) -> dict[str, Any] | None:
    """Return the median of each time over a configuration's valid trials that have it; None where none has one."""
    case_faults = faults[faults["case"].isin(outcome.cases)]
    if case_faults[TIMES].isna().all().any():
        return None
    times = {phase: numbers.duration(float(case_faults[f"p99_{phase}_ns"].median())) for phase in PHASES}
    return {"label": outcome.label, **times}
