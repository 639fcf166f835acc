"""The first page of a report: what an answer becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bench.report import results, sweep
from bench.report.answer.model import Answer
from bench.report.figures import Drawing, gallery
from bench.report.pages import front_page, html
from bench.report.presentation import presentation
from tests.answer_sketch import TABLE, answer
from tests.report_data import build
from tests.report_sketch import Sketch
from tests.spaces import with_plain_spaces

Render = Callable[[Answer], str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("front") / "run", Sketch(systems=("pulsar",), rounds=2, messages=500)
    )


@pytest.fixture(scope="module")
def drawings(run: Path) -> Mapping[str, Drawing]:
    """The figures of the run, drawn once: no answer changes them."""
    found = results.read(run)
    return gallery(found, sweep.parts(found), presentation(run).labels, [])


@pytest.fixture
def page(run: Path, drawings: Mapping[str, Drawing], monkeypatch: pytest.MonkeyPatch) -> Render:
    """Renders the report with an answer."""
    monkeypatch.setattr(html, "compared_cases", lambda *_: [])
    monkeypatch.setattr(html, "gallery", lambda *_: drawings)

    def render(shown: Answer) -> str:
        monkeypatch.setattr(html, "run_answer", lambda _: shown)
        return with_plain_spaces(html.render(run))

    return render


def front(found: str) -> str:
    return found[found.index('<header class="front">') : found.index("</header>")]


def test_it_gives_the_answer_first_then_the_figure_the_table_and_the_conditions(page: Render) -> None:
    shown = answer()

    first = front(page(shown))

    order = [
        *(shown.title, shown.question, shown.alarms[0], shown.findings[0].text, shown.findings[1].text),
        *(shown.advice[0], shown.causes[0].text, shown.causes[0].prevention),
        *(shown.notices[0], shown.conditions, 'id="figure-throughput"', "any one node"),
        "a server that stores messages",
    ]
    places = [first.index(text) for text in order]
    assert places == sorted(places)
    assert "2.8 times, 2.5 to 3.1" in first


def test_only_an_alarm_is_red(page: Render) -> None:
    first = front(page(answer()))
    calm = front(page(answer(alarms=(), causes=(), notices=())))

    assert first.count('class="alarm"') == 1
    assert 'class="warning"' not in first
    assert 'class="alarm"' not in calm
    assert 'class="notices"' not in calm
    assert 'class="causes"' not in calm


def test_all_notices_share_one_box(page: Render) -> None:
    first = front(page(answer(notices=("One.", "Two.", "Three."))))

    assert first.count('class="notices"') == 1
    box = first[first.index('class="notices"') :]
    assert box[: box.index("</ul>")].count("<li>") == 3


def test_a_finding_leads_to_its_evidence_and_one_that_is_undecided_does_not_stand_out(page: Render) -> None:
    shown = answer()
    evident = answer(findings=(shown.findings[1].__class__("Found.", anchor="throughput"), shown.findings[1]))

    first = front(page(evident))

    assert '<a href="#throughput">Found.</a>' in first
    assert re.search(r'<p class="finding undecided">No difference can be told', first)


def test_a_source_on_the_web_is_a_link_named_by_its_host(page: Render) -> None:
    cause = answer().causes[0]
    address = "https://kafka.apache.org/documentation/#acks"
    linked = answer(causes=(cause.__class__(cause.text, source=f"Kafka, {address}."),))

    found = page(linked)

    assert f'Kafka, <a href="{address}">kafka.apache.org</a>.' in found[found.index('id="causes"') :]
    assert "kafka.apache.org" not in front(found)


def test_the_figure_of_the_first_page_is_drawn_once_and_explained_in_its_section(page: Render) -> None:
    found = page(answer(figure="throughput"))

    assert found.count('id="figure-throughput"') == 1
    behind = found[found.index('<section id="throughput">') :]
    assert "<b>Throughput of every case</b> stands on the first page. Each mark is one trial" in behind


def test_a_findings_numbers_stand_below_it(page: Render) -> None:
    first, second = answer().findings

    found = front(page(answer(findings=(replace(first, detail="2.0 against 0.7 ms."), second))))

    assert found.index(first.text) < found.index('<p class="finding">2.0 against 0.7 ms.</p>')
    assert found.index("2.0 against 0.7 ms.") < found.index(second.text)


def test_an_answer_without_a_figure_has_none(page: Render) -> None:
    assert "<figure" not in front(page(answer(figure="")))


def test_what_stood_on_the_first_page_before_stands_behind_it(page: Render) -> None:
    found = page(answer())

    behind = found[found.index('<section id="context">') :]
    assert "one fsync takes 61 µs (p99 104 µs)" in behind
    assert "closed loop" in behind


def test_what_has_no_room_stands_below_those_that_did_not_hold_go_first() -> None:
    held, undecided = answer().expectations
    broken = replace(held, verdict="did not hold", tone="bad")
    terms = (("bookie", "a server that stores messages"),)

    some = fullest(answer(expectations=(held, undecided, broken), glossary=terms))
    many = fullest(answer(expectations=(held,) * 9))
    full = fullest(answer(question="word " * 250, expectations=(held, broken), glossary=terms))

    assert [entry.verdict for entry in some.expectations] == ["did not hold", "undecided", "held"]
    assert (some.expectations_left, some.glossary) == (0, terms)
    assert (len(many.expectations), many.expectations_left) == (4, 5)
    assert (full.expectations, full.expectations_left, full.glossary) == ((), 2, ())
    assert fullest(answer(expectations=())).expectations == ()


def fullest(shown: Answer) -> front_page.Room:
    return front_page.rooms(shown)[0]


def test_expectations_and_terms_give_way_before_rows_of_the_table() -> None:
    rows = replace(TABLE, rows=TABLE.rows[:2])
    shown = answer(leading=rows, expectations=answer().expectations[:1])

    rooms = front_page.rooms(shown)

    assert [(room.table, room.whole_table) for room in rooms] == [(TABLE, None)] * 3 + [(rows, TABLE)] * 5
    assert [len(room.expectations) for room in rooms] == [1, 1, 0, 1, 1, 0, 0, 0]
    assert [bool(room.glossary) for room in rooms] == [True, False, False, True, False, False, False, False]
    assert [len(room.causes) for room in rooms] == [1] * 6 + [0, 0]
    assert [len(room.prevented) for room in rooms] == [0] * 6 + [1, 0]


def test_the_advice_of_a_cause_without_room_stays(page: Render) -> None:
    first = answer().causes[0]
    long = replace(first, text="The sessions end. " * 80, prevention="Fewer clients.", system="Kafka")

    found = page(answer(causes=(first, long, replace(long, prevention=first.prevention))))

    assert "<dt>Do</dt><dd>Kafka: <b>Fewer clients.</b></dd>" in front(found)
    assert front(found).count(first.prevention) == 1
    assert '<a href="#causes">2 more causes</a>' in front(found)


def test_causes_without_room_stand_behind_the_page(page: Render) -> None:
    first = answer().causes[0]
    long = replace(first, text="The sessions end. " * 80)

    found = page(answer(causes=(first, long, long)))

    assert '<a href="#causes">2 more causes</a>' in front(found)
    assert first.text in front(found)
    assert found[found.index('id="causes"') :].count(long.text.strip()) == 2


def test_a_table_that_is_too_long_for_the_page_has_the_rows_of_the_answer_and_stands_whole_behind_it(
    page: Render,
) -> None:
    long = replace(TABLE, rows=TABLE.rows * 20)

    found = page(answer(table=long, leading=TABLE))

    assert '<a href="#whole-table">the whole table of 40 rows</a>' in front(found)
    assert front(found).count("any one node") == 1
    behind = found[found.index('<section id="whole-table">') : found.index('<section id="context">')]
    assert behind.count("any one node") == 20
    assert 'id="whole-table"' not in page(answer(leading=TABLE))
