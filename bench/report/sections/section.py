"""A section of a report: its title, how its content is made, and the template that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.report.cause import Cause
from bench.report.figures import Drawing
from bench.report.results import Results
from bench.report.sweep import Part
from bench.report.table import Table

if TYPE_CHECKING:
    from bench.report.sections.promise_evidence import (
        PromiseEvidence,  # it is made with modules that have sections
    )


@dataclass(frozen=True, slots=True)
class ReportInput:
    """What the sections of a report are made from.

    `drawings` are its figures by name. `elsewhere` is what other runs say to the promises of this one, None where they
    say nothing. `causes` are those of its answer. `whole_table` is the table of the first page, None where that page
    has all of its rows. `compared` has the changes of configuration that its answer states.
    """

    results: Results
    parts: Sequence[Part]
    drawings: Mapping[str, Drawing]
    elsewhere: PromiseEvidence | None
    causes: Sequence[Cause]
    whole_table: Table | None
    compared: Table | None = None

    def available_drawings(self, *names: str) -> tuple[str, ...]:
        """Return those of these figures that the report has."""
        return tuple(name for name in names if name in self.drawings)


@dataclass(frozen=True, slots=True)
class SectionContent:
    """A section of one report: `content` is what its template shows, under this name."""

    anchor: str
    title: str
    template: str
    content: object


@dataclass(frozen=True, slots=True)
class Section:
    """A section of reports; `contents.py` has all of them in their order.

    `anchor` is its id on the page, and names its template: reports/templates/sections/<anchor>.html.j2. `content`
    returns what that template shows: a frozen dataclass, a table, or a sequence of tables. It returns None for a report
    without this section. `broken_title` is the title where something broke on purpose, if that has another.
    """

    anchor: str
    title: str
    content: Callable[[ReportInput], object | None]
    broken_title: str = ""

    @property
    def template(self) -> str:
        """The template below reports/templates/."""
        return f"sections/{self.anchor}.html.j2"

    def of(self, report: ReportInput) -> SectionContent | None:
        """Return the section of one report; None where that has no such section."""
        content = self.content(report)
        if content is None:
            return None
        title = (self.broken_title if report.results.is_fault_run else "") or self.title
        return SectionContent(self.anchor, title, self.template, content)
