"""What a send takes by what an fsync takes: a panel a guarantee, both systems in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.text import Text

from bench.records.trial import TrialRecord
from bench.report import results, style, sweep
from bench.report.figures import price
from bench.report.figures.disks import TYPICAL
from bench.report.presentation import Labels
from bench.report.results import Results
from tests.records import altered
from tests.report_data import build
from tests.report_sketch import Sketch

DISKS = ("as is", "1ms", "10ms")
SURVIVES_POWER = "Survives the loss of any one node, and a power cut of all nodes"


def both(tmp_path: Path, kafka: list[float], pulsar: list[float]) -> Results:
    """A run of one level that both systems have, synced: ms a send by disk, the same in each of three rounds."""
    run = build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=500, disks=DISKS))
    found = results.read(run)
    record = next(iter(found.trial_records.values()))
    topics = {
        "kafka": {"replicas": 3, "min.insync.replicas": 2, "flush.messages": 1},
        "pulsar": {"quorums": "3-3-2"},
    }
    rows: list[dict[str, Any]] = []
    records: dict[int, TrialRecord] = {}
    template = {str(name): value for name, value in found.trials.iloc[0].items()}
    for system, sends in {"kafka": kafka, "pulsar": pulsar}.items():
        for disk, fsync_ms, ms in zip(DISKS, (0.1, 1.0, 10.0), sends, strict=True):
            for turn in range(3):
                number, name = len(rows), f"{system} level=synced emulated_fsync={disk}"
                times = {"fsync_ns": fsync_ms * 1e6, "service_mean_ns": ms * 1e6, "service_p99_ns": ms * 2e6}
                rows.append(
                    template
                    | {"trial": number, "round": turn, "system": system, "case": name}
                    | {"level": "synced", "emulated_fsync": disk, "verdict": "valid", **times}
                )
                configuration = {
                    "nodes": {"broker": 3, "bookie": 4},
                    "topic": topics[system],
                    "producer": {"acks": "all"},
                    "cluster_settings": {"bookie": {"journalSyncData": True}},
                }
                case = {
                    "system": system,
                    "name": name,
                    "settings": {"level": "synced", "emulated_fsync": disk},
                }
                records[number] = altered(record, trial=number, case=case | {"configuration": configuration})
    trials = pd.DataFrame(rows)
    cases = trials.drop_duplicates("case").assign(rounds=3, trials=3)
    swept = {"swept": {system: ["level", "emulated_fsync"] for system in topics}}
    return Results(
        **{
            name: getattr(found, name)
            for name in Results.__slots__
            if name not in {"trials", "cases", "plan", "trial_records"}
        },
        trials=trials,
        cases=cases,
        plan={"cases": list(cases["case"]), **swept},
        trial_records=records,
    )


def panels(found: Results) -> list[price.PricePanel]:
    return price.panels(found, sweep.parts(found), Labels(), price.metric(found))


def test_configurations_that_promise_the_same_share_a_panel_whatever_their_system(tmp_path: Path) -> None:
    (panel,) = panels(both(tmp_path, [0.5, 5.0, 30.0], [2.0, 3.0, 12.0]))

    assert panel.title == SURVIVES_POWER
    assert [line.system for line in panel.lines] == ["kafka", "pulsar"]
    assert [list(line.medians["y"]) for line in panel.lines] == [[0.5, 5.0, 30.0], [2.0, 3.0, 12.0]]


def test_with_one_send_open_it_is_ms_a_send_else_a_rate(tmp_path: Path) -> None:
    found = both(tmp_path, [0.5, 5.0, 30.0], [2.0, 3.0, 12.0])
    assert price.metric(found).label == "ms a send"

    several = {number: altered(trial, load={"window": 100}) for number, trial in found.trial_records.items()}
    found = replace(found, trial_records=several)
    assert price.metric(found).label == "acknowledged messages/s"


def test_the_crossing_is_marked_and_the_ranges_of_typical_disks_are_shaded(tmp_path: Path) -> None:
    found = both(tmp_path, [0.5, 5.0, 30.0], [2.0, 3.0, 12.0])
    with style.typography():
        figure = price.price(panels(found), price.metric(found))

    assert figure is not None
    strip, panel = figure.axes
    assert [text.get_text() for text in strip.texts] == [
        "cloud block storage",
        "consumer SSD",
        "hard disk",
    ]
    (mark,) = [text.get_text() for text in panel.texts if "cross" in text.get_text()]
    assert mark.startswith("cross at 0.54 ms (0.54 to 0.54)")  # of three rounds that are alike
    assert len(panel.patches) == len(TYPICAL) + 1


def test_lines_that_do_not_cross_have_no_mark(tmp_path: Path) -> None:
    (panel,) = panels(both(tmp_path, [0.5, 1.0, 3.0], [2.0, 3.0, 12.0]))

    assert panel.crossings == []


@pytest.mark.parametrize("first", [2.0, 0.55], ids=["crossing in the middle", "crossing at the left edge"])
def test_nothing_in_the_figure_is_under_nine_points_or_beyond_its_edges(tmp_path: Path, first: float) -> None:
    found = both(tmp_path, [0.5, 5.0, 30.0], [first, 3.0, 12.0])
    with style.typography():
        figure = price.price(panels(found), price.metric(found))
        assert figure is not None
        figure.draw_without_rendering()

    found_texts: list[Any] = figure.findobj(Text)
    texts = [text for text in found_texts if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 9
    boxes = [text.get_window_extent() for axes in figure.axes for text in axes.texts]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 + 1 for box in boxes)
    (width, _) = figure.get_size_inches()
    assert width == style.WIDTH_IN


@pytest.mark.parametrize("disks", [(), ("as is",)])
def test_a_run_on_one_disk_has_no_such_figure(tmp_path: Path, disks: tuple[str, ...]) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("pulsar",), rounds=1, disks=disks)))

    assert panels(found) == []
    assert price.price([], price.metric(found)) is None
