"""Throughput and resources over the time of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.sections.section import ReportInput, Section


@dataclass(frozen=True, slots=True)
class OverTime:
    """`drawn` names figures of throughput; in a run of `retention` what is stored is drawn instead."""

    drawn: Sequence[str]
    retention: bool


def _content(report: ReportInput) -> OverTime:
    return OverTime(report.drawn("course", "timeline"), report.results.retention)


SECTION = Section("over-time", "Over time", _content)
