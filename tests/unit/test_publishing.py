from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.errors import BenchError
from bench.report import results
from bench.run.folder import RunFolder
from bench.run.publishing import publish
from bench.scenario import catalogue
from tests.report_data import build
from tests.report_sketch import Sketch


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run with everything that it leaves behind: event log, logs, pages, report."""
    path = build(tmp_path / "20261121-120000-acks-sweep-standard", Sketch(systems=("memory",), rounds=1))
    (path / "scenario.yaml").write_text("name: acks-sweep\n")
    for left in (
        "trials/0000/sends/0.parquet",
        "trials/0000/telemetry/samples.parquet",
        "logs/00-memory/a.log",
    ):
        (path / left).parent.mkdir(parents=True, exist_ok=True)
        (path / left).touch()
    (path / "pages").mkdir()
    (path / "pages" / "0000.html").touch()
    return RunFolder(path)


def test_what_a_report_is_made_of_is_kept_and_nothing_else(run: RunFolder, tmp_path: Path) -> None:
    publish([run], tmp_path / "published")

    there = tmp_path / "published" / run.path.name
    assert results.read(there).trials.equals(results.read(run.path).trials)
    assert {path.name for path in there.iterdir()} == {
        *("manifest.json", "plan.json", "scenario.yaml", "report.html", "report.pdf", "results", "trials"),
    }
    assert {path.name for path in there.rglob("trials/*/*")} == {"trial.json"}
    assert (there / "results" / "trials.csv").is_file()
    assert not (there / "results" / "percentiles.csv").exists()


def test_claims_are_judged_by_todays_rules_from_the_tables(run: RunFolder, tmp_path: Path) -> None:
    claim = {"id": "kept", "claim": "None is lost", "system": "memory", "metric": "lost", "at_most": 0}
    manifest = run.path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"expectations": [claim]}))
    (run.path / "results" / "expectations.json").write_text("[]")

    publish([run], tmp_path / "published")

    there = tmp_path / "published" / run.path.name
    (judged,) = json.loads((there / "results" / "expectations.json").read_text())
    trials = results.read(run.path).trials
    assert judged["verdict"] == ("held" if (trials["lost"] == 0).all() else "did not hold")
    assert [one["rounds"] for one in judged["comparisons"]] == [1] * trials["case"].nunique()


def test_a_published_report_leads_to_no_page_that_is_not_there(run: RunFolder, tmp_path: Path) -> None:
    publish([run], tmp_path / "published")

    page = (tmp_path / "published" / run.path.name / "report.html").read_text()
    assert "pages/0000.html" not in page


def test_the_index_leads_to_every_report(run: RunFolder, tmp_path: Path) -> None:
    index = publish([run], tmp_path / "published")

    page = index.read_text()
    links = [link for link in re.findall(r'href="([^"#]*)"', page) if not link.startswith("data:")]
    assert {f"{run.path.name}/report.html", f"{run.path.name}/report.pdf"} <= set(links)
    assert all((index.parent / link).is_file() for link in links)
    assert "Durability" in page
    assert "memory" not in re.findall(r"<h3>.*</h3>", page)


def test_an_older_run_of_a_scenario_stays_in_its_history(run: RunFolder, tmp_path: Path) -> None:
    older = build(tmp_path / "20261120-120000-acks-sweep-standard", Sketch(systems=("memory",), rounds=2))
    (older / "scenario.yaml").touch()
    publish([RunFolder(older)], tmp_path / "published")

    page = publish([run], tmp_path / "published").read_text()

    assert page.count("<article") == 1
    assert page.count("/report.pdf") == 2
    assert page.count("<details>") == 1  # case by case, which takes two runs


def test_a_run_of_a_scenario_that_asks_for_something_else_today_says_so(
    run: RunFolder, tmp_path: Path
) -> None:
    today = catalogue.names()["acks-sweep"].read_text()
    publish([run], tmp_path / "published")
    copy = tmp_path / "published" / run.path.name / "scenario.yaml"
    said = {}
    for what, text in {
        "same": today,
        "told otherwise": today.replace("title: ", "title: On "),
        "another profile": today.replace("repeats: 9", "repeats: 8"),
        "asked for otherwise": today.replace("repeats: 5", "repeats: 7"),
    }.items():
        copy.write_text(text)
        said[what] = "the scenario has changed since" in publish([], tmp_path / "published").read_text()

    assert said == {
        **dict.fromkeys(("same", "told otherwise", "another profile"), False),
        "asked for otherwise": True,
    }


@pytest.mark.parametrize(
    ("changed", "planned", "said"),
    [
        ({"profile": "quick"}, 0, "quick"),
        ({"overrides": ["load.producers=40"]}, 0, "standard with load.producers=40"),
        ({}, 3, "cut short"),
    ],
)
def test_a_run_that_only_stands_in_answers_where_there_is_no_other(
    run: RunFolder, tmp_path: Path, changed: dict[str, Any], planned: int, said: str
) -> None:
    sketch = Sketch(systems=("memory",), rounds=1)
    quick = build(tmp_path / "20261122-120000-acks-sweep-later", sketch)
    (quick / "scenario.yaml").touch()
    manifest = json.loads((quick / "manifest.json").read_text())
    later = {"started_utc": "2026-11-22T12:00:00Z", **changed}
    (quick / "manifest.json").write_text(json.dumps(manifest | later))
    plan = json.loads((quick / "plan.json").read_text())
    never_run = [{**plan["trials"][0], "trial": 1000 + number} for number in range(planned)]
    (quick / "plan.json").write_text(json.dumps(plan | {"trials": plan["trials"] + never_run}))

    def answering() -> list[str]:
        page = publish([], tmp_path / "published").read_text()
        return re.findall(r'<h3><a href="([^/]*)/', page)

    assert said in publish([RunFolder(quick)], tmp_path / "published").read_text().replace("<wbr>", "")
    assert answering() == [quick.name]
    publish([run], tmp_path / "published")
    assert answering() == [run.path.name]


def test_publishing_again_replaces_and_no_run_renews_the_index_alone(run: RunFolder, tmp_path: Path) -> None:
    first = publish([run], tmp_path / "published").read_text()
    (tmp_path / "published" / run.path.name / "results" / "leftover.csv").touch()

    assert publish([run], tmp_path / "published").read_text() == first
    assert not (tmp_path / "published" / run.path.name / "results" / "leftover.csv").exists()
    assert publish([], tmp_path / "published").read_text() == first


def test_the_page_of_a_family_that_is_there_is_renewed(run: RunFolder, tmp_path: Path) -> None:
    page = tmp_path / "published" / "family-durability" / "report.html"
    page.parent.mkdir(parents=True)
    page.write_text("of yesterday")

    publish([run], tmp_path / "published")

    assert "No run here yet: dedup-cost" in page.read_text()
    assert not (tmp_path / "published" / "family-faults").exists()


def test_a_run_without_results_is_refused_with_what_to_do(run: RunFolder, tmp_path: Path) -> None:
    (run.path / "results" / "trials.parquet").unlink()

    with pytest.raises(BenchError, match=r"has no results/trials\.parquet: analyse it first: bench report"):
        publish([run], tmp_path / "published")

    assert not list((tmp_path / "published").glob("*"))


def test_a_run_by_other_columns_is_refused_and_leaves_nothing_behind(run: RunFolder, tmp_path: Path) -> None:
    file = run.path / "results" / "trials.parquet"
    pd.read_parquet(file).drop(columns="other_cpu").to_parquet(file)

    with pytest.raises(BenchError, match="has no column other_cpu"):
        publish([run], tmp_path / "published")

    assert not list((tmp_path / "published").iterdir())


def test_a_published_run_is_published_again_with_the_report_of_today(run: RunFolder, tmp_path: Path) -> None:
    publish([run], tmp_path / "published")
    there = tmp_path / "published" / run.path.name
    (there / "report.html").write_text("of yesterday")

    publish([RunFolder(there)], tmp_path / "published")

    assert "<h1" in (there / "report.html").read_text()
    assert (there / "report.pdf").read_bytes().startswith(b"%PDF-")


def test_what_broke_renews_the_reports_that_show_what_became_of_promises(
    run: RunFolder, tmp_path: Path
) -> None:
    publish([run], tmp_path / "published")
    page = tmp_path / "published" / run.path.name / "report.html"
    page.write_text("of yesterday")
    struck = build(tmp_path / "20261121-130000-power-loss-standard", Sketch(systems=("memory",), rounds=2))
    (struck / "scenario.yaml").touch()
    publish([RunFolder(struck)], tmp_path / "published")
    assert page.read_text() == "of yesterday"  # nothing broke in it

    summary = struck / "results" / "summary.json"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"figure": "timeline"}))
    publish([RunFolder(struck)], tmp_path / "published")

    assert "<h1" in page.read_text()


def test_the_index_says_in_how_many_cases_messages_were_lost_or_not_read(
    run: RunFolder, tmp_path: Path
) -> None:
    summary, cases = run.path / "results" / "summary.json", run.path / "results" / "cases.parquet"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"figure": "timeline"}))
    table = pd.read_parquet(cases)
    table.assign(unread=[8, *[0] * (len(table) - 1)], lost=[*[0] * (len(table) - 1), 3]).to_parquet(cases)

    page = publish([run], tmp_path / "published").read_text()

    assert f"lost and unread in 2 of {len(table)} cases" in page
