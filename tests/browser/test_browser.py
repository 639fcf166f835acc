"""The report as a reader's browser shows it: a real headless Chromium, no network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, sync_playwright

from bench import numbers
from bench.report import packed_page, results, write_report
from bench.report.pages import compare, family, html
from bench.run import run_comparison
from bench.run.folder import RunFolder
from bench.run.publishing import publish
from bench.scenario import families
from tests.report_data import build
from tests.report_sketch import Sketch

CHROMIUM = "/usr/bin/chromium"
PUBLISHED = Path(__file__).parents[2] / "reports" / "published"

pytestmark = pytest.mark.integration


@dataclass
class Opened:
    """A page with what its browser said and asked for."""

    page: Page
    folder: Path
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def open(self, file: str) -> Page:
        self.page.goto((self.folder / file).as_uri())
        return self.page

    def column(self, head: str, system: str = "Kafka") -> list[str]:
        """The cells below a head, of the rows that are shown, in the first table of a system's cases that has it."""
        cells: list[str] = self.page.evaluate(
            """([head, system]) => {
                const headsOf = table => [...table.tHead.rows[table.tHead.rows.length - 1].cells];
                const placeIn = table => headsOf(table).findIndex(cell => cell.textContent.trim() === head);
                const table = [...document.querySelectorAll("table.finds")].find(
                    one => one.caption.textContent.startsWith(system) && placeIn(one) >= 0);
                const place = placeIn(table);
                const shown = [...table.tBodies].flatMap(body => [...body.rows]).filter(row => !row.hidden);
                return shown.map(row => row.cells[place].textContent.trim());
            }""",
            [head, system],
        )
        return cells


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = build(tmp_path_factory.mktemp("browser") / "20261121-1-run", Sketch(rounds=2))
    (run / "report.html").write_text(html.render(run), encoding="utf-8")
    small = build(run / "small", Sketch(systems=("memory",), rounds=2))
    for trial in small.glob("trials/*"):
        trial.joinpath("sends").mkdir()
    small.joinpath("scenario.yaml").touch()
    write_report(small, trial_pages=True)
    publish([RunFolder(small)], run / "published")
    compare.write(
        run_comparison.compare(run, run, run_comparison.ComparisonRule("throughput_msgs_per_s", 0.05)),
        run / "compare",
    )
    family.write("durability", ["acks-sweep"], run.parent)
    return run


@pytest.fixture(scope="module")
def opened(report: Path) -> Iterator[Opened]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = Opened(browser.new_page(viewport={"width": 1300, "height": 900}), report)
        found.page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
        found.page.on("pageerror", lambda error: found.said.append(f"error: {error}"))
        found.page.on("request", lambda request: found.asked.append(request.url))
        yield found
        browser.close()


def test_the_report_opens_without_a_word_on_the_console_and_without_the_network(opened: Opened) -> None:
    opened.open("report.html")

    assert opened.said == []
    assert {urlsplit(url).scheme for url in opened.asked} <= {"file", "data"}


def test_every_figure_has_a_name_and_a_description_for_those_who_cannot_see_it(opened: Opened) -> None:
    assert described(opened.open("report.html")) >= 5


def described(page: Page) -> int:
    """Count a page's figures; each has a name and a description."""
    figures: list[list[str]] = page.evaluate(
        """() => [...document.querySelectorAll("[role=img], img")].map(figure =>
            (figure.getAttribute("aria-labelledby") || "").split(/\\s+/).filter(label => label)
                .flatMap(label => [...document.querySelectorAll(`[id='${label}']`)].map(one => one.textContent)))"""
    )
    for texts in figures:
        assert len(texts) == 2
        assert all(len(text) > 9 for text in texts)
    return len(figures)


@pytest.mark.parametrize(
    ("sketch", "figure"),
    [
        (Sketch(systems=("memory",), rounds=2, messages=500, disks=("as is", "1ms", "10ms")), "figure-price"),
        (Sketch(systems=("memory",), rounds=2, messages=500, open_loop=True), "figure-response"),
    ],
    ids=["disks", "open loop"],
)
def test_runs_with_other_figures_open_without_a_word_too(
    opened: Opened, tmp_path: Path, sketch: Sketch, figure: str
) -> None:
    file = tmp_path / "report.html"
    file.write_text(html.render(build(tmp_path / "run", sketch)), encoding="utf-8")

    opened.page.goto(file.as_uri())

    assert opened.page.locator(f"#{figure}").count() == 1
    assert described(opened.page) >= 5
    assert opened.said == []


def test_published_pages_open_without_a_word_and_without_the_network(opened: Opened) -> None:
    """Pages over many runs, of each family a report of each kind, and those that unpack themselves, as published."""
    over_runs = [*PUBLISHED.glob("*.html"), *PUBLISHED.glob("family-*/report.html")]
    reports = [file.parent / "report.html" for file in sorted(PUBLISHED.glob("*/manifest.json"))]
    family_by_scenario = {name: family for family, names in families().items() for name in names}
    of_kinds = {
        (family_by_scenario.get(file.parent.name), results.summary(file.parent)["figure"]): file
        for file in reports
    }
    packed = [file for file in reports if packed_page.unpack(text := file.read_text("utf-8")) != text]
    assert {name for name, _ in of_kinds} >= families().keys()
    for file in {*over_runs, *of_kinds.values(), *packed}:
        opened.page.goto(file.as_uri())
        opened.page.locator("h1").first.wait_for()  # a packed page unpacks itself after it is loaded
        described(opened.page)
        assert opened.said == [], file
    assert {urlsplit(url).scheme for url in opened.asked} <= {"file", "data"}


def test_words_in_the_box_leave_the_rows_that_have_them_all(opened: Opened) -> None:
    page = opened.open("report.html")
    of_kafka = len(opened.column("acks"))
    everything = of_kafka + len(opened.column("quorums", "Pulsar"))

    page.get_by_role("searchbox").fill("kafka acks=all replicas=4")

    shown = opened.column("acks")
    assert 0 < len(shown) < of_kafka
    assert set(shown) == {"all"}
    assert set(opened.column("replicas")) == {"4"}
    assert page.locator(".find output").text_content() == f"{len(shown)} of {everything}"

    page.get_by_role("searchbox").fill("")
    assert len(opened.column("acks")) == of_kafka


def test_a_setting_in_the_box_is_found_whole(opened: Opened) -> None:
    box = opened.open("report.html").get_by_role("searchbox")

    box.fill("replicas=1")
    assert set(opened.column("replicas")) == {"1"}  # and not where min.insync.replicas=1
    assert opened.column("quorums", "Pulsar") == []
    box.fill("quorums=2-2")
    assert opened.column("quorums", "Pulsar") == []  # and not quorums=2-2-1
    box.fill("2-1")
    assert set(opened.column("quorums", "Pulsar")) == {"2-2-1"}


def test_a_click_on_a_head_sorts_and_the_third_brings_the_scenarios_order_back(opened: Opened) -> None:
    page = opened.open("report.html")
    head = page.locator("table.finds").first.get_by_role("button", name="median", exact=True)
    written = opened.column("median")

    head.click()
    rising = opened.column("median")
    head.click()
    falling = opened.column("median")
    head.click()

    numbers = [float(text.replace(",", "")) for text in rising]
    assert numbers == sorted(numbers)
    assert falling == rising[::-1]
    assert opened.column("median") == written
    assert rising != written


def test_ranges_sort_by_their_low_end(opened: Opened) -> None:
    page = opened.open("report.html")

    pulsar = page.locator("table.finds", has=page.locator("caption", has_text="Pulsar")).first
    pulsar.get_by_role("button", name="range", exact=True).first.click()

    lows = [
        float(text.split(f" {numbers.NOTHING} ")[0].replace(",", ""))
        for text in opened.column("range", "Pulsar")
    ]
    assert min(lows) < 1000 < max(lows)  # as text 1,234 comes before 987
    assert lows == sorted(lows)


def test_every_trial_has_a_page_that_leads_back_and_on(opened: Opened, report: Path) -> None:
    page = opened.open("small/report.html")
    links = [link.get_attribute("href") or "" for link in page.locator("td.links a").all()]
    assert len(links) == len(list(report.glob("small/trials/*"))) == len(set(links))

    page.locator("td.links a").first.click()
    page.wait_for_url("**/pages/*.html")

    assert page.locator("h1").text_content() != ""
    assert page.get_by_role("img").count() == 1
    hrefs = [link.get_attribute("href") or "" for link in page.locator("a").all()]
    here = Path(unquote(urlsplit(page.url).path)).parent
    assert "../report.html" in hrefs
    assert all((here / href).resolve().is_file() for href in hrefs)
    assert opened.said == []


def test_links_to_the_pages_of_trials_are_not_printed(opened: Opened) -> None:
    links = opened.open("small/report.html").locator("td.links")
    assert links.first.is_visible()

    opened.page.emulate_media(media="print")
    assert not links.first.is_visible()
    opened.page.emulate_media(media="screen")


def test_the_front_page_of_published_runs_leads_to_a_report_without_pages_of_trials(opened: Opened) -> None:
    page = opened.open("published/index.html")

    page.locator(".topic a").first.click()
    page.wait_for_url("**/acks-sweep/report.html*")

    assert page.get_by_role("img").count() >= 5
    assert page.locator("td.links").count() == 0
    assert opened.said == []


@pytest.mark.parametrize("file", ["compare/compare.html", "../family-durability/report.html"])
def test_a_comparison_and_a_familys_page_open_without_a_word_and_lead_only_to_what_is_there(
    opened: Opened, report: Path, file: str
) -> None:
    page = opened.open(file)

    assert page.locator("table tbody tr").count() > 0
    hrefs = [link.get_attribute("href") or "" for link in page.locator("a[href]:not([href^='#'])").all()]
    assert all(((report / file).parent / href).resolve().is_file() for href in hrefs)
    assert opened.said == []
    assert {urlsplit(url).scheme for url in opened.asked} <= {"file", "data"}


def test_it_prints_without_what_is_for_the_screen_and_within_the_page(opened: Opened) -> None:
    page = opened.open("report.html")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 900})  # 180 mm, the text width of an A4 page

    assert not page.locator(".find").is_visible()
    wide = page.evaluate(
        """() => {
            const right = one => one.getBoundingClientRect().right;
            const edge = right(document.querySelector("main")) + 1;
            const parts = [...document.querySelectorAll("main table, main figure, main p")];
            return parts.filter(one => right(one) > edge).map(one => one.outerHTML.slice(0, 80));
        }"""
    )
    assert wide == []
    assert len(page.pdf(format="A4")) > 50_000

    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1300, "height": 900})
