"""Systems to hold the contract of bench/systems/protocols.py against; every test runs once for each."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.model import Case, Cluster, Jit, Load, Pacing, Settings, Topic
from bench.run import wiring
from bench.run.cluster import run_cluster
from bench.systems.protocols import Admin, CopyCounter, Parts, System
from bench.systems.server_metrics import Scrape

CLUSTERS: dict[str, Mapping[str, int]] = {
    "memory": {},
    "kafka": {"controller": 1, "broker": 2},
    "pulsar": {"zookeeper": 1, "bookie": 2, "broker": 1},
    "nats": {"server": 3},
}
SYNCED, UNSYNCED = ({"bookie": {"journalSyncData": synced}} for synced in (True, False))
GROUPS: dict[str, dict[str, Mapping[str, Settings]]] = {"pulsar": {"synced": SYNCED, "unsynced": UNSYNCED}}
"""Groups of storage nodes; topics lie in the first."""
TOPIC: dict[str, Settings] = {
    "memory": {},
    "kafka": {"replicas": 2},
    "pulsar": {"quorums": "2-2-2"},
    "nats": {"replicas": 3},
}


@dataclass
class LiveSystem:
    """A system that takes requests. `topic` makes topics, each with a name of its own."""

    system: System
    endpoint: str
    admin: Admin
    nodes: list[str]
    scrapes: Mapping[str, Scrape]
    copy_counters: Mapping[str, CopyCounter]
    parts: Parts
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def topic(self, partitions: int) -> Topic:
        topic = Topic(
            f"contract-{next(self._numbers)}", partitions, TOPIC[self.system.name], group(self.system.name)
        )
        self.admin.create_topic(topic)
        return topic


def group(name: str) -> str:
    """The group of topics of a system; empty where its nodes stand in none."""
    return next(iter(GROUPS.get(name, {})), "")


@pytest.fixture(
    scope="module",
    params=[
        "memory",
        pytest.param("kafka", marks=pytest.mark.integration),
        pytest.param("pulsar", marks=pytest.mark.integration),
        pytest.param("nats", marks=pytest.mark.integration),
    ],
)
def live_system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveSystem]:
    name: str = request.param
    if CLUSTERS[name]:
        request.getfixturevalue("in_sandbox")
    cluster = Cluster(name, wiring.version(name), CLUSTERS[name], jit=Jit.C1, groups=GROUPS.get(name, {}))
    load = Load(1, 100, Pacing(), 1, 0, 0.0, None, 1)
    case = Case(name, name, {}, cluster, 2, TOPIC[name], {}, {}, load)
    folder: Path = tmp_path_factory.mktemp(name)
    with run_cluster(cluster, folder / "nodes", folder / "logs") as live:
        names, parts = [node.name for node in live.nodes], live.system.parts(case)
        counters = {node.name: counter for node in live.nodes if (counter := live.system.copy_counter(node))}
        yield LiveSystem(live.system, live.endpoint, live.admin, names, live.scrapes, counters, parts)
