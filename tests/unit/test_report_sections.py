"""A report's sections: one list, which the page and its tables of contents follow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.report import results, sweep, templates
from bench.report.pages import family, html
from bench.report.sections import breakage, corrections, guarantees, whole_table
from bench.report.sections.contents import contents, sections
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Table
from tests.report_data import build
from tests.report_sketch import Sketch

TABLE = Table("A table", (), ())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("sections") / "run", Sketch(systems=("kafka",), rounds=1))


@pytest.fixture
def report(run: Path) -> ReportInput:
    """A report without figures, over a run in which nothing broke."""
    run_results = results.read(run)
    return ReportInput(
        run_results, sweep.parts(run_results), drawings={}, elsewhere=None, causes=(), whole_table=None
    )


def broken(report: ReportInput) -> ReportInput:
    """The same report over a run in which something broke on purpose."""
    return replace(report, results=replace(report.results, summary={"figure": "timeline"}))


def anchors(entries: list[str]) -> Iterator[str]:
    for entry in entries:
        yield from re.findall(r'href="#([^"]+)"', entry)


def test_each_section_has_a_template_and_each_template_a_section() -> None:
    files = {f"sections/{file.name}" for file in (templates.FOLDER / "sections").iterdir()}

    assert files == {section.template for section in sections(is_fault_run=False)}


def test_each_section_stands_once_whatever_the_order() -> None:
    order, order_under_faults = sections(is_fault_run=False), sections(is_fault_run=True)

    assert len({section.anchor for section in order}) == len(order)
    assert sorted(map(id, order)) == sorted(map(id, order_under_faults))


def test_the_outcome_stands_before_figures_where_something_broke() -> None:
    places = [section.anchor for section in sections(is_fault_run=False)]
    places_under_faults = [section.anchor for section in sections(is_fault_run=True)]

    assert places.index("throughput") < places.index("delivery")
    assert places_under_faults.index("delivery") < places_under_faults.index("throughput")


def test_a_section_without_content_is_left_out(report: ReportInput) -> None:
    (entry,) = [entry for entry in contents(replace(report, whole_table=TABLE)) if entry.content is TABLE]

    assert entry.anchor == "whole-table"
    assert whole_table.SECTION.of(report) is None
    assert breakage.SECTION.of(report) is None


def test_a_report_without_corrections_has_no_section_of_them(report: ReportInput) -> None:
    without = replace(report, results=replace(report.results, manifest={}))

    assert corrections.SECTION.of(report) is not None
    assert corrections.SECTION.of(without) is None


def test_a_section_with_an_empty_list_is_there_and_can_say_so(report: ReportInput) -> None:
    entry = Section("resources", "What it took", content=lambda _: []).of(report)

    assert entry is not None
    assert entry.content == []


def test_a_section_may_have_another_title_where_something_broke(report: ReportInput) -> None:
    titles = [
        entry.title
        for entry in (guarantees.SECTION.of(report), guarantees.SECTION.of(broken(report)))
        if entry is not None
    ]

    assert titles == ["Guarantees and their price", "Guarantees"]


def test_page_and_both_tables_of_contents_follow_the_list(run: Path) -> None:
    page = html.render(run)

    on_page = re.findall(r'<section id="([^"]+)">', page)
    lists = [
        re.search(pattern, page, re.DOTALL) for pattern in (r"<nav.*?</nav>", r'<div class="pages".*?</div>')
    ]
    assert len(on_page) > 10
    assert [list(anchors([found[0]])) for found in lists if found] == [on_page, on_page]


def test_pages_of_families_link_to_sections_of_reports() -> None:
    assert set(family._ANCHORS) <= {section.anchor for section in sections(is_fault_run=True)}
