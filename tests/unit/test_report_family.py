"""A family's page: what each fault did to each system, in one matrix."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pypdf import PdfReader

from bench.errors import ReportError
from bench.report.pages import family
from bench.report.presentation import Presentation
from tests.fault_sketch import Case, Trial, results
from tests.paper import type_sizes
from tests.report_data import build
from tests.report_sketch import Sketch

IN_SYNC = {"topic": {"replicas": 3, "min.insync.replicas": 2}}
LANDSCAPE_PT = (842, 595)


def run(out: Path, when: str, scenario: str, sketch: Sketch | None = None) -> Path:
    folder = build(out / f"{when}-{scenario}-quick", sketch)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"scenario": scenario, "title": f"Title of {scenario}", "profile": "quick"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def text(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index("<main>") :]))


@pytest.fixture
def of_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The entry of a made-up run that lies beside the family's folder."""
    monkeypatch.setattr(family, "presentation", lambda run: Presentation())

    def entry(name: str, *cases: Case, **manifest: Any) -> family.Entry:
        found = results(*cases)
        known = {**found.manifest, "scenario": name, "title": f"Title of {name}", **manifest}
        found = replace(found, run=tmp_path / name, manifest=known)
        return family._entry(found, tmp_path / "family-faults")

    return entry


def kafka(*trials: Trial, **settings: str) -> Case:
    return Case("kafka", settings, trials, asked=IN_SYNC)


def pulsar(*trials: Trial, **settings: str) -> Case:
    return Case("pulsar", settings, trials, asked={"topic": {"quorums": "3-3-2"}})


def page(*entries: family.Entry) -> str:
    return family.render("faults", entries, outdated_names=[], missing=[])


def cells(page: str, name: str) -> list[list[str]]:
    """The texts of a scenario's rows, the title left out."""
    body = page[page.index(f'id="{name}"') :]
    rows = re.findall(r"<tr.*?</tr>", body[: body.index("</tbody>")], re.DOTALL)
    return [[text(f"<main>{cell}").strip() for cell in re.findall(r"<td.*?</td>", row)] for row in rows]


def test_a_fault_has_a_row_and_each_system_its_columns(of_run: Any) -> None:
    entry = of_run(
        "leader-dies", kafka(*Trial().copies(5.81, 7.79)), pulsar(Trial(writes=(13.0,), duplicates=324))
    )

    assert cells(page(entry), "leader-dies") == [["", "5.8 to 7.8 s", "0", "0", "", "13 s", "0", "324"]]


def test_each_cell_leads_to_its_evidence(of_run: Any) -> None:
    html = page(of_run("leader-dies", kafka(Trial())))

    links = re.findall(r'href="([^"]+)"', html[html.index("<tbody") :])
    assert links == [
        "../leader-dies/report.html",
        "../leader-dies/report.html#faults",
        "../leader-dies/report.html#delivery",
        "../leader-dies/report.html#delivery",
    ]


def test_configurations_have_a_row_each_where_their_outcomes_differ_and_equal_settings_share_one(
    of_run: Any,
) -> None:
    entry = of_run(
        "sessions",
        *(
            make(Trial(writes=(time,)), session=session)
            for make, times in ((kafka, (6.0, 32.0)), (pulsar, (30.0, 9.0)))
            for session, time in zip(
                ("6 s", "30 s") if make is kafka else ("30 s", "6 s"), times, strict=True
            )
        ),
    )

    short, long = cells(page(entry), "sessions")

    assert (short[0], short[1], short[4], short[5]) == (
        "session timeout of 6 s",
        "6.0 s",
        "session timeout of 6 s",
        "9.0 s",
    )
    assert (long[0], long[1], long[4], long[5]) == (
        "session timeout of 30 s",
        "32 s",
        "session timeout of 30 s",
        "30 s",
    )


def test_only_a_loss_that_a_promise_covers_is_red(of_run: Any) -> None:
    lost = Trial(lost=28_000, sent=(0.0, 14.0))
    beyond, within = (page(of_run("lossy", kafka(lost, acks=acks))) for acks in ("1", "all"))

    assert 'class="bad"' not in beyond
    assert "28,000 (14 s), outside its promise" in text(beyond)
    assert 'class="bad"' in within
    assert "28,000 (14 s), against its promise" in text(within)


def test_faults_stand_by_what_breaks(of_run: Any) -> None:
    html = page(
        of_run("cut", replace(kafka(Trial()), kind="isolate")),
        of_run("killed", kafka(Trial())),
        of_run("power", replace(kafka(Trial()), kind="power-loss")),
    )

    kinds = re.findall(r'<tr class="kind"><th[^>]*>([^<]+)', html)
    assert kinds == ["A process is killed", "The power fails", "The network cuts nodes off"]


def test_other_versions_and_changed_runs_are_named(of_run: Any) -> None:
    usual = {"versions": {"kafka": "4.3.1"}}
    html = page(
        of_run("one", kafka(Trial()), **usual),
        of_run("two", kafka(Trial()), versions={"kafka": "3.9.2"}, profile="quick"),
        of_run("three", kafka(Trial()), overrides=["rate=5"], **usual),
    )

    assert "on Kafka 4.3.1 where no other version is named" in text(html)
    assert "Title of two Kafka 3.9.2, quick" in text(html)
    assert "Title of three with rate=5" in text(html)
    assert html.count("Kafka 4.3.1") == html.count("Kafka 3.9.2") == 1


def many(of_run: Any) -> Mapping[str, family.Entry]:
    """Forty scenarios with the longest cells that there are."""
    worst = Trial(
        writes=(33.3,), ended="healing", script=10.0, lost=28_161, sent=(0.0, 14.07), duplicates=1_921
    )
    aside = Trial(writes=(45.6,), other_cpu=1.0)
    cases = [
        make(worst, aside, acks=acks)
        for make in (kafka, pulsar)
        for acks in ("producer without idempotence", "idempotent producer")
    ]
    title = "The broker that serves the topic is cut off from the coordination service, with deduplication"
    return {str(number): of_run(f"scenario-{number}", *cases, title=title) for number in range(40)}


def test_on_paper_it_is_a4_landscape_with_nothing_under_9_pt(of_run: Any, tmp_path: Path) -> None:
    from bench.report import pdf  # noqa: PLC0415 - WeasyPrint

    paper = tmp_path / "matrix.pdf"

    pdf.write(page(*many(of_run).values()), paper)

    pages = PdfReader(paper).pages
    assert {(round(float(one.mediabox.width)), round(float(one.mediabox.height))) for one in pages} == {
        LANDSCAPE_PT
    }
    assert min(type_sizes(paper)) >= 9
    heads = [one.extract_text().count("no writes") for one in pages]
    assert all(count == 2 for count in heads[1:]), "each page has the heads of both systems"


def test_the_latest_run_of_each_scenario_counts(tmp_path: Path) -> None:
    run(tmp_path, "20260101-000000", "one", Sketch(rounds=1, lost={0: 61}))
    latest = run(tmp_path, "20260102-000000", "one", Sketch(rounds=1))
    (tmp_path / "20260103-000000-one-quick").mkdir()  # began, and has no results

    on_screen, on_paper = family.write("faults", ["one", "two"], tmp_path)

    html = on_screen.read_text()
    assert f'href="../{latest.name}/report.html"' in html
    assert "No run here yet: two." in text(html)
    assert ">61<" not in html
    assert on_paper.read_bytes().startswith(b"%PDF")


def test_a_quick_run_does_not_stand_in_for_a_longer_one(tmp_path: Path) -> None:
    longer = run(tmp_path, "20260101-000000", "one", Sketch(rounds=1))
    manifest = json.loads((longer / "manifest.json").read_text()) | {"profile": "standard"}
    (longer / "manifest.json").write_text(json.dumps(manifest))
    run(tmp_path, "20260102-000000", "one", Sketch(rounds=1))

    html = family.write("faults", ["one"], tmp_path)[0].read_text()

    assert f'href="../{longer.name}/report.html"' in html


def test_a_run_by_other_rules_is_named_and_the_others_stand(tmp_path: Path) -> None:
    run(tmp_path, "20260101-000000", "one", Sketch(rounds=1))
    older = run(tmp_path, "20260102-000000", "two", Sketch(rounds=1)) / "results" / "trials.parquet"
    pd.read_parquet(older).drop(columns="other_cpu").to_parquet(older)

    html = text(family.write("faults", ["one", "two"], tmp_path)[0].read_text())

    assert "computes it again from its event log): two." in html
    assert "Title of one" in html


def test_a_scenario_in_which_nothing_breaks_stands_apart(tmp_path: Path) -> None:
    run(tmp_path, "20260101-000000", "one", Sketch(rounds=1))

    assert "Nothing breaks Title of one" in text(family.write("faults", ["one"], tmp_path)[0].read_text())


def test_a_family_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="there is no run with results of family 'faults'"):
        family.write("faults", ["one"], tmp_path)
