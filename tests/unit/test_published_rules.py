"""Published rules for the size of Kafka clusters, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

from bench.sizing.cluster import NodeType, Requirement
from bench.sizing.published_rules import published
from bench.sizing.workload import Workload

REQUIREMENT = Requirement(
    mean=Workload(messages_per_s=10_000, message_bytes=1_000, copies=3, groups=2),
    peak_over_mean=2.0,
    growth=1.5,
    retention_s=0.0,
    node_failures=1,
    utilisation=0.6,
    disk_filled=0.75,
)
"""30 MB/s at the peak: 90 MB/s are written, 60 MB/s go to followers and 60 MB/s to consumers."""
NODE = NodeType(cores=2, network=125e6, disk_write=200e6, disk=1e12)


def nodes(requirement: Requirement, node: NodeType) -> list[int]:
    return [one.nodes for one in published(requirement, node)]


def test_bytes_and_cores_that_rules_ask_for() -> None:
    """Disks: 90 / 120 = 0.75; network: 120 / 75 = 1.6: two brokers, but three copies, and one more that may fail.

    Cores: 90 + 120 / 4 = 120 MB/s, at 20 MB/s and 60 %: ten, on five brokers, and a sixth.
    """
    assert nodes(REQUIREMENT, NODE) == [4, 6]


def test_what_a_smaller_link_or_disk_asks_for() -> None:
    """Network: 120 / (10 * 0.6) = 20; disks: 90 / (6 * 0.6) = 25."""
    assert nodes(REQUIREMENT, replace(NODE, network=10e6)) == [21, 6]
    assert nodes(REQUIREMENT, replace(NODE, network=10e6, disk_write=6e6)) == [26, 6]


def test_one_copy_for_nobody_writes_only() -> None:
    """Disks: 30 / 120 = 0.25: one broker. Cores: 30 / 20 / 0.6 = 2.5, so three, on two brokers."""
    alone = replace(REQUIREMENT, mean=replace(REQUIREMENT.mean, copies=1, groups=0), node_failures=0)

    assert nodes(alone, NODE) == [1, 2]
