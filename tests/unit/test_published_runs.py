"""The published runs of this repository: few bytes, one a scenario, and no link that leads nowhere."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from bench.report import packed_page, results
from bench.run.publishing import MOST_BYTES, PUBLISHED

ALL_BYTES = 48_000_000
RUNS = sorted(file.parent for file in PUBLISHED.glob("*/manifest.json"))
PAGES = [PUBLISHED / "index.html", *sorted(PUBLISHED.glob("*/report.html"))]
TEXTS = [PUBLISHED.parent / "README.md", PUBLISHED.parents[1] / "README.md"]


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_a_run_takes_few_bytes_and_all_of_them_at_most_48_megabytes() -> None:
    assert RUNS
    assert {run.name: size(run) for run in RUNS if size(run) > MOST_BYTES} == {}
    assert size(PUBLISHED) <= ALL_BYTES


def test_a_scenario_has_one_run_in_a_folder_of_its_name() -> None:
    assert [run.name for run in RUNS] == [results.document(run / "manifest.json")["scenario"] for run in RUNS]
    others = {path.name for path in PUBLISHED.iterdir() if path.is_dir()} - {run.name for run in RUNS}
    assert {name for name in others if not name.startswith("family-")} == set()


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run_has_no_folder_a_trial_and_its_documents_can_be_read(run: Path) -> None:
    assert [path.name for path in run.iterdir() if path.is_dir()] == ["results"]
    assert set(results.trial_documents(run)) == set(results.trial_numbers(run))
    assert results.summary(run)["figure"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PUBLISHED)))
def test_local_links_of_a_page_lead_to_files_that_are_there(page: Path) -> None:
    text = packed_page.unpack(page.read_text(encoding="utf-8"))
    links = Counter(
        link for link in re.findall(r'href="([^"#]+)', text) if not re.match(r"data:|https?:", link)
    )
    assert [link for link in links if not (page.parent / link).is_file()] == []


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.parent.name)
def test_links_of_a_readme_lead_to_files_that_are_there(text: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (text.parent / link).exists()] == []
