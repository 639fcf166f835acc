"""Which fsyncs are held in a trial, and what is told of them."""

from pathlib import Path
from typing import Any, cast

import pytest

from bench.model import Node
from bench.records.trial import DiskRecord
from bench.run.emulated_disks import EmulatedDisks, held_figures

FIVE_MS, AS_IS = {"emulated_fsync": "5ms"}, {"emulated_fsync": "as is"}


class Gates:
    """They hold fsyncs: by server for how long, in seconds, and how long each was held, in ns."""

    def __init__(self) -> None:
        self.hold_s: dict[str, float] = {}
        self.held_ns: dict[str, list[int]] = {"broker-1": [], "controller-1": []}
        self.measured: list[tuple[str, Path, float]] = []

    def hold(self, node: Node, seconds: float) -> None:
        self.hold_s[node.name] = seconds

    def inside(self, node: Node) -> list[int]:
        return self.held_ns[node.name]

    def fsync_cost(self, node: Node, folder: Path, seconds: float) -> dict[str, int]:
        self.measured.append((node.name, folder, seconds))
        return {"p50": round(seconds * 1e9) + len(self.measured)}


@pytest.fixture
def gates(monkeypatch: pytest.MonkeyPatch) -> Gates:
    gates = Gates()
    monkeypatch.setattr("bench.backends.gates.fsync_cost", gates.fsync_cost)
    return gates


@pytest.fixture
def disks(gates: Gates, tmp_path: Path) -> EmulatedDisks:
    """Those of a broker and of a controller that has no data."""
    (tmp_path / "broker-1").mkdir()
    nodes = [Node(name, "", "", (), Path(), Path(), (), 0) for name in gates.held_ns]
    return EmulatedDisks(lambda: cast("Any", gates), [(node, tmp_path / node.name) for node in nodes])


def test_every_server_holds_its_fsyncs_for_as_long_as_the_case_says(
    disks: EmulatedDisks, gates: Gates
) -> None:
    disks.set_and_measure(FIVE_MS)
    assert gates.hold_s == {"broker-1": 0.005, "controller-1": 0.005}

    disks.set_and_measure(AS_IS)
    assert gates.hold_s == {"broker-1": 0.0, "controller-1": 0.0}


def test_what_an_fsync_costs_is_measured_once_for_each_value_where_data_lie(
    disks: EmulatedDisks, gates: Gates, tmp_path: Path
) -> None:
    first = disks.set_and_measure(FIVE_MS)
    again = disks.set_and_measure(FIVE_MS)
    as_is = disks.set_and_measure(AS_IS)

    folder = tmp_path / "broker-1"
    assert gates.measured == [("broker-1", folder, 0.005), ("broker-1", folder, 0.0)]
    assert first == again == DiskRecord(emulated_fsync="5ms", fsync_ns={"broker-1": {"p50": 5_000_001}})
    assert as_is == DiskRecord(emulated_fsync="as is", fsync_ns={"broker-1": {"p50": 2}})


def test_the_fsyncs_of_a_trial_are_those_since_its_counts(disks: EmulatedDisks, gates: Gates) -> None:
    gates.held_ns["broker-1"] += [90, 90]
    counts = disks.count(FIVE_MS)
    gates.held_ns["broker-1"] += [10, 30, 20]

    assert disks.held_since(counts) == {"broker-1": [10, 30, 20], "controller-1": []}
    assert disks.held_since(disks.count({})) == {}


def test_the_figures_of_held_fsyncs_name_only_servers_that_made_some() -> None:
    held_ns = {"broker-1": [10, 30, 20], "controller-1": []}

    assert held_figures(held_ns) == {"broker-1": {"calls": 3, "p50": 20, "p99": 30}}


def test_a_change_of_the_disk_holds_fsyncs_without_measuring_what_one_costs(
    disks: EmulatedDisks, gates: Gates
) -> None:
    assert disks.set_delay(FIVE_MS) == 0.005
    assert gates.hold_s == {"broker-1": 0.005, "controller-1": 0.005}
    assert gates.measured == []

    assert disks.set_delay({}) == 0.0
    assert gates.hold_s == {"broker-1": 0.005, "controller-1": 0.005}  # a case without a disk has no gates


def test_a_case_that_says_nothing_of_disks_leaves_them_alone(disks: EmulatedDisks, gates: Gates) -> None:
    assert disks.set_and_measure({}) is None
    assert (gates.hold_s, gates.measured) == ({}, [])
