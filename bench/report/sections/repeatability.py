"""Whether a repeat gives the same numbers: slices and trials in the order they ran, and flagged trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.sections import precision
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Table


@dataclass(frozen=True, slots=True)
class Repeatability:
    """`drawn` names the figures. `flags` are those that occur, each with what it means; `flagged` are their trials."""

    drawn: Sequence[str]
    flagged: Table | None
    flags: Sequence[tuple[str, str]]


def _content(report: ReportInput) -> Repeatability:
    return Repeatability(
        drawn=report.available_drawings("slices", "order"),
        flagged=precision.flagged_trials(report.results, report.parts),
        flags=precision.flags(report.results),
    )


SECTION = Section("repeatability", "Repeatability", _content)
