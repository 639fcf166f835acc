"""Dated corrections: which runs they concern, and how a mistake in the file is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import ReportError
from bench.report import templates
from bench.report.corrections import FILE as OWN
from bench.report.corrections import Corrections, corrections
from bench.report.yaml_document import read
from bench.scenario import catalogue

FILE = """\
corrections:
  - {date: 2026-11-25, scenarios: [parity], text: Of one scenario.}
  - {date: 2026-11-26, kind: faults, runs_before: 2026-11-25T14:00:00Z, minor: true, text: Of earlier faults.}
  - {date: 2026-11-24, runs_before: 2026-11-25T14:00:00Z, text: Of all earlier runs., detail: Why.}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "corrections.yaml"
    path.write_text(FILE)
    return path


def texts(file: Path, scenario: str, started: str, *, is_fault_run: bool = False) -> list[str]:
    manifest = {"scenario": scenario, "started_utc": started}
    return [one.text for one in corrections(manifest, is_fault_run=is_fault_run, file=file)]


def test_a_correction_concerns_runs_of_its_scenario_that_began_by_its_day(file: Path) -> None:
    assert texts(file, "parity", "2026-11-25T23:59:59Z") == ["Of one scenario."]
    assert texts(file, "parity", "2026-11-26T00:00:00Z") == []
    assert texts(file, "acks-sweep", "2026-11-25T23:59:59Z") == []


def test_a_changed_rule_concerns_runs_that_began_before_it_the_newest_correction_first(file: Path) -> None:
    assert texts(file, "soak", "2026-11-25T13:59:59Z", is_fault_run=True) == [
        "Of earlier faults.",
        "Of all earlier runs.",
    ]
    assert texts(file, "soak", "2026-11-25T13:59:59Z") == ["Of all earlier runs."]
    assert texts(file, "soak", "2026-11-25T14:00:00Z", is_fault_run=True) == []


def test_a_run_that_does_not_say_when_it_began_has_no_corrections(file: Path) -> None:
    assert texts(file, "parity", "") == []


def test_minor_corrections_are_apart(file: Path) -> None:
    found = corrections(
        {"scenario": "soak", "started_utc": "2026-11-24T00:00:00Z"}, is_fault_run=True, file=file
    )

    assert [one.text for one in found.minor] == ["Of earlier faults."]
    assert [one.text for one in found.major] == ["Of all earlier runs."]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "  - {date: 2026-11-25, scenario: parity, text: Of one.}",
            "2: corrections.0.scenario: there is no such key",
        ),
        ("  - {date: 2026-11-25}", "2: corrections.0.text: this key is missing"),
        ("  - {date: soon, text: Of all.}", "2: corrections.0.date: Input should be a valid date"),
    ],
)
def test_a_mistake_is_reported_with_line_and_key(file: Path, line: str, message: str) -> None:
    file.write_text(f"corrections:\n{line}\n")

    with pytest.raises(ReportError) as refused:
        texts(file, "parity", "2026-11-25T00:00:00Z")

    assert str(refused.value).startswith(f"{file}:{message}")


def test_a_file_that_is_not_yaml_is_reported(file: Path) -> None:
    file.write_text("corrections: [")

    with pytest.raises(ReportError, match=r"corrections\.yaml:1: this is not YAML"):
        texts(file, "parity", "2026-11-25T00:00:00Z")


def test_every_correction_of_this_repository_names_scenarios_that_exist() -> None:
    named = {name for one in read(OWN, Corrections).corrections for name in one.scenarios}

    assert named
    assert named <= set(catalogue.names())


def test_a_report_shows_corrections_at_its_top_and_minor_ones_at_its_end(file: Path) -> None:
    found = corrections(
        {"scenario": "soak", "started_utc": "2026-11-24T00:00:00Z"}, is_fault_run=True, file=file
    )

    top = templates.render("corrections.html.j2", {"corrections": found})
    end = templates.render("sections/corrections.html.j2", {"content": found})

    assert "<b>Corrected 2026-11-24:</b> Of all earlier runs." in top
    assert '<a href="#corrections">More</a>' in top
    assert "Of earlier faults." not in top
    assert "Why." not in top
    assert "<b>Of all earlier runs.</b> Why." in end
    assert "Of earlier faults." in end


def test_a_report_without_corrections_shows_none_at_its_top(file: Path) -> None:
    none = corrections({"scenario": "soak", "started_utc": ""}, is_fault_run=False, file=file)

    assert templates.render("corrections.html.j2", {"corrections": none}).strip() == ""
