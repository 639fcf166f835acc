"""A family's page: the latest run of each scenario, a line a configuration."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pypdf import PdfReader

from bench.errors import ReportError
from bench.report import pdf, results, sweep
from bench.report.pages import family
from bench.report.sections import worth
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


@pytest.mark.parametrize(("high_mm", "sheet_mm"), [(200, (420, 297)), (300, (594, 420)), (805, (1189, 841))])
def test_a_page_is_printed_on_the_smallest_sheet_that_takes_it(
    tmp_path: Path, high_mm: int, sheet_mm: tuple[int, int]
) -> None:
    """A3, A2 and A0, all of them landscape; what not even the last one takes, as here, goes on to a second."""

    def page(paper: str) -> str:
        return (
            f"<style>@page {{ size: {paper} landscape; margin: 10mm }}</style>{paper}"
            f"<div style='height: {high_mm}mm; width: 10mm'></div><div style='height: 20mm; width: 10mm'></div>"
        )

    html = pdf.write_poster(page, tmp_path / "page.pdf")

    first, *more = PdfReader(tmp_path / "page.pdf").pages
    assert (
        round(float(first.mediabox.width) / 72 * 25.4),
        round(float(first.mediabox.height) / 72 * 25.4),
    ) == sheet_mm
    assert len(more) == (high_mm == 805)
    assert f"size: A{ {420: 3, 594: 2, 1189: 0}[sheet_mm[0]] } " in html


def test_versions_are_told_once_but_for_those_that_are_not_the_usual_ones(tmp_path: Path) -> None:
    for number, (name, kafka) in enumerate((("one", "4.3.1"), ("two", "3.9.2"), ("three", "4.3.1"))):
        made = run(tmp_path, f"2026010{number}-000000", name, Sketch(systems=("kafka",), rounds=1))
        manifest = json.loads((made / "manifest.json").read_text()) | {"versions": {"kafka": kafka}}
        (made / "manifest.json").write_text(json.dumps(manifest))

    page = text(family.write("faults", ["one", "two", "three"], tmp_path)[0].read_text())

    assert "The latest run of each scenario, on Kafka 4.3.1 where it does not say otherwise." in page
    assert "two, Kafka 3.9.2, quick," in page
    assert page.count("Kafka 4.3.1") == page.count("Kafka 3.9.2") == 1


@pytest.mark.parametrize(
    ("struck", "said"),
    [
        ("leader", "kill leader"),
        (["bookie 1", "bookie 2"], "kill bookie 1 and bookie 2"),
        (
            {"target": "leader", "from": ["all broker", "client"]},
            "kill leader from all broker and client",
        ),
    ],
)
def test_who_is_struck_is_said_as_people_say_it(tmp_path: Path, struck: Any, said: str) -> None:
    made = run(tmp_path, "20260101-000000", "one", Sketch(systems=("kafka",), rounds=1))
    for file in made.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["case"]["configuration"]["faults"] = [{"name": "struck", "kill": struck}]
        document["faults"] = [
            {"name": "struck", "kind": "kill", "nodes": ["a"], "asked_ns": 1, "proven": True}
        ]
        file.write_text(json.dumps(document))

    assert f"Kafka: {said}" in text(family.write("faults", ["one"], tmp_path)[0].read_text())


def gaps(*after_s: tuple[float, str | None]) -> pd.DataFrame:
    """A fault a trial, after 2,000/s and more: for so long no acknowledgement, and twice as long nothing received."""
    rows = [
        {
            "trial": trial,
            "asked_ns": 5,
            "rate_before": 2000.0 + 100 * trial,
            "back_ns": None if ended == "no end" else gap_s * 3e9,
            "ack_gap_ns": gap_s * 1e9,
            "ack_gap_ended": ended,
            "live_gap_ns": 2 * gap_s * 1e9,
            "live_gap_ended": None,
        }
        for trial, (gap_s, ended) in enumerate(after_s)
    ]
    return pd.DataFrame(rows)


def cells(found: results.Results) -> dict[str, str]:
    (part,) = sweep.parts(found)
    line, *_ = worth.lines(found, part)
    return dict(
        zip(worth.HEADS, (cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in line), strict=True)
    )


def test_rates_and_gaps_are_of_trials_that_other_work_did_not_crowd(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=3, messages=500)))
    first = found.cases["case"].iloc[0]
    of_case = found.trials[found.trials["case"] == first].assign(trial=[0, 1, 2], reader_stall_ns=None)
    faults = gaps((3.0, "healing"), (9.0, None), (4.0, "healing"))
    found = replace(found, faults=faults, cases=found.cases[found.cases["case"] == first])

    quiet = cells(replace(found, trials=of_case.assign(other_cpu=0.0)))
    assert (quiet["trials"], quiet["acks/s before"]) == ("3/3", "2,100 (2,000 to 2,200)")
    assert (quiet["no ack, s"], quiet["none read, s"]) == ("3.0 to 9.0, 2 till healed", "6.0 to 18.0")

    one = cells(replace(found, trials=of_case.assign(other_cpu=[0.0, 0.7, 0.2])))
    assert (one["trials"], one["acks/s before"]) == ("3/3", "2,100 (2,000 to 2,200)")
    assert (one["no ack, s"], one["none read, s"]) == (
        "3.0 to 4.0 (2 trials), till healed",
        "6.0 to 8.0 (2 trials)",
    )

    every = cells(replace(found, trials=of_case.assign(other_cpu=0.7)))
    assert every["acks/s before"] == quiet["acks/s before"]
    assert every["no ack, s"] == "3.0 to 9.0 (beside other work), 2 till healed"
    assert every["rate back, s"] == "9.0 to 27.0 (beside other work)"


def test_a_rate_that_was_never_back_and_one_below_what_was_asked_for_are_told(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=3, messages=500)))
    first = found.cases["case"].iloc[0]
    of_case = found.trials[found.trials["case"] == first].assign(
        trial=[0, 1, 2], reader_stall_ns=None, other_cpu=0.0
    )
    files = {trial: {**found.trial_files[trial], "load": {"pacing": [[1.0, 2_500.0]]}} for trial in range(3)}
    faults = gaps((3.0, None), (9.0, "no end"), (4.0, None))
    found = replace(
        found,
        faults=faults,
        trials=of_case,
        trial_files=files,
        cases=found.cases[found.cases["case"] == first],
    )

    said = cells(found)

    assert said["acks/s before"] == "2,100 (2,000 to 2,200), of 2,500 asked for"
    assert said["rate back, s"] == "9.0 to 12.0, 1 not"
    faults["back_ns"] = None
    assert cells(found)["rate back, s"] == "not"


def test_a_family_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="there is no run with results of family 'faults'"):
        family.write("faults", ["one"], tmp_path)
