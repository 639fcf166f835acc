"""What every backend promises, on a real Kafka cluster."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from bench.backends import docker
from bench.backends.abilities import Delayable, Killable, Partitionable, Pausable, Reachable
from bench.backends.backend import Backend
from bench.backends.delayed_node import Link
from bench.backends.netns import PacketRules
from bench.backends.node_backend import NodeBackend
from bench.errors import FaultError, NodeDiedError
from bench.model import DOCKER, PROCESS, Cluster, Jit, Node, Topic
from bench.run import wiring
from bench.run.cluster import LiveCluster, run_cluster
from tests.secured import process_state, shell_commands

pytestmark = pytest.mark.integration

CLUSTER = Cluster("kafka", wiring.version("kafka"), {"controller": 1, "broker": 2}, jit=Jit.C1)
OWN, EXTERNAL = "own", "external"
EVERY_BACKEND = pytest.mark.parametrize(
    ("servers", "live"), [(PROCESS, OWN), (DOCKER, OWN), (PROCESS, EXTERNAL)], indirect=True
)


class BreaksNodes(Backend, Killable, Pausable, Protocol):
    """What every backend can do, where a cluster's operator gave commands for its nodes."""


@pytest.fixture(scope="module", params=[PROCESS, DOCKER])
def servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveCluster]:
    request.getfixturevalue("docker_daemon" if request.param == DOCKER else "in_sandbox")
    folder = tmp_path_factory.mktemp(request.param)
    spec = replace(CLUSTER, backend=request.param)
    logs = folder / "logs"
    with run_cluster(spec, folder / "run" / "nodes" / "00-kafka", logs) as made:
        yield made
    kept = {file.name: file.read_text() for file in logs.iterdir()}
    assert kept.keys() == {"controller-1.log", "broker-1.log", "broker-2.log"}
    assert all("Kafka Server started" in log for log in kept.values())
    if request.param == DOCKER:
        with docker.daemon() as client:
            assert (
                client.containers.list(all=True, filters={"label": docker.LABEL}, ignore_removed=True) == []
            )
            assert client.networks.list(filters={"label": docker.LABEL}) == []


@pytest.fixture(scope="module")
def live(
    request: pytest.FixtureRequest, servers: LiveCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveCluster]:
    """The servers as those of the suite; for some tests as those of somebody else, too."""
    if getattr(request, "param", OWN) == OWN:
        yield servers
        return
    with as_somebody_elses(servers, tmp_path_factory.mktemp(EXTERNAL)) as made:
        yield made


@contextmanager
def as_somebody_elses(servers: LiveCluster, folder: Path) -> Iterator[LiveCluster]:
    """The brokers of a cluster as those of an external one, whose operator breaks and mends them by commands."""
    brokers = [node for node in servers.nodes if node.role == "broker"]
    actions = {broker.name: operator_actions(servers, broker) for broker in brokers}
    by_path = {f"{name}/{verb}": act for name, by_verb in actions.items() for verb, act in by_verb.items()}
    with shell_commands(by_path) as commands:
        nodes = {
            broker.name: {
                "address": f"{broker.address}:{broker.ports[0]}",
                **{verb: commands[f"{broker.name}/{verb}"] for verb in actions[broker.name]},
            }
            for broker in brokers
        }
        spec = Cluster("kafka", "", {"broker": 2}, external=servers.endpoint, external_nodes=nodes)
        with run_cluster(spec, folder / "external", folder / "external-logs") as made:
            yield made


def operator_actions(servers: LiveCluster, broker: Node) -> dict[str, Callable[[], object]]:
    """What the operator of a broker can do to it; each by the name of its command in a cluster's file."""
    backend = servers.backend
    assert isinstance(backend, NodeBackend)
    return {
        "kill": partial(backend.end_node, broker, kill=True),
        "stop": partial(backend.end_node, broker, kill=False),
        "start": partial(backend.start_node, broker),
        "pause": partial(backend.pause_node, broker),
        "resume": partial(backend.resume_node, broker),
        "state": lambda: process_state(backend.pids()[broker.name]),
    }


@pytest.fixture
def operated(live: LiveCluster) -> BreaksNodes:
    assert isinstance(live.backend, Killable)
    assert isinstance(live.backend, Pausable)
    return live.backend


@pytest.fixture
def backend(live: LiveCluster) -> NodeBackend:
    assert isinstance(live.backend, NodeBackend)
    for ability in (Killable, Pausable, Partitionable, Reachable, Delayable):
        assert isinstance(live.backend, ability)
    return live.backend


def node(live: LiveCluster, name: str) -> Node:
    return next(node for node in live.nodes if node.name == name)


@EVERY_BACKEND
def test_topics_have_the_settings_that_were_asked_for(live: LiveCluster) -> None:
    topic = Topic("backends", 3, {"replicas": 2, "min.insync.replicas": 2})

    live.admin.create_topic(topic)

    effective = live.admin.effective(topic)
    assert effective["topic"]["min.insync.replicas"] == "2"  # type: ignore[index]
    live.admin.delete_topic(topic)


def test_every_node_is_a_process_of_this_machine(live: LiveCluster, backend: NodeBackend) -> None:
    pids = backend.pids()

    assert pids.keys() == {"controller-1", "broker-1", "broker-2"}
    for name, pid in pids.items():
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        assert command.startswith(b"java\0")
        assert str(node(live, name).directory).encode() in command


def ended_and_started_again(live: LiveCluster, backend: BreaksNodes, *, kill: bool) -> int:
    """End a node and start it again; return the status with which it ended."""
    broker = node(live, "broker-2")

    status = backend.end_node(broker, kill=kill)

    backend.alive()  # nobody misses it
    assert not backend.listens(broker)
    assert "broker-2" not in backend.pids()
    with pytest.raises(FaultError, match="does not run"):
        backend.pause_node(broker)
    backend.start_node(broker)
    assert backend.listens(broker)
    backend.alive()
    return status


@EVERY_BACKEND
def test_a_node_is_killed_and_started_again(live: LiveCluster, operated: BreaksNodes) -> None:
    status = ended_and_started_again(live, operated, kill=True)

    # The process of a node of others is not seen: there it is the status of the operator's command.
    assert status == (-signal.SIGKILL if isinstance(operated, NodeBackend) else 0)


def test_a_node_is_stopped_and_started_again(live: LiveCluster, operated: BreaksNodes) -> None:
    assert ended_and_started_again(live, operated, kill=False) == 143


@EVERY_BACKEND
def test_a_node_stands_still_while_it_is_paused(live: LiveCluster, operated: BreaksNodes) -> None:
    broker = node(live, "broker-2")

    assert operated.pause_node(broker) == "T"
    assert operated.resume_node(broker) in {"R", "S", "D"}
    operated.pause_all([broker])
    operated.resume_all([broker])
    assert operated.listens(broker)


def test_packets_between_nodes_are_dropped_until_that_is_mended(
    live: LiveCluster, backend: NodeBackend
) -> None:
    first, second = node(live, "broker-1"), node(live, "broker-2")
    rules = PacketRules("apart", (first.address,), (first.address,))
    assert backend.answers(second, [first.address], 1.0).keys() == {first.address}

    backend.cut(second, rules)

    assert backend.is_hindered(second.address)
    assert backend.answers(second, [first.address, backend.client], 0.5).keys() == {backend.client}
    assert backend.packet_counts(second, rules).affected_count > 0
    backend.mend(second, rules)
    assert not backend.is_hindered(second.address)
    assert backend.answers(second, [first.address], 1.0).keys() == {first.address}


def test_packets_are_dropped_also_after_a_restart(live: LiveCluster, backend: NodeBackend) -> None:
    first, second = node(live, "broker-1"), node(live, "broker-2")
    rules = PacketRules("apart", (first.address,), (first.address,))
    backend.cut(second, rules)

    backend.end_node(second, kill=True)
    backend.start_node(second)

    assert backend.answers(second, [first.address, backend.client], 0.5).keys() == {backend.client}
    backend.mend(second, rules)
    assert backend.answers(second, [first.address], 1.0).keys() == {first.address}


def test_packets_are_held_on_their_way(live: LiveCluster, backend: NodeBackend) -> None:
    first, second = node(live, "broker-1"), node(live, "broker-2")

    slow = backend.slow_network(second, [first.address], [first.address], Link(0.05, 0.0))

    took = backend.answers(second, [first.address], 2.0)[first.address]
    slow.end()
    assert took >= 0.09
    assert backend.answers(second, [first.address], 2.0)[first.address] < 0.05


def test_a_node_that_ends_by_itself_is_missed(live: LiveCluster, backend: NodeBackend) -> None:
    broker = node(live, "broker-2")

    os.kill(backend.pids()["broker-2"], signal.SIGKILL)

    while "broker-2" in backend.pids():
        time.sleep(0.01)
    with pytest.raises(NodeDiedError, match="broker-2 ended with status -9"):
        backend.alive()
    backend.start_node(broker)
    backend.alive()
