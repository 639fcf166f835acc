"""What broke: each fault of each trial, its steps, and how that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.sections import faults, layout_changes
from bench.report.sections.fact import Fact
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Table


@dataclass(frozen=True, slots=True)
class Breakage:
    """`tables` have a row a fault, `steps` when each step was asked for, `history` who served and stored the topic.

    `standing` tells whether the faults were conditions that stood from before the measured window until its end.
    """

    standing: bool
    tables: Sequence[Table]
    steps: Sequence[Table]
    evidence: Sequence[Fact]
    history: Sequence[Fact]


def _content(report: ReportInput) -> Breakage | None:
    tables = faults.fault_tables(report.results, report.parts)
    if not tables:
        return None
    return Breakage(
        standing=not report.results.is_fault_run,
        tables=tables,
        steps=faults.by_round(report.results, report.parts),
        evidence=faults.evidence(report.results),
        history=layout_changes.by_case(report.results),
    )


SECTION = Section("faults", "Standing conditions", _content, broken_title="What broke")
