"""The front page of the published reports: questions with their answers, key findings, all reports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.errors import ReportError
from bench.report import results
from bench.report.answer.model import Answer, Finding
from bench.report.cause import Cause
from bench.report.pages import published_reports
from bench.report.questions import front_page
from bench.report.results import Results
from bench.report.run_answer import run_answer
from bench.run.publishing import PUBLISHED
from bench.scenario import catalogue
from tests.answer_sketch import answer
from tests.report_data import build
from tests.report_sketch import Sketch
from tests.spaces import with_plain_spaces

FAMILIES = {"durability": ["acks-sweep", "parity"], "faults": ["soak", "broker-kill"]}
SMALL = Sketch(systems=("memory",), rounds=1, messages=100)
LINES = {
    "acks-sweep": "Waiting for `acks=all` takes 2.8 times as long.",
    "parity": "Kafka is 2.5 times as fast.",
    "soak": "Writes stopped for 72 s.",
}
QUESTIONS = """\
questions:
  - {question: "What do copies cost?", scenarios: [acks-sweep, parity, broker-kill], key: true}
  - {question: "Which one on slow disks?", scenarios: [parity], finding: 2, key: true}
  - {question: "What if it is killed?", scenarios: [broker-kill, soak], finding: 2}
  - {question: "Not published?", scenarios: [broker-kill]}
"""


def fake_answer(found: Results) -> Answer:
    scenario = str(found.manifest["scenario"])
    first = Finding(LINES[scenario], advice=(f"Advice of {scenario}.",))
    return answer(findings=(first, Finding(f"The second finding of {scenario}.")), causes=(), alarms=())


def publish(folder: Path, scenario: str, **changed: Any) -> Path:
    """Put a made-up run of a scenario into a folder; `changed` are keys of its manifest."""
    run = build(folder / scenario, SMALL)
    manifest = run / "manifest.json"
    manifest.write_text(
        json.dumps(json.loads(manifest.read_text()) | {"scenario": scenario, "title": scenario} | changed)
    )
    (run / "scenario.yaml").write_text(catalogue.names()[scenario].read_text())
    return run


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Answers and questions of this test, not of the suite."""
    file = tmp_path / "questions.yaml"
    file.write_text(QUESTIONS)
    monkeypatch.setattr(published_reports, "run_answer", fake_answer)
    monkeypatch.setattr(published_reports, "front_page", lambda: front_page(file))


@pytest.fixture
def folder(fakes: None, tmp_path: Path) -> Path:
    """Three published runs."""
    folder = tmp_path / "published"
    for scenario in LINES:
        publish(folder, scenario)
    return folder


class Outline(HTMLParser):
    """The texts of a page by the class or element that holds them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._open: list[tuple[str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "input"}:
            self._open.append((tag, dict(attrs).get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        words = " ".join(data.split())
        for tag, names in self._open if words else ():
            for key in {tag, *names.split()}:
                self.texts.setdefault(key, []).append(words)

    def text(self, key: str) -> str:
        return " ".join(self.texts.get(key, ()))


def topics(page: str) -> Iterator[str]:
    yield from re.findall(r'<article class="entry topic[^"]*">.*?</article>', page, re.DOTALL)


def test_a_question_is_answered_by_its_first_scenario_and_the_others_are_folded(folder: Path) -> None:
    first, *_ = topics(published_reports.render(folder, FAMILIES))
    shown, _, folded = first.partition("<details")

    assert "What do copies cost?" in shown
    assert "Waiting for <code>acks=all</code> takes 2.8 times as long." in shown
    assert 'href="acks-sweep/report.html"' in shown
    assert LINES["parity"] in folded
    assert "1 more report<" in folded


def test_a_question_names_the_sentence_that_answers_it(folder: Path) -> None:
    _, second, _ = topics(published_reports.render(folder, FAMILIES))

    assert "The second finding of parity." in second
    assert LINES["parity"] not in second


def test_where_the_first_scenario_is_not_published_the_next_answers_with_its_first_sentence(
    folder: Path,
) -> None:
    *_, third = topics(with_plain_spaces(published_reports.render(folder, FAMILIES)))

    assert "What if it is killed?" in third
    assert LINES["soak"] in third


def test_a_question_of_which_nothing_is_published_is_left_out(folder: Path) -> None:
    assert "Not published" not in published_reports.render(folder, FAMILIES)


def test_key_findings_are_sentences_of_answers_and_what_to_do(folder: Path) -> None:
    page = published_reports.render(folder, FAMILIES)
    findings, others = page[page.index('id="findings"') :].split('<section id="questions">')
    first, second = re.findall(r'<article class="entry topic key">.*?</article>', findings, re.DOTALL)

    assert '<p class="advice">Advice of acks-sweep.</p>' in first
    assert "The second finding of parity." in second
    assert "Advice" not in second
    assert "What if it is killed?" in others
    assert "Advice" not in others


def test_the_page_says_on_how_many_cores_servers_and_load_ran(folder: Path) -> None:
    manifest = folder / "soak" / "manifest.json"
    other = json.loads(manifest.read_text()) | {"machine": {"cpus": 8}}
    manifest.write_text(json.dumps(other))
    assert "ran on one machine with 2 cores or 8 cores: read ratios" in published_reports.render(
        folder, FAMILIES
    )

    manifest.write_text(json.dumps(other | {"backend": "external"}))
    assert "ran on one machine with 2 cores: read ratios" in published_reports.render(folder, FAMILIES)


def test_what_prevents_the_causes_of_each_system_is_the_advice_of_a_fault(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        Cause("It ends.", "Do this.", system="Kafka"),
        Cause("It waits.", "Do that.", system="Pulsar"),
    )
    causes = (first, replace(first, prevention="Do more."), second, Cause("It stops.", system="Pulsar"))
    monkeypatch.setattr(published_reports, "run_answer", lambda found: answer(causes=causes, alarms=()))

    shown, *_ = topics(published_reports.render(folder, FAMILIES))

    assert '<p class="advice">Kafka: Do this. Pulsar: Do that.</p>' in shown


def test_verdicts_stand_beside_the_answer(folder: Path) -> None:
    judged = [{"claim": "One", "verdict": "held"}, {"claim": "Two", "verdict": "undecided"}]
    (folder / "parity" / "results" / "expectations.json").write_text(json.dumps(judged))

    _, second, _ = topics(published_reports.render(folder, FAMILIES))

    assert '<span class="chip good">1 held</span>' in second
    assert '<span class="chip warn">1 undecided</span>' in second


def test_every_report_stands_in_its_family_with_its_line_and_run(folder: Path) -> None:
    page = published_reports.render(folder, FAMILIES)

    assert [page.count(f'class="entry" id="{name}"') for name in LINES] == [1, 1, 1]
    durability = page[page.index('id="durability"') : page.index('id="faults"')]
    assert "Durability: 2 reports" in durability
    assert 'href="parity/report.pdf"' in durability
    assert "of 2 trials valid" in durability
    assert "One machine with 2 cores, five rounds." in durability
    assert "Faults: 1 report" in page


def test_runs_of_scenarios_that_changed_and_of_other_versions_are_folded_away(folder: Path) -> None:
    copy = folder / "parity" / "scenario.yaml"
    copy.write_text(re.sub(r"(?m)^duration: .*", "duration: 7s", copy.read_text()))
    for number, scenario in enumerate(LINES):
        manifest = folder / scenario / "manifest.json"
        versions = {"memory": "1" if number else "0.9"}
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"versions": versions}))

    page = published_reports.render(folder, FAMILIES)

    older = page[page.index('<details class="older">') : page.index('id="faults"')]
    assert "2 of another server version than most, or of a scenario whose file has changed since" in older
    assert 'id="parity"' in older
    assert "the scenario has changed since" in older
    assert 'id="acks-sweep"' in older
    assert "Memory 0.9" in older
    assert 'id="soak"' not in older


def test_losses_that_a_promise_covers_and_corrections_stand_with_the_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarm = "Pulsar lost 3 messages that its configuration promises to keep."
    monkeypatch.setattr(published_reports, "run_answer", lambda found: answer(alarms=(alarm,)))
    manifest = folder / "acks-sweep" / "manifest.json"
    manifest.write_text(
        json.dumps(json.loads(manifest.read_text()) | {"started_utc": "2026-11-25T01:14:46Z"})
    )

    first, *_ = topics(published_reports.render(folder, FAMILIES))

    assert f'<p class="alarm">{alarm}</p>' in first
    assert '<a href="acks-sweep/report.html#corrections">Corrected 2026-11-25</a>' in first


def test_a_run_by_an_older_version_of_the_suite_is_there_without_a_line(folder: Path) -> None:
    table = folder / "soak" / "results" / "trials.parquet"
    pd.read_parquet(table).drop(columns="other_cpu").to_parquet(table)

    page = published_reports.render(folder, FAMILIES)

    assert "cannot read the results of this run" in page[page.index('id="faults"') :]
    assert LINES["soak"] not in page


def test_the_matrix_of_a_family_is_linked_where_it_is_there(folder: Path) -> None:
    assert "family-faults" not in published_reports.render(folder, FAMILIES)
    matrix = folder / "family-faults" / "report.html"
    matrix.parent.mkdir()
    matrix.touch()

    assert 'href="family-faults/report.html">All faults on one page' in published_reports.render(
        folder, FAMILIES
    )


def test_the_page_needs_no_network_and_every_link_is_relative(folder: Path) -> None:
    page = published_reports.write(folder, FAMILIES).read_text()

    links = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert links
    assert [link for link in links if re.match(r"/|\w+:", link)] == []
    assert "fetch(" not in page
    assert "@import" not in page


def test_the_page_is_well_formed(folder: Path) -> None:
    outline = Outline(published_reports.render(folder, FAMILIES))

    assert outline._open == []
    assert outline.text("h1").startswith("Kafka and Pulsar: what an acknowledgement costs")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("questions:\n  - {question: What, scenarios: []}", "2: questions.0.scenarios: "),
        (
            "questions:\n  - {question: What, scenario: [parity]}",
            "2: questions.0.scenarios: this key is missing",
        ),
        (
            "questions:\n  - {question: What, scenarios: [parity], finding: 0}",
            "2: questions.0.finding: ",
        ),
    ],
)
def test_a_mistake_in_the_questions_is_reported_with_line_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)

    with pytest.raises(ReportError) as refused:
        front_page(file)

    assert str(refused.value).startswith(f"{file}:{message}")


def test_the_suites_own_questions_name_scenarios_that_exist_and_are_few() -> None:
    own = front_page()

    named = {name for one in own.questions for name in one.scenarios}
    assert named <= set(catalogue.names())
    assert 10 <= len(own.questions) <= 24
    assert sum(one.key for one in own.questions) == 5
    assert all(one.question.endswith("?") for one in own.questions)


def test_the_sentences_that_the_suites_own_front_page_shows_are_there() -> None:
    own = front_page()
    published = {run.parent.name for run in PUBLISHED.glob("*/manifest.json")}
    shown = {
        (next(name for name in question.scenarios if name in published), question.finding)
        for question in own.questions
        if published & set(question.scenarios)
    }

    counts = {name: len(run_answer(results.read(PUBLISHED / name)).findings) for name, _ in shown}

    assert {(name, number) for name, number in shown if number > counts[name]} == set()


def test_slow_disks_are_answered_by_the_finding_on_slower_disks() -> None:
    (asked,) = [one for one in front_page().questions if "slow disks" in one.question]

    answered = run_answer(results.read(PUBLISHED / asked.scenarios[0])).findings[asked.finding - 1]

    assert answered.anchor == "price"
