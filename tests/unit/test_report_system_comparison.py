"""Both systems side by side, as a reader finds it in report.html, and on paper."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from weasyprint import HTML
from weasyprint.formatting_structure.boxes import TableBox

from bench import numbers
from bench.report.pages import html
from tests.report_data import build
from tests.report_sketch import Sketch

TIMES = "\N{MULTIPLICATION SIGN}"

FOUND = {"first": 2000.0, "second": 1000.0, "rounds": 5, "ratio": 2.0, "low": 1.9, "high": 2.1}


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw none: these tests look at a table."""
    monkeypatch.setattr(html, "gallery", lambda *_: {})


def page(run: Path, *points: dict[str, Any], settings: Sequence[str] = ("level",)) -> str:
    """Return the report of a run with these points."""
    unknown = dict.fromkeys(("service_p99_ns", "e2e_p99_ns"), dict.fromkeys(FOUND))
    common = {
        "throughput_msgs_per_s": FOUND,
        "cases": [
            "kafka replicas=1 min.insync.replicas=1 acks=0",
            "pulsar quorums=1-1-1 journalSyncData=true",
        ],
        "survives": ["a", "b"],
        "go_on": [None, None],
    }
    every = [{**unknown, **common, "same": None, **point} for point in points]
    summary = run / "results" / "summary.json"
    told = {"systems": ["kafka", "pulsar"], "settings": settings, "points": every}
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"sides": told}))
    return html.render(run)


def section(page: str) -> str:
    """Return the HTML of `Side by side`."""
    return page[page.index('<section id="system-comparison">') : page.index('<section id="throughput">')]


def beside(run: Path, *points: dict[str, Any], settings: Sequence[str] = ("level",)) -> str:
    """Return the words of `Side by side`, of a run with these points."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", section(page(run, *points, settings=settings))))


def test_both_systems_stand_side_by_side_where_they_sweep_the_same(tmp_path: Path) -> None:
    run = build(tmp_path / "20261121-120000-acks-sweep-standard", Sketch(rounds=1))
    cases = ["kafka replicas=1 min.insync.replicas=1 acks=0", "pulsar quorums=1-1-1 journalSyncData=true"]
    file = run / "results" / "cases.parquet"
    table = pd.read_parquet(file)
    table.loc[table["case"] == cases[0], "bottleneck"] = "cpu 3, client 2"
    table.to_parquet(file)

    words = beside(run, {"values": {"level": "survives one node"}, "cases": cases, "same": True})

    ratio = f"2{TIMES} 1.9{TIMES} {numbers.NOTHING} 2.1{TIMES}"
    assert f"survives one node 2,000 1,000 {ratio} cpu 3, client 2 / broker" in words
    assert "end to end" not in words


def test_a_ratio_of_unlike_guarantees_is_called_so(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Sketch(rounds=1, messages=500))

    words = beside(
        run,
        {"values": {"level": "one"}, "same": True, "go_on": [False, True]},
        {"values": {"level": "two"}, "same": False},
        {"values": {"level": "three"}, "survives": [None, None]},
    )

    assert "The same guarantee, survives a; with one node gone writes go on in Pulsar only one 2,000" in words
    assert "Not the same guarantee: Kafka survives a; Pulsar survives b two 2,000" in words
    assert "Whether the guarantee is the same is not known three 2,000" in words


def test_what_points_share_stands_above_them(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Sketch(rounds=1, messages=500))
    values = [{"level": "no copy", "emulated_fsync": disk} for disk in ("as is", "5ms")]

    words = beside(
        run, *({"values": one, "same": True} for one in values), settings=["level", "emulated_fsync"]
    )

    assert "No copy: the same guarantee, survives a as is 2,000 1,000" in words
    assert words.count("o copy") == 1


def test_long_names_and_wide_numbers_stay_on_the_paper(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Sketch(rounds=1))
    cases = ["kafka replicas=1 min.insync.replicas=1 acks=0", "pulsar quorums=1-1-1 journalSyncData=true"]
    wide = {"first": 12_345.0, "second": 1_234.0, "rounds": 5, "ratio": 0.0888, "low": 0.0777, "high": 0.0999}
    times = {name: wide | {"first": 12.3e6, "second": 45.6e6} for name in ("service_p99_ns", "e2e_p99_ns")}
    values = {
        "Kafka settings": "replicas=4 min.insync.replicas=3 acks=all",
        "Pulsar settings": "quorums=4-4-4 journalSyncData=false",
    }
    point = {"values": values, "cases": cases, "same": True, "throughput_msgs_per_s": wide, **times}

    found = page(run, point, point, settings=list(values))

    styles = "".join(re.findall(r"<style.*?</style>", found, re.DOTALL))
    (sheet,) = HTML(string=f"{styles}<main>{section(found)}</main>").render().pages
    paper = sheet._page_box
    tables = [box for box in paper.descendants() if isinstance(box, TableBox)]
    assert len(tables) > 1
    for table in tables:
        assert table.position_x + table.border_width() <= paper.content_box_x() + paper.width + 0.5
    text = re.sub(r"<wbr>", "", section(found))
    assert "0.0777" in text
    assert ">replicas=4 min.insync.replicas=3 acks=all<" in text
