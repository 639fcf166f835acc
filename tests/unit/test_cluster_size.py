"""How many nodes carry a workload, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.model import Interval
from bench.sizing.cluster import COPIES, SizeError, size
from bench.sizing.requirement import DISK_SPACE, CpuLimit, NodeType, Requirement
from bench.sizing.workload import Workload
from tests.unit.test_demand import bookie_demand

NODE = NodeType(cores=1.0, network=1e9, disk_write=1e9, disk=1e12)
REQUIREMENT = Requirement(
    mean=Workload(10_000, 1_000, copies=3, groups=1),
    peak_over_mean=2.0,
    growth=1.5,
    retention_s=0.0,
    node_failures=1,
    utilisation=0.6,
    disk_filled=0.75,
)


def test_the_cpu_decides() -> None:
    """30,000 messages/s at the peak, 90,000 stored, at 40 us + 1,000 x 3 ns each: 3.87 cores of work.

    Each of n nodes idles at 0.02 cores, and may use 0.6: n (0.6 - 0.02) >= 3.87, so n = 7, and one more that may
    fail.
    """
    found = size("bookie", {"cpu_s": bookie_demand()}, REQUIREMENT, NODE, stores=True)

    assert (found.nodes, found.likely, found.least, found.binding) == (8, 8, 8, "cpu_s")
    assert found.left["cpu_s"] == pytest.approx((3.87 + 7 * 0.02) / 7)
    assert found.use["cpu_s"] == pytest.approx((3.87 + 8 * 0.02) / 8)


def test_the_disks_space_decides() -> None:
    """15,000 messages/s of 1,000 bytes, three copies, 10 days: 38.88 TB; 0.75 TB a node take 52, and one may fail."""
    wanted = replace(REQUIREMENT, retention_s=10 * 86_400.0)

    found = size("bookie", {"cpu_s": bookie_demand()}, wanted, NODE, stores=True)

    assert (found.nodes, found.binding) == (53, DISK_SPACE)
    assert found.left[DISK_SPACE] == pytest.approx(38.88 / 52)


def test_there_are_as_many_nodes_as_copies_and_those_that_may_fail() -> None:
    small = replace(REQUIREMENT, mean=Workload(300, 1_000, copies=3, groups=1), node_failures=2)

    found = size("bookie", {"cpu_s": bookie_demand()}, small, NODE, stores=True)

    assert (found.nodes, found.binding) == (5, COPIES)


def test_a_broker_of_pulsar_stores_nothing() -> None:
    found = size("broker", {"cpu_s": bookie_demand()}, REQUIREMENT, NODE, stores=False)

    assert DISK_SPACE not in found.left


def test_what_lies_far_from_what_was_measured_is_told() -> None:
    found = size("bookie", {"cpu_s": bookie_demand()}, REQUIREMENT, NODE, stores=True)

    assert found.outside == [
        "messages/s a node: 4,286 (measured: 167 to 667)",
        "nodes: 7 (measured: 3)",
    ]


def test_nodes_that_are_busy_when_idle_are_never_enough() -> None:
    with pytest.raises(SizeError) as refused:
        size("bookie", {"cpu_s": bookie_demand()}, REQUIREMENT, replace(NODE, cores=0.03), stores=True)
    assert (refused.value.nodes, refused.value.resource) == (1_000, "cpu_s")
    assert refused.value.share == pytest.approx((3.87 + 1_000 * 0.02) / 30)


def test_one_input_at_a_time_is_changed() -> None:
    changed = dict(replace(REQUIREMENT, retention_s=1_000.0).variations())

    assert changed["25 % more messages"].peak == Workload(37_500, 1_000, 3, 1)
    assert changed["25 % larger messages"].peak == Workload(30_000, 1_250, 3, 1)
    assert changed["one more copy"].peak == Workload(30_000, 1_000, 4, 1)
    assert changed["one more group"].peak == Workload(30_000, 1_000, 3, 2)
    assert changed["25 % longer retention"].retention_s == 1_250
    assert changed["one more failure"].node_failures == 2
    assert changed["20 % lower utilisation"].limit("cpu_s") == pytest.approx(0.8 * REQUIREMENT.limit("cpu_s"))
    assert "half the batch" not in changed


def test_batches_and_a_limit_by_a_p99_are_changed_too() -> None:
    limited = replace(
        REQUIREMENT, mean=replace(REQUIREMENT.mean, batch=3.0), cpu_limit=CpuLimit(0.5, Interval(0.4, 0.6))
    )

    changed = dict(limited.variations())

    assert changed["half the batch"].mean.batch == 1.5
    assert changed["20 % lower utilisation"].limit("cpu_s") == pytest.approx(0.32)
