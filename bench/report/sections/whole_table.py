"""The whole table of the first page, where that page has only some of its rows."""

from __future__ import annotations

from bench.report.sections.section import Section

SECTION = Section(
    "whole-table", "The whole table of the first page", content=lambda report: report.whole_table
)
