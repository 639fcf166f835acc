"""The findings of a run in which old messages were read beside the load: what that did to sends and to consumers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from bench import numbers
from bench.report import sweep
from bench.report.answer.configurations import Configurations
from bench.report.answer.model import Finding
from bench.report.answer.sentences import sentence

_SECTION = "expectation-figures"


def findings(cases: Configurations) -> Iterator[Finding]:
    """State what reads beside the load did, a finding a system; nothing where no step read beside it."""
    readings = cases.results.readings
    if "send_slowdown" not in readings:
        return
    trials = cases.results.valid[["trial", "case"]]
    timed = readings.dropna(subset=["send_slowdown"]).merge(trials, on="trial")
    for part in cases.parts:
        if slots := [slot for case in part.cases["case"] if (slot := _slot(cases, part, str(case), timed))]:
            yield Finding(
                sentence("concurrent-reads", {"system": part.title, "cases": slots}), anchor=_SECTION
            )


def _slot(cases: Configurations, part: sweep.Part, case: str, timed: pd.DataFrame) -> dict[str, Any] | None:
    """Return the medians of a case over its valid trials; None where it has none."""
    case_rows = timed[timed["case"] == case]
    if case_rows.empty:
        return None
    label = cases.label(case)
    return {
        "consumed": bool(case_rows[["e2e_p99_before_ns", "e2e_p99_during_ns"]].notna().any().all()),
        "label": "" if label == part.title else label,
        **{
            f"{name}_{phase}": numbers.duration(float(case_rows[f"{name}_p99_{phase}_ns"].median()))
            for name in ("send", "e2e")
            for phase in ("before", "during")
        },
    }
