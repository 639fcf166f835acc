"""The matrix of a family in a real headless Chromium, at the widths that readers have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from bench.report.pages import family
from bench.run.publishing import PUBLISHED
from bench.scenario import catalogue

CHROMIUM = "/usr/bin/chromium"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page over the published runs, written elsewhere: links to reports are left out then."""
    out = tmp_path_factory.mktemp("published")
    for name in ("broker-kill", "power-loss", "leader-isolation", "guarantee-node-gone", "soak"):
        (out / name).symlink_to(PUBLISHED / name)
    return family.write("faults", catalogue.families()["faults"], out)[0]


@pytest.fixture(scope="module")
def page(matrix: Path) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(matrix.as_uri())
        yield page
        browser.close()


@pytest.mark.parametrize("width", [1280, 1000, 400])
def test_the_page_is_no_wider_than_the_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_at_1280_px_the_whole_matrix_is_seen_and_no_cell_is_cut(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})

    cut = page.evaluate(
        """() => [...document.querySelectorAll(".matrix :is(td, th)")]
            .filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.textContent)"""
    )
    assert cut == []
    box = page.locator(".matrix").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 1280


def test_on_a_telephone_each_scenario_is_a_list_without_a_cut(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 900})

    scrolled = page.evaluate(
        "() => [...document.querySelectorAll('.scroll')].map(one => one.scrollWidth - one.clientWidth)"
    )
    assert max(scrolled) <= 0
    assert page.locator(".matrix thead").is_hidden()
    assert page.locator(".matrix td[data-head]").first.is_visible()
    named = page.evaluate(
        """() => getComputedStyle(document.querySelector(".matrix td[data-head]"), "::before").content"""
    )
    assert named == '"no writes"'


def test_each_cell_leads_to_a_report_that_is_there(page: Page, matrix: Path) -> None:
    links = page.eval_on_selector_all(".matrix a", "links => links.map(link => link.getAttribute('href'))")

    assert len(links) > 30
    assert all((matrix.parent / link.partition("#")[0]).is_file() for link in links)
