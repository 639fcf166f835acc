"""Reports in a browser from a telephone's width on, and on paper: nothing is cut, too small, or mostly white."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader
from weasyprint.document import Document

from bench.report import pdf
from bench.report.pages import front_page, html
from tests import paper

CHROMIUM = "/usr/bin/chromium"
PUBLISHED = Path(__file__).parents[2] / "reports" / "published"
RUNS = ("acks-sweep", "power-loss")
"""One in which many configurations are compared, and one in which something breaks."""
LEAST_PT = 9.0
ROUNDING_PT = 0.03
MOST_WHITE = 2 / 3

pytestmark = pytest.mark.integration

OUTSIDE = """() => {
    const edge = document.documentElement.clientWidth + 1;
    const scrolls = one => one.closest("figure.drawing, .long, pre");
    const parts = [...document.querySelectorAll("main *, nav *")].filter(one => !scrolls(one) && !one.closest("svg"));
    return parts.filter(one => one.getBoundingClientRect().right > edge).map(one => one.outerHTML.slice(0, 100));
}"""
FIRST_PAGE = """() => {
    const front = document.querySelector("header.front").cloneNode(true);
    front.querySelectorAll("svg, table, h1, .kicker, .corrections, .conditions, .behind").forEach(one => one.remove());
    const nodes = [...front.querySelectorAll("*")].flatMap(one => [...one.childNodes]);
    return nodes.filter(node => node.nodeType === 3).map(node => node.data).join(" ");
}"""
SMALLEST = """() => {
    const words = [...document.querySelectorAll("main *")].filter(
        one => !one.closest("svg") && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()));
    const sizes = words.filter(one => one.getClientRects().length)
        .map(one => [parseFloat(getComputedStyle(one).fontSize), one.outerHTML.slice(0, 100)]);
    return sizes.sort((one, other) => one[0] - other[0])[0];
}"""


Opened = Callable[[Path, int], Page]


@pytest.fixture(scope="module", params=RUNS)
def printed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Document]:
    """The folder of a published run's report, rendered by the code of today, and its layout on paper."""
    folder = tmp_path_factory.mktemp(request.param)
    page = html.render(PUBLISHED / request.param)
    (folder / "report.html").write_text(page, encoding="utf-8")
    document = pdf.laid_out(page)
    pdf.save(document, folder / "report.pdf")
    return folder, document


@pytest.fixture(scope="module")
def report(printed: tuple[Path, Document]) -> Path:
    return printed[0]


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    """Opens a report in a window of a width. Layout takes long, so tests share the page and leave it as it is."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

        @cache
        def opened(report: Path, width: int) -> Page:
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.goto((report / "report.html").as_uri())
            return page

        yield opened
        browser.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(opened: Opened, report: Path, width: int) -> None:
    page = opened(report, width)

    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_telephone_a_table_is_a_list_in_which_each_value_has_its_name(
    opened: Opened, report: Path
) -> None:
    page = opened(report, 400)

    cell = page.locator("table.account tbody td").nth(3)
    assert cell.get_attribute("data-head") not in {None, ""}
    assert page.locator("table.account thead").first.is_hidden()
    named = page.evaluate(
        """() => [...document.querySelectorAll("table.grid tbody tr:not(.heading) td")]
            .filter(cell => cell.textContent.trim() && !cell.dataset.head).length"""
    )
    assert named == 0


def test_a_figure_on_a_telephone_is_as_large_as_can_be_read_and_moves_in_its_own_box(
    opened: Opened, report: Path
) -> None:
    page = opened(report, 400)

    widths = page.evaluate("() => [...document.querySelectorAll('figure svg')].map(one => one.clientWidth)")
    assert min(widths) >= 600


def test_the_first_page_has_few_words(opened: Opened, report: Path) -> None:
    words = opened(report, 1280).evaluate(FIRST_PAGE).split()

    assert len(words) <= front_page.MOST_WORDS


def test_on_paper_the_first_page_has_the_conditions(opened: Opened, report: Path) -> None:
    conditions = opened(report, 1280).locator(".conditions").text_content() or ""
    first = PdfReader(report / "report.pdf").pages[0].extract_text()

    assert "".join(conditions.split()) in "".join(first.split())


def test_in_print_from_the_browser_no_text_is_under_nine_points(opened: Opened, report: Path) -> None:
    page = opened(report, 680)
    page.emulate_media(media="print")

    size_px, words = page.evaluate(SMALLEST)
    assert size_px * 0.75 >= LEAST_PT - ROUNDING_PT, words
    assert page.evaluate(OUTSIDE) == []
    page.pdf(path=report / "browser.pdf", format="A4", margin={"left": "15mm", "right": "15mm"})
    assert (report / "browser.pdf").stat().st_size > 50_000


def test_on_paper_no_text_is_under_nine_points(report: Path) -> None:
    sizes = paper.type_sizes(report / "report.pdf")

    small = {size: words for size, words in sizes.items() if size < LEAST_PT - ROUNDING_PT}
    assert small == {}


def test_on_paper_tables_break_between_rows_and_no_head_stands_alone(
    printed: tuple[Path, Document],
) -> None:
    _, document = printed

    assert paper.split_rows(document) == []
    assert paper.heads_alone(document) == []


def test_on_paper_no_page_but_the_last_is_two_thirds_white(report: Path, tmp_path: Path) -> None:
    *white, _ = paper.blank_shares(report / "report.pdf", tmp_path)

    assert [(number + 1, share) for number, share in enumerate(white) if share > MOST_WHITE] == []
