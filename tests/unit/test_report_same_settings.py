"""The same settings in other runs: which cases are the same, and what is said to differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.report import results, sweep
from bench.report.sections.same_settings import table
from bench.report.table import Table
from tests.report_data import build
from tests.report_sketch import Sketch


def run(folder: Path, scenario: str, sketch: Sketch, **configuration: Any) -> Path:
    """Build a run whose configurations have their settings, and those given."""
    build(folder, sketch)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"scenario": scenario}))
    for file in folder.glob("trials/*/trial.json"):
        trial = json.loads(file.read_text())
        trial["case"]["configuration"] |= {"topic": trial["case"]["settings"], **configuration}
        file.write_text(json.dumps(trial))
    return folder


def compared(folder: Path) -> Table | None:
    found = results.read(folder)
    return table(found, sweep.parts(found))


def test_equal_settings_of_another_scenario_are_compared(tmp_path: Path) -> None:
    kafka = Sketch(systems=("kafka",), rounds=1)
    own = run(tmp_path / "own", "own", kafka)
    run(tmp_path / "other", "other", kafka, nodes={"controller": 1, "broker": 3})

    found = compared(own)

    assert found is not None
    assert len(found.rows) == 18
    texts = [cell.text for cell in found.rows[0].cells]
    assert texts[0] == "Kafka replicas=1 min.insync.replicas=1 acks=0"
    assert texts[2] == "other"
    assert texts[4] == "1\N{MULTIPLICATION SIGN}"
    assert texts[5] == "brokers: 4 here, 3 there"


def test_a_role_that_only_the_other_run_has_is_named(tmp_path: Path) -> None:
    kafka = Sketch(systems=("kafka",), rounds=1)
    own = run(tmp_path / "own", "own", kafka)
    run(tmp_path / "other", "other", kafka, nodes={"controller": 1, "broker": 4, "processor": 1})

    found = compared(own)

    assert found is not None
    assert found.rows[0].cells[5].text == "processors: none here, 1 there"


def test_slices_and_a_slower_machine_are_named_and_a_probe_without_a_value_is_left_out(
    tmp_path: Path,
) -> None:
    own = run(tmp_path / "own", "own", Sketch(systems=("pulsar",), rounds=2, cycles=6))
    other = run(tmp_path / "other", "other", Sketch(systems=("pulsar",), rounds=2))
    for file in other.glob("trials/*/trial.json"):
        trial = json.loads(file.read_text())
        there = {"probe_ns": 2_000_000, "wake_ns": 30_000, "line_ns": 100}
        file.write_text(json.dumps(trial | {"machine": there}))
    for file in own.glob("trials/*/trial.json"):
        trial = json.loads(file.read_text())
        here = {"probe_ns": 2_100_000, "wake_ns": 10_000, "line_ns": None}
        file.write_text(json.dumps(trial | {"machine": here}))

    found = compared(own)

    assert found is not None
    assert {row.cells[5].text for row in found.rows} == {
        "measured in slices here, in a window there; waking a process took 10 µs here, 30 µs there"
    }


@pytest.mark.parametrize(
    "other",
    [
        {"partitions": 1},
        {"producer": {"linger.ms": 5}},
        {"version": "4.2.0"},
        {"disk": {"emulated_fsync": "5ms"}},
    ],
)
def test_other_settings_are_not_compared(tmp_path: Path, other: dict[str, Any]) -> None:
    kafka = Sketch(systems=("kafka",), rounds=1)
    own = run(tmp_path / "own", "own", kafka)
    run(tmp_path / "other", "other", kafka, **other)

    assert compared(own) is None


def test_a_run_of_the_same_scenario_is_no_other_run(tmp_path: Path) -> None:
    kafka = Sketch(systems=("kafka",), rounds=1)
    own = run(tmp_path / "own", "own", kafka)
    run(tmp_path / "again", "own", kafka)

    assert compared(own) is None
