"""A family's page: the latest run of each scenario, a line a configuration."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from bench.errors import ReportError
from bench.report.pages import family
from tests.report_data import build
from tests.report_sketch import Sketch


def run(out: Path, when: str, scenario: str, sketch: Sketch | None = None) -> Path:
    folder = build(out / f"{when}-{scenario}-quick", sketch)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"scenario": scenario, "title": f"Title of {scenario}", "profile": "quick"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def text(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index("<main>") :]))


def test_the_latest_run_of_each_scenario_counts(tmp_path: Path) -> None:
    run(tmp_path, "20260101-000000", "one", Sketch(rounds=1, lost={0: 61}))
    latest = run(tmp_path, "20260102-000000", "one", Sketch(rounds=1))
    (tmp_path / "20260103-000000-one-quick").mkdir()  # began, and has no results

    on_screen, on_paper = family.write("faults", ["one", "two"], tmp_path)

    page = on_screen.read_text()
    assert f'href="../{latest.name}/report.html"' in page
    assert "No run here yet: two." in text(page)
    assert " 61 " not in text(page)
    assert on_paper.read_bytes().startswith(b"%PDF")


def test_a_quick_run_does_not_stand_in_for_a_longer_one(tmp_path: Path) -> None:
    longer = run(tmp_path, "20260101-000000", "one", Sketch(rounds=1))
    manifest = json.loads((longer / "manifest.json").read_text()) | {"profile": "standard"}
    (longer / "manifest.json").write_text(json.dumps(manifest))
    run(tmp_path, "20260102-000000", "one", Sketch(rounds=1))

    page = family.write("faults", ["one"], tmp_path)[0].read_text()

    assert f'href="../{longer.name}/report.html"' in page


def test_losses_stand_out_as_a_range_over_the_trials(tmp_path: Path) -> None:
    run(tmp_path, "20260101-000000", "one", Sketch(systems=("memory",), rounds=3))
    plain = family.write("faults", ["one"], tmp_path)[0].read_text()
    assert 'class="number bad"' not in plain

    run(tmp_path, "20260102-000000", "one", Sketch(systems=("memory", "kafka"), rounds=3, lost={2: 60}))
    page = family.write("faults", ["one"], tmp_path)[0].read_text()
    assert 'class="number bad"' in page
    assert "3/3" in text(page)


def test_a_run_by_other_rules_is_named_and_the_others_stand(tmp_path: Path) -> None:
    run(tmp_path, "20260101-000000", "one", Sketch(rounds=1))
    older = run(tmp_path, "20260102-000000", "two", Sketch(rounds=1)) / "results" / "trials.parquet"
    pd.read_parquet(older).drop(columns="other_cpu").to_parquet(older)

    page = text(family.write("faults", ["one", "two"], tmp_path)[0].read_text())

    assert "computes it again from its event log): two." in page
    assert "Title of one" in page


def test_a_family_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="there is no run with results of family 'faults'"):
        family.write("faults", ["one"], tmp_path)
