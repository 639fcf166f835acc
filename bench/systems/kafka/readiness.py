"""When a cluster takes requests: every broker listens, and is registered and unfenced."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from bench.errors import ClusterError
from bench.model import Node, of_role
from bench.systems.kafka.nodes import BROKER, address, endpoint

_DEADLINE_S = 60.0
_TURN_S = 0.02


def await_ready(nodes: Sequence[Node], alive: Callable[[], None], deadline_s: float = _DEADLINE_S) -> None:
    """Return once every broker listens and is in the cluster's metadata, and there is a controller.

    Raises ClusterError naming the brokers still missing after `deadline_s`.
    """
    deadline = time.monotonic() + deadline_s
    brokers = of_role(nodes, BROKER)
    _await(lambda: _silent(brokers), "no answer yet from", alive, deadline)
    # log_level 0: what does not answer is said by the error here, not by librdkafka on standard error.
    client = AdminClient({"bootstrap.servers": endpoint(brokers), "log_level": 0})
    _await(
        lambda: _unregistered_brokers(client, brokers), "not in the cluster's metadata yet:", alive, deadline
    )


def _await(
    missing: Callable[[], list[str]], complaint: str, alive: Callable[[], None], deadline: float
) -> None:
    alive()
    while names := missing():
        alive()
        if time.monotonic() > deadline:
            raise ClusterError(
                f"Waiting for the Kafka cluster to take requests: {complaint} {', '.join(names)}. "
                "Look into the server.log of these nodes and of the controllers."
            )
        time.sleep(_TURN_S)


def _silent(brokers: Sequence[Node]) -> list[str]:
    return [node.name for node in brokers if not _listens(node)]


def _listens(node: Node) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((node.address, node.ports[0])) == 0


def _unregistered_brokers(client: AdminClient, brokers: Sequence[Node]) -> list[str]:
    try:
        metadata = client.list_topics(timeout=1.0)
    except KafkaException:  # no broker answered within a second: all are missing, and the deadline runs
        return [node.name for node in brokers]
    if metadata.controller_id < 0:
        return ["a controller"]
    registered_addresses = {f"{broker.host}:{broker.port}" for broker in metadata.brokers.values()}
    return [node.name for node in brokers if address(node) not in registered_addresses]
