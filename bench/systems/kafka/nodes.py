"""Kafka's server processes: brokers, with dedicated controllers (KRaft, static voters) or, before 4.0, ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.model import Cluster, Node, of_role
from bench.systems.java import Jvm
from bench.systems.servers import Servers

ZOOKEEPER = "zookeeper"
CONTROLLER = "controller"
BROKER = "broker"
ROLES = (ZOOKEEPER, CONTROLLER, BROKER)
MOST_NODES = {ZOOKEEPER: 9, CONTROLLER: 10, BROKER: 200}
"""How many addresses each role has, up to the next role's and to the client's own (254)."""

_NETWORK = "10.99.1"
_FIRST_HOST = {ZOOKEEPER: 221, CONTROLLER: 1, BROKER: 11}
_FIRST_ID = {ZOOKEEPER: 1, CONTROLLER: 1001, BROKER: 1}
_PORT = {ZOOKEEPER: 2181, CONTROLLER: 9093, BROKER: 9092}
METRICS_PORT = 9404
METRICS_FILE = "metrics.yaml"
_HEAP_MIB = {ZOOKEEPER: 192, CONTROLLER: 256, BROKER: 512}
_BESIDES_HEAP_MIB = {ZOOKEEPER: 110, CONTROLLER: 160, BROKER: 256}
"""Classes, compiled code, network buffers and stacks."""
_MAIN = {
    ZOOKEEPER: "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    CONTROLLER: "kafka.Kafka",
    BROKER: "kafka.Kafka",
}


def lay_out(servers: Servers, cluster: Cluster, folder: Path) -> list[Node]:
    """Return the nodes, those first that others wait for."""
    return [
        _node(servers, cluster, folder, role, index)
        for role in ROLES
        for index in range(cluster.nodes.get(role, 0))
    ]


def _node(servers: Servers, cluster: Cluster, folder: Path, role: str, index: int) -> Node:
    name = f"{role}-{index + 1}"
    directory = folder / name
    address = f"{_NETWORK}.{_FIRST_HOST[role] + index}"
    heap_mib = cluster.heap_mib.get(role, _HEAP_MIB[role])
    jvm = Jvm(
        class_path=servers.class_path(cluster.version),
        heap_mib=heap_mib,
        temporary_folder=directory,
        jit=cluster.jit,
        archive=servers.archive(cluster.version, role),
        properties=_logging_properties(cluster.version, directory),
        options=[] if role == ZOOKEEPER else [_agent(servers, cluster, address, directory)],
    )
    return Node(
        name=name,
        role=role,
        address=address,
        command=jvm.command(_MAIN[role], str(properties_file(directory))),
        directory=directory,
        log=directory / "server.log",
        ports=(_PORT[role],) if role == ZOOKEEPER else (_PORT[role], METRICS_PORT),
        memory_bytes=(heap_mib + _BESIDES_HEAP_MIB[role]) * 2**20,
    )


def _agent(servers: Servers, cluster: Cluster, address: str, directory: Path) -> str:
    return f"-javaagent:{servers.agent(cluster.version)}={address}:{METRICS_PORT}:{directory / METRICS_FILE}"


def _logging_properties(version: str, directory: Path) -> dict[str, str]:
    file = directory / logging_file(version)
    if file.name == "log4j2.properties":
        return {"log4j2.configurationFile": str(file)}
    return {"log4j.configuration": file.as_uri()}


def logging_file(version: str) -> str:
    """Return the name of the logging configuration: log4j 2 came with Kafka 4.0."""
    return "log4j2.properties" if int(version.partition(".")[0]) >= 4 else "log4j.properties"


def properties_file(directory: Path) -> Path:
    """Return where a node's configuration is, given its folder."""
    return directory / "server.properties"


def data_folder(directory: Path) -> Path:
    """Return where a node keeps its logs, given its folder: below it, so that the folder may be a mount."""
    return directory / "data"


def node_id(node: Node) -> int:
    """Return the node's number in Kafka: broker-1 is 1, controller-1 is 1001."""
    return _FIRST_ID[node.role] + int(node.name.rpartition("-")[2]) - 1


def stop_order(nodes: Sequence[Node]) -> list[list[Node]]:
    """Brokers first: a broker that has lost its controllers waits for them, for minutes, before it stops."""
    return [group for role in (BROKER, CONTROLLER, ZOOKEEPER) if (group := of_role(nodes, role))]


def start_order(nodes: Sequence[Node]) -> list[list[Node]]:
    """All at once, since brokers wait for their controllers; for ZooKeeper they wait a few seconds only."""
    first = of_role(nodes, ZOOKEEPER)
    return [group for group in (first, [node for node in nodes if node not in first]) if group]


def endpoint(nodes: Iterable[Node]) -> str:
    """Return the brokers as bootstrap servers."""
    return ",".join(address(node) for node in of_role(nodes, BROKER))


def address(node: Node) -> str:
    """Return where a node listens: host and port."""
    return f"{node.address}:{node.ports[0]}"
