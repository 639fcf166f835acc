"""A node is drained under a topic that goes on: held against clusters of their own, as it keeps nothing afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.errors import ClusterError
from bench.model import Cluster, Jit, Settings, Topic
from bench.run import wiring
from bench.run.cluster import LiveCluster, run_cluster
from bench.systems.memory.admin import MemoryAdmin
from tests.contract.test_clients import read_all, send_sync

CLUSTERS: Mapping[str, tuple[Mapping[str, int], Settings, str]] = {
    "kafka": ({"controller": 1, "broker": 4}, {"replicas": 2}, "broker-2"),
    "pulsar": ({"zookeeper": 1, "bookie": 3, "broker": 1}, {"quorums": "2-2-2"}, "bookie-2"),
}


@dataclass
class Draining:
    """A running cluster with the settings of its topics, and the node that is drained."""

    live: LiveCluster
    settings: Settings
    node: str


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.integration) for name in CLUSTERS]
)
def draining(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Draining]:
    request.getfixturevalue("in_sandbox")
    name: str = request.param
    nodes, settings, node = CLUSTERS[name]
    folder: Path = tmp_path_factory.mktemp(name)
    cluster = Cluster(name, wiring.version(name), nodes, jit=Jit.C1)
    with run_cluster(cluster, folder / "nodes", folder / "logs") as live:
        yield Draining(live, settings, node)


def is_named(draining: Draining, topic: Topic) -> bool:
    """Whether the topic's layout names the node that is drained."""
    return f"'{draining.node}'" in str(draining.live.admin.layout(topic))


def test_a_drained_node_keeps_nothing_and_no_message_is_lost(draining: Draining) -> None:
    topic = Topic("drained", 6, draining.settings)
    draining.live.admin.create_topic(topic)
    first = send_sync(draining.live, topic, 50)
    assert is_named(draining, topic)
    begun_ns = time.monotonic_ns()

    drained = draining.live.admin.drain(draining.node, topic, None)

    assert begun_ns < drained.done_ns <= time.monotonic_ns()
    assert drained.evidence.startswith(draining.node)
    more = send_sync(draining.live, topic, 50)
    assert not is_named(draining, topic)
    assert len(read_all(draining.live, topic)) == len(first.done) + len(more.done) == 100
    draining.live.admin.await_settled(topic)


def test_a_throttle_is_read_back_and_lifted(draining: Draining) -> None:
    if draining.live.system.name != "kafka":
        pytest.skip("a bookie's ledgers are copied without one: a rate is refused beforehand")
    topic = Topic("throttled", 8, draining.settings)
    draining.live.admin.create_topic(topic)
    draining.live.admin.rebalance(topic, None)
    assert is_named(draining, topic)

    drained = draining.live.admin.drain(draining.node, topic, 5_000_000)

    assert "follower.replication.throttled.rate were 5,000,000 meanwhile" in drained.evidence
    assert "neither brokers nor topics have any throttle left" in drained.evidence
    assert not is_named(draining, topic)


def test_a_system_without_nodes_has_none_to_drain(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="Draining node-1: the in-memory system has no nodes"):
        MemoryAdmin(tmp_path).drain("node-1", Topic("t", 1, {}), None)
