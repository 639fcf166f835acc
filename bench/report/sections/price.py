"""What a send takes by what an fsync costs, where the scenario sweeps that."""

from __future__ import annotations

from bench.report.sections.section import ReportInput, Section


def _content(report: ReportInput) -> tuple[str, ...] | None:
    """Return the names of the figures."""
    return report.available_drawings("price", "price-service") if "price" in report.drawings else None


SECTION = Section("price", "By what an fsync costs", _content)
