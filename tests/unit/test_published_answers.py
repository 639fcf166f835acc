"""What the published reports answer: short enough for a first page, from results of older versions too."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from bench.report import pdf, results, sweep
from bench.report.answer.model import Answer
from bench.report.figures import first_page_drawings
from bench.report.pages import front_page, published_reports
from bench.report.pages.compared_cases import compared_cases
from bench.report.presentation import presentation
from bench.report.run_answer import run_answer
from bench.run.publishing import PUBLISHED
from bench.scenario import families
from tests import plain_words

RUNS = sorted(file.parent for file in PUBLISHED.glob("*/manifest.json"))
SIDE_BY_SIDE = ("acks-sweep", "parity", "partition-sweep", "replication-sweep", "send-latency")


stored_results = cache(results.read)


@cache
def answered(run: Path) -> Answer:
    return run_answer(stored_results(run))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_an_answer_fits_on_a_first_page(run: Path) -> None:
    given = answered(run)

    assert 1 <= len(given.findings) <= 4
    assert sum(len(finding.full_text.split()) for finding in given.findings) <= 150
    assert all(finding.text.endswith(".") for finding in given.findings)
    assert len(given.advice) <= 2
    assert len(given.notices) <= 4
    assert len(given.glossary) <= 5
    assert given.conditions.count("\n") == 0
    assert given.title
    assert given.question


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_first_page_is_one_sheet_with_at_most_250_words(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "laid_out", cache(pdf.laid_out))  # what fitted is not laid out again
    found, shown = stored_results(run), presentation(run)
    parts = sweep.parts(found)
    drawings = first_page_drawings(found, parts, shown.labels, compared_cases(found, shown))

    room, page = front_page.fit_to_sheet(front_page.first_page(found, parts, drawings, answered(run)))

    assert len(pdf.laid_out(page).pages) == 1
    assert room.table is not None
    assert "<table" in page
    assert "<svg" in page or not drawings  # no-fault has a figure of every case, which is not drawn here
    assert len(_sentences(page).split()) <= front_page.MOST_WORDS


def _sentences(page: str) -> str:
    """Return the words of a first page but those of its title, figure, table, conditions and corrections."""
    front = page[page.index("<header") : page.index("</header>")]
    apart = r'<(svg|table|h1|aside)\b.*?</\1>|<p class="(kicker|conditions|behind)">.*?</p>'
    return re.sub(r"<[^>]+>", " ", re.sub(apart, " ", front, flags=re.DOTALL))


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_both_systems_stand_side_by_side_at_equal_guarantees(name: str) -> None:
    given = answered(PUBLISHED / name)

    assert any(finding.anchor == "system-comparison" for finding in given.findings)
    assert given.table is not None
    assert given.table.title == "Equal guarantees"
    assert len(given.table.rows) <= 8


def test_parity_says_who_is_ahead_on_slower_disks() -> None:
    assert any(
        " ahead on slower disks: " in finding.text for finding in answered(PUBLISHED / "parity").findings
    )


def test_what_decides_nothing_names_no_winner() -> None:
    undecided = [finding.text for run in RUNS for finding in answered(run).findings if not finding.decided]

    assert not any(
        " times as fast as " in text and "no difference can be told" not in text for text in undecided
    )


def test_the_front_page_holds_plain_words_but_in_recorded_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "read", stored_results)
    monkeypatch.setattr(published_reports, "run_answer", lambda found: answered(found.run))

    page = published_reports.render(PUBLISHED, families())

    assert plain_words.found_in(plain_words.own_words(page, *(run.name for run in RUNS))) == []
