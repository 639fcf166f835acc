"""What became known after a run was made."""

from __future__ import annotations

from bench.report.corrections import RunCorrections, corrections
from bench.report.sections.section import ReportInput, Section


def _content(report: ReportInput) -> RunCorrections | None:
    return corrections(report.results.manifest, is_fault_run=report.results.is_fault_run) or None


SECTION = Section("corrections", "Corrections", _content)
