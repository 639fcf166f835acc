from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.analysis import tables
from bench.errors import BenchError
from bench.report import packed_page, results
from bench.run import publishing
from bench.run.folder import RunFolder
from bench.run.publishing import publish
from bench.scenario import catalogue
from tests.report_data import build
from tests.report_sketch import Sketch


def made(folder: Path) -> RunFolder:
    """A run with everything that it leaves behind: event log, logs, pages, report."""
    path = build(folder / "20261121-120000-acks-sweep-standard", Sketch(systems=("memory",), rounds=1))
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


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return made(tmp_path)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Where the run will be published."""
    return tmp_path / "published" / "acks-sweep"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What publishing such a run leaves: the folder of all published runs."""
    folder = tmp_path_factory.mktemp("first")
    publish([made(folder)], folder / "published")
    return folder / "published"


@pytest.fixture
def published(first: Path, there: Path) -> Path:
    """Where the run is published already; each test has a copy."""
    shutil.copytree(first, there.parent)
    return there


@pytest.fixture
def no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish without drawing reports, where a test does not look into them: drawing one takes seconds."""

    def written(folder: Path) -> None:
        for name in ("report.html", "report.pdf"):
            (folder / name).write_text("of today")

    monkeypatch.setattr(publishing, "_write_report", written)


def test_a_percentile_that_no_trial_has_keeps_nobody_from_publishing_twice(tmp_path: Path) -> None:
    """Where many sends were never answered the worst thousandth has no response time."""
    sketch = Sketch(systems=("memory",), rounds=1, open_loop=True)
    path = build(tmp_path / "20261121-120000-acks-sweep-standard", sketch)
    (path / "scenario.yaml").write_text("name: acks-sweep\n")
    table = path / "results" / "trials.parquet"
    pd.read_parquet(table).assign(response_p99_9_ns=None).to_parquet(table)

    publish([RunFolder(path)], tmp_path / "published")
    publish([RunFolder(tmp_path / "published" / "acks-sweep")], tmp_path / "published")

    cases = results.read(tmp_path / "published" / "acks-sweep").cases
    assert "response_p99_9_ns" not in cases
    assert "response_p99_ns" in cases


def change(path: Path, **changed: Any) -> None:
    """Change some keys of a JSON document."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


def test_what_a_report_is_made_of_is_published_and_nothing_else(run: RunFolder, published: Path) -> None:
    found, original = results.read(published), results.read(run.path)
    assert found.trials.equals(original.trials[found.trials.columns])
    assert list(found.cases["case"]) == list(original.cases["case"])
    assert found.trial_records == original.trial_records
    assert found.plan == original.plan
    assert found.summary["figure"] == original.summary["figure"]
    assert {path.name for path in published.iterdir()} == {
        *("manifest.json", "plan.json.xz", "scenario.yaml", "trials.json.xz"),
        *("report.html", "report.pdf", "results"),
    }
    assert {path.suffix for path in (published / "results").iterdir()} == {".parquet", ".xz"}


@pytest.mark.usefixtures("no_reports")
def test_claims_are_judged_by_todays_rules_from_the_tables(run: RunFolder, there: Path) -> None:
    claim = {"id": "kept", "claim": "None is lost", "system": "memory", "metric": "lost", "at_most": 0}
    change(run.path / "manifest.json", expectations=[claim])
    (run.path / "results" / "expectations.json").write_text("[]")

    publish([run], there.parent)

    (judged,) = results.expectations(there)
    trials = results.read(run.path).trials
    assert judged["verdict"] == ("held" if (trials["lost"] == 0).all() else "did not hold")
    assert [one["rounds"] for one in judged["comparisons"]] == [1] * trials["case"].nunique()


@pytest.mark.usefixtures("no_reports")
def test_a_claim_on_what_moved_messages_is_judged_from_the_tables(run: RunFolder, there: Path) -> None:
    claim = {
        "id": "soon",
        "claim": "It is empty within 2 s",
        "system": "memory",
        "metric": "done_ns",
        "transfer": "drained",
        "at_most": 2_000_000_000,
    }
    change(run.path / "manifest.json", expectations=[claim])
    rows = [
        {"trial": trial, "transfer": "drained", "kind": "drain", "asked_ns": 0, "done_ns": 1_000_000_000}
        for trial in results.read(run.path).trials["trial"]
    ]
    tables.write_rows(run.path / "results", "transfers", rows)

    publish([run], there.parent)

    (judged,) = results.expectations(there)
    assert judged["verdict"] == "held"


def test_a_published_report_leads_to_no_page_that_is_not_there(published: Path) -> None:
    assert "pages/0000.html" not in (published / "report.html").read_text()


def test_the_index_leads_to_every_report(published: Path) -> None:
    index = published.parent / "index.html"

    page = index.read_text()
    assert {"acks-sweep/report.html", "acks-sweep/report.pdf"} <= set(local_links(page))
    assert all((index.parent / link).is_file() for link in local_links(page))
    assert "Durability: 1 report" in page


def local_links(page: str) -> list[str]:
    """The files that a page leads to."""
    links = re.findall(r'href="([^"#]+)', page)
    return [link for link in links if not re.match(r"data:|https?:|mailto:", link)]


@pytest.mark.usefixtures("no_reports")
def test_a_new_run_replaces_the_one_of_its_scenario(run: RunFolder, there: Path, tmp_path: Path) -> None:
    older = build(tmp_path / "20261120-120000-acks-sweep-standard", Sketch(systems=("memory",), rounds=2))
    (older / "scenario.yaml").touch()
    publish([RunFolder(older)], there.parent)

    page = publish([run], there.parent).read_text()

    assert page.count('id="acks-sweep"') == 1
    assert page.count("/report.pdf") == 1
    assert results.read(there).rounds == 1
    assert [path.name for path in there.parent.iterdir() if path.is_dir()] == ["acks-sweep"]


def test_a_run_of_a_scenario_that_asks_for_something_else_today_says_so(published: Path) -> None:
    today = catalogue.names()["acks-sweep"].read_text()
    copy = published / "scenario.yaml"
    said = {}
    for what, text in {
        "same": today,
        "told otherwise": today.replace("title: ", "title: On "),
        "asked for otherwise": re.sub(r"(?m)^repeats: .*", "repeats: 7", today),
    }.items():
        copy.write_text(text)
        said[what] = "the scenario has changed since" in publish([], published.parent).read_text()

    assert said == {"same": False, "told otherwise": False, "asked for otherwise": True}


@pytest.mark.usefixtures("no_reports")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"profile": "quick"}, "quick"),
        ({"overrides": ["load.producers=40"]}, "standard with load.producers=40"),
        ({"never_run": 3}, "cut short"),
    ],
)
def test_a_run_that_is_not_whole_never_replaces_a_whole_one(
    run: RunFolder, there: Path, tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    later = build(tmp_path / "20261122-120000-acks-sweep-later", Sketch(systems=("memory",), rounds=1))
    (later / "scenario.yaml").touch()
    changed = {**settings}
    planned = changed.pop("never_run", 0)
    change(later / "manifest.json", started_utc="2026-11-22T12:00:00Z", **changed)
    trials = json.loads((later / "plan.json").read_text())["trials"]
    never_run = [{**trials[0], "trial": 1000 + number} for number in range(planned)]
    change(later / "plan.json", trials=trials + never_run)

    assert said in publish([RunFolder(later)], there.parent).read_text().replace("<wbr>", "")
    publish([RunFolder(later)], there.parent)  # one that is not whole may replace another
    publish([run], there.parent)
    with pytest.raises(BenchError, match=r"holds a whole run of its scenario"):
        publish([RunFolder(later)], there.parent)

    assert results.read(there).manifest["started_utc"] != "2026-11-22T12:00:00Z"


@pytest.mark.usefixtures("no_reports")
def test_publishing_again_replaces_and_no_run_renews_the_index_alone(run: RunFolder, published: Path) -> None:
    index = (published.parent / "index.html").read_text()
    (published / "results" / "leftover.parquet").touch()

    assert publish([run], published.parent).read_text() == index
    assert not (published / "results" / "leftover.parquet").exists()
    assert publish([], published.parent).read_text() == index


@pytest.mark.usefixtures("no_reports")
def test_the_page_of_a_family_that_is_there_is_renewed(run: RunFolder, there: Path) -> None:
    page = there.parent / "family-durability" / "report.html"
    page.parent.mkdir(parents=True)
    page.write_text("of yesterday")

    publish([run], there.parent)

    assert "No run here yet: dedup-cost" in page.read_text()
    assert "../acks-sweep/report.html" in local_links(page.read_text())
    assert all((page.parent / link).is_file() for link in local_links(page.read_text()))
    assert not (there.parent / "family-faults").exists()


def test_a_run_without_results_is_refused_with_what_to_do(run: RunFolder, there: Path) -> None:
    (run.path / "results" / "trials.parquet").unlink()

    with pytest.raises(BenchError, match=r"has no results/trials\.parquet: analyse it first: bench report"):
        publish([run], there.parent)

    assert not list(there.parent.glob("*"))


def test_a_run_by_other_columns_is_refused_and_leaves_nothing_behind(run: RunFolder, there: Path) -> None:
    file = run.path / "results" / "trials.parquet"
    pd.read_parquet(file).drop(columns="other_cpu").to_parquet(file)

    with pytest.raises(BenchError, match="has no column other_cpu"):
        publish([run], there.parent)

    assert not list(there.parent.iterdir())


def test_a_published_run_is_published_again_with_the_same_page(published: Path) -> None:
    page = (published / "report.html").read_text()
    tables = {path.name: path.read_bytes() for path in (published / "results").iterdir()}
    for file in ("report.html", "report.pdf"):
        (published / file).write_text("of yesterday")

    publish([RunFolder(published)], published.parent)

    assert (published / "report.html").read_text() == page
    assert (published / "report.pdf").read_bytes().startswith(b"%PDF-")
    assert {path.name: path.read_bytes() for path in (published / "results").iterdir()} == tables


def test_where_a_folder_is_too_large_its_page_unpacks_itself(
    run: RunFolder, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, size = (published / "report.html").read_text(), publishing._size(published)
    monkeypatch.setattr(publishing, "MOST_BYTES", size - 1)

    publish([run], published.parent)

    packed = (published / "report.html").read_text()
    assert len(packed) < len(page) * 2 / 3
    assert packed_page.unpack(packed) == page


def test_a_run_that_is_too_large_is_refused_with_its_largest_files(
    run: RunFolder, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "MOST_BYTES", 1000)

    with pytest.raises(BenchError, match=r"would take [\d,]+ bytes \(report\.\w+ .*\); at most 1,000"):
        publish([run], there.parent)

    assert not list(there.parent.iterdir())


@pytest.mark.usefixtures("no_reports")
def test_what_broke_renews_the_reports_that_show_what_became_of_promises(
    published: Path, tmp_path: Path
) -> None:
    page = published / "report.html"
    page.write_text("of yesterday")
    struck = build(tmp_path / "20261121-130000-power-loss-standard", Sketch(systems=("memory",), rounds=2))
    (struck / "scenario.yaml").touch()
    change(struck / "manifest.json", scenario="power-loss")
    publish([RunFolder(struck)], published.parent)
    assert page.read_text() == "of yesterday"  # nothing broke in it

    change(struck / "results" / "summary.json", figure="timeline")
    publish([RunFolder(struck)], published.parent)

    assert page.read_text() == "of today"
