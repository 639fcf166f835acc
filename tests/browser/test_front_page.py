"""The front page of the published reports in a real headless Chromium, from a disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, sync_playwright

from bench.report.pages import published_reports
from bench.scenario import catalogue
from tests.answer_sketch import answer
from tests.report_data import build
from tests.report_sketch import Sketch

CHROMIUM = "/usr/bin/chromium"
FAMILIES = {"durability": ["acks-sweep"]}

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    run = build(folder / "acks-sweep", Sketch(systems=("memory",), rounds=1, messages=100))
    (run / "scenario.yaml").write_text(catalogue.names()["acks-sweep"].read_text())
    for name in ("report.html", "report.pdf"):
        (run / name).write_text("<title>A report</title>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_reports, "run_answer", lambda found: answer())
        return published_reports.write(folder, FAMILIES)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 1300, "height": 900})
        browser.close()


@pytest.fixture
def page(chromium: Page, index: Path) -> Page:
    chromium.set_viewport_size({"width": 1300, "height": 900})
    chromium.goto(index.as_uri())
    return chromium


def test_it_opens_without_a_word_on_the_console_and_without_the_network(page: Page) -> None:
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))

    page.reload()

    assert said == []
    assert {urlsplit(url).scheme for url in asked} <= {"file", "data"}


def test_all_reports_are_folded_away_and_a_word_in_the_box_unfolds_them(page: Page) -> None:
    report = page.locator(".entry#acks-sweep")
    assert page.locator(".topic").first.is_visible()
    assert not report.is_visible()

    page.get_by_role("searchbox").fill("acks-sweep replicas")
    assert report.is_visible()

    page.get_by_role("searchbox").fill("")
    assert not report.is_visible()


def test_words_leave_the_entries_that_have_them_all(page: Page) -> None:
    page.get_by_role("searchbox").fill("waiting no-such-word")

    assert not page.locator(".topic").first.is_visible()
    assert not page.locator("#findings h2").is_visible()
    assert page.locator(".find output").text_content() == "0 of 2"

    page.get_by_role("searchbox").fill("WAITING cost")
    assert page.locator(".topic").first.is_visible()


def test_a_question_leads_to_its_report(page: Page) -> None:
    page.locator(".topic a").first.click()
    page.wait_for_url("**/acks-sweep/report.html*")

    assert Path(unquote(urlsplit(page.url).path)).is_file()


@pytest.mark.parametrize("width", [400, 1300])
def test_nothing_is_wider_than_the_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")

    assert page.evaluate("document.documentElement.scrollWidth") <= width
