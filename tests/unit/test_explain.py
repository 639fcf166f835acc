"""A run's answer as Markdown and in a terminal."""

from __future__ import annotations

from datetime import date
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from bench import cli
from bench.errors import ReportError
from bench.report import results
from bench.report.answer.model import Answer
from bench.report.corrections import Correction, RunCorrections
from bench.report.pages import markdown, terminal
from tests.answer_sketch import ANSWER, answer
from tests.report_data import build
from tests.report_sketch import Sketch

WHOLE = """\
### What a copy costs

What does a copy cost?

**Waiting for all replicas takes 2.8 times as long.**

- No difference can be told on Pulsar.

**What to do:** Wait for all replicas.

> **Promise broken:** Pulsar lost 3 messages that its configuration promises to keep.
>
> **Note:** The CPU limited 3 of 10 trials.

| guarantee | Kafka ms a send | ratio |
| --- | ---: | ---: |
| **In memory** |  |  |
| any one node | 0.66 | 2.5 times |
| a \\| b | 1.5 |  |

- **Why:** The session ends after 6 s. **What to do:** A shorter session. (KIP-500)

Expected before the run:

- ✓ **held**: Kafka: `acks=all` is slower (2.8 times, 2.5 to 3.1)
- ? **undecided**: `acks=all` is slower

- *bookie*: a server that stores messages

*Conditions: One machine with 2 cores, five rounds.*

Run `20261121-120000-acks-sweep-standard`, by `bench explain` 0.1.0.
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("explain") / "run", Sketch(systems=("memory",), rounds=1, messages=100)
    )


@pytest.fixture(autouse=True)
def no_corrections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "corrections", lambda manifest, is_fault_run: RunCorrections())


def explained(run: Path, given: Answer) -> str:
    return markdown.render(given, results.read(run))


def printed(run: Path, monkeypatch: pytest.MonkeyPatch, given: Answer) -> str:
    monkeypatch.setattr(terminal, "run_answer", lambda found: given)
    stream = StringIO()
    Console(file=stream, width=160).print(terminal.summary(run))
    return stream.getvalue()


def test_the_whole_answer_is_markdown(run: Path) -> None:
    assert explained(run, ANSWER) == WHOLE


def test_an_answer_of_one_finding_is_short(run: Path) -> None:
    short = Answer("What a copy costs", "What?", ANSWER.findings[:1], "One machine.")

    lines = [line for line in explained(run, short).splitlines() if line]

    assert lines[:4] == [
        "### What a copy costs",
        "What?",
        f"**{ANSWER.findings[0].text}**",
        "*Conditions: One machine.*",
    ]
    assert lines[4].startswith("Run `")
    assert len(lines) == 5


def test_several_notices_are_one_quotation(run: Path) -> None:
    text = explained(run, answer(alarms=(), notices=("First.", "Second.")))

    assert "> **Note:** First.\n>\n> **Note:** Second.\n\n|" in text


def test_corrections_that_matter_stand_with_the_notices(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = date(2026, 11, 25)
    found = RunCorrections(
        [Correction(date=day, text="Read it so."), Correction(date=day, text="No.", minor=True)]
    )
    monkeypatch.setattr(markdown, "corrections", lambda manifest, is_fault_run: found)

    text = explained(run, answer(alarms=(), notices=()))

    assert "> **Corrected 2026-11-25:** Read it so.\n\n|" in text
    assert "No." not in text


def test_the_command_prints_the_markdown_unwrapped(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = answer(question="What " + "does a copy cost " * 20 + "?")
    monkeypatch.setattr(markdown, "run_answer", lambda found: long)

    printed = CliRunner().invoke(cli.app, ["explain", str(run)])

    assert printed.exit_code == 0, printed.output
    assert long.question in printed.output.splitlines()


def test_the_command_needs_results(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")

    refused = CliRunner().invoke(cli.app, ["explain", str(tmp_path)])

    assert isinstance(refused.exception, ReportError)
    assert "is missing" in str(refused.exception)


def test_the_terminal_prints_the_answer_before_the_table(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = printed(run, monkeypatch, ANSWER)

    places = [
        shown.index(text)
        for text in (
            ANSWER.findings[0].text,
            ANSWER.findings[1].text,
            "What to do: Wait for all replicas.",
            "Why: The session ends after 6 s. A shorter session.",
            ANSWER.alarms[0],
            ANSWER.notices[0],
            ANSWER.conditions,
            "msgs/s",
            "✓ held  Kafka: acks=all is slower (2.8 times, 2.5 to 3.1)",
        )
    ]
    assert places == sorted(places)


def test_the_terminal_shows_names_without_backticks(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "`" not in printed(run, monkeypatch, answer(advice=("Set `acks=all`.",)))
