"""What is written before the first process starts: configurations, and formatted storage."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from bench import durable_files, places
from bench.model import Cluster, Node, Settings, of_role, text
from bench.systems.kafka import promise, storage
from bench.systems.kafka.features import FEATURES
from bench.systems.kafka.nodes import (
    BROKER,
    CONTROLLER,
    METRICS_FILE,
    ZOOKEEPER,
    address,
    data_folder,
    logging_file,
    node_id,
    properties_file,
)
from bench.systems.servers import Servers

FOLDER = places.CLUSTERS / "kafka"
"""What an operator looks for: templates, logging, names of properties."""


_DIFFERS = "# --- Differs"
"""Where the part of a template begins that is the same however a cluster is coordinated."""


def copies(cluster: Cluster) -> int:
    """How many replicas a topic gets that does not say."""
    return promise.replicas(cluster.nodes.get(BROKER, 0))


def render(cluster: Cluster, nodes: Sequence[Node], node: Node) -> str:
    """Return a node's server.properties: the role's template, then what the scenario sets."""
    zookeepers = of_role(nodes, ZOOKEEPER)
    template = (FOLDER / f"{node.role}.properties").read_text(encoding="utf-8")
    if zookeepers and node.role == BROKER:
        head = (FOLDER / "broker-with-zookeeper.properties").read_text(encoding="utf-8")
        template = head + _DIFFERS + template.partition(_DIFFERS)[2]
    filled = Template(template).substitute(
        node_id=node_id(node),
        address=node.address,
        voters=",".join(
            f"{node_id(controller)}@{address(controller)}" for controller in of_role(nodes, CONTROLLER)
        ),
        data=data_folder(node.directory),
        copies=copies(cluster),
        in_sync=min(2, copies(cluster)),
        zookeepers=",".join(map(address, zookeepers)),
        servers="\n".join(
            f"server.{node_id(zookeeper)}={zookeeper.address}:2888:3888" for zookeeper in zookeepers
        )
        if len(zookeepers) > 1
        else "",
    )
    return filled + _scenario_lines(cluster.settings.get(node.role, {}))


def _scenario_lines(settings: Settings) -> str:
    lines = [f"{name}={text(value)}" for name, value in settings.items()]
    return "\n".join(["", "# --- From the scenario", *lines, ""]) if lines else ""


def prepare(servers: Servers, cluster: Cluster, nodes: Sequence[Node]) -> None:
    """Write every node's configuration and format its storage, so that both outlive a power cut."""
    cluster_id = storage.kafka_uuid()
    logging = logging_file(cluster.version)
    for node in nodes:
        settings = render(cluster, nodes, node).encode()
        durable_files.write(properties_file(node.directory), settings)
        for file in (logging, METRICS_FILE):
            durable_files.write(node.directory / file, (FOLDER / file).read_bytes())
        if node.role == ZOOKEEPER:
            durable_files.write(data_folder(node.directory) / "myid", f"{node_id(node)}\n".encode())
        elif not of_role(nodes, ZOOKEEPER):
            _format(servers, cluster, node, cluster_id)


def _format(servers: Servers, cluster: Cluster, node: Node, cluster_id: str) -> None:
    data, features = data_folder(node.directory), cluster.settings.get(FEATURES, {})
    if storage.can_copy(cluster.version) and not features:
        checkpoint = (FOLDER / "bootstrap.checkpoint").read_bytes() if node.role == CONTROLLER else None
        storage.format_by_copy(data, cluster_id, node_id(node), checkpoint)
    else:
        class_path = servers.class_path(cluster.version)
        storage.format_by_tool(class_path, cluster_id, properties_file(node.directory), data, features)
