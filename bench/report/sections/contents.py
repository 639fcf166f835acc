"""All sections of a report in their order: the page, its table of contents and the PDF follow this list.

A new section is a module here with a `Section`, its template in reports/templates/sections/, a line in this list, and a
test.
"""

from __future__ import annotations

from bench.report.sections import (
    breakage,
    capacities,
    context,
    corrections,
    costs,
    delivery_account,
    effective_settings,
    effects,
    expectation_figures,
    expectations,
    fault_summary,
    guarantees,
    latencies,
    left_out_points,
    manifest,
    method,
    over_time,
    price,
    readings,
    repeatability,
    resources,
    same_settings,
    system_comparison,
    throughput,
    transfers,
    whole_table,
)
from bench.report.sections.section import ReportInput, Section, SectionContent

_OPENING = (whole_table.SECTION, context.SECTION, fault_summary.SECTION)
_MEASURED = (
    system_comparison.SECTION,
    capacities.SECTION,
    effects.SECTION,
    same_settings.SECTION,
    throughput.SECTION,
    expectation_figures.SECTION,
    price.SECTION,
    latencies.SERVICE_TIME,
    latencies.RESPONSE_TIME,
    latencies.END_TO_END,
    latencies.PERCENTILES,
    repeatability.SECTION,
    over_time.SECTION,
    resources.SECTION,
    costs.SECTION,
)
_OUTCOME = (
    expectations.SECTION,
    breakage.SECTION,
    readings.SECTION,
    transfers.SECTION,
    delivery_account.SECTION,
    guarantees.SECTION,
    left_out_points.SECTION,
)
_METHOD = (method.SECTION, effective_settings.SECTION, manifest.SECTION, corrections.SECTION)


def sections(*, is_fault_run: bool) -> tuple[Section, ...]:
    """Return all sections in their order; where something broke on purpose, the outcome stands before figures."""
    body = (*_OUTCOME, *_MEASURED) if is_fault_run else (*_MEASURED, *_OUTCOME)
    return (*_OPENING, *body, *_METHOD)


def contents(report: ReportInput) -> list[SectionContent]:
    """Return the sections that a report has, in their order, each with its content."""
    entries = (section.of(report) for section in sections(is_fault_run=report.results.is_fault_run))
    return [entry for entry in entries if entry is not None]
