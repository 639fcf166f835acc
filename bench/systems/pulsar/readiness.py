"""When a cluster takes requests: ZooKeeper answers, bookies are registered, brokers know each other."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence

import httpx

from bench.errors import ClusterError
from bench.model import Node, of_role
from bench.systems.pulsar import metadata
from bench.systems.pulsar.nodes import BOOKIE, BROKER, ZOOKEEPER, address, web

_DEADLINE_S = 120.0
_TURN_S = 0.1
_ASK_S = 2.0


def await_ready(nodes: Sequence[Node], alive: Callable[[], None], deadline_s: float = _DEADLINE_S) -> None:
    """Ask every node in turn until all are ready. Raises ClusterError naming what is missing after `deadline_s`."""
    deadline = time.monotonic() + deadline_s
    with httpx.Client(timeout=_ASK_S, trust_env=False) as http:
        while missing := next(_readiness_problems(nodes, http), None):
            alive()
            if time.monotonic() > deadline:
                still = "; ".join(_readiness_problems(nodes, http)) or missing
                raise ClusterError(
                    f"Pulsar did not become ready within {deadline_s:g} s: {still}. "
                    f"The nodes' logs in {nodes[0].log.parent} tell more."
                )
            time.sleep(_TURN_S)


def _readiness_problems(nodes: Sequence[Node], http: httpx.Client) -> Iterator[str]:
    """What is not there yet, in the order in which it comes up."""
    zookeepers = of_role(nodes, ZOOKEEPER)
    for node in zookeepers:
        if "Mode: " not in four_letter_word(node, "srvr"):
            yield f"{node.name} serves no requests"
    registered = "\n".join(four_letter_word(node, "dump") for node in zookeepers)
    for bookie in of_role(nodes, BOOKIE):
        if f"/ledgers/available/{address(bookie)}" not in registered:
            yield f"{bookie.name} is not registered as writable in ZooKeeper"
    brokers = of_role(nodes, BROKER)
    for broker in brokers:
        if _get(http, broker, "brokers/ready") is None:
            yield f"{broker.name} is not ready (http://{web(broker)}/admin/v2/brokers/ready)"
    for broker in brokers:
        listing = _get(http, broker, f"brokers/{metadata.CLUSTER}") or ""
        unknown = [peer.name for peer in brokers if web(peer) not in listing]
        yield from (f"{broker.name} does not know {name}" for name in unknown)


def leads(zookeeper: Node) -> bool:
    """Tell whether this ZooKeeper server leads its ensemble, or is alone."""
    answer = four_letter_word(zookeeper, "srvr")
    return "Mode: leader" in answer or "Mode: standalone" in answer


def four_letter_word(zookeeper: Node, word: str) -> str:
    """ZooKeeper's answer to a four-letter word, empty where it gives none."""
    try:
        with socket.create_connection((zookeeper.address, zookeeper.ports[0]), timeout=_ASK_S) as connection:
            connection.sendall(word.encode())
            return b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
    except OSError:
        return ""


def _get(http: httpx.Client, broker: Node, path: str) -> str | None:
    try:
        answer = http.get(f"http://{web(broker)}/admin/v2/{path}")
    except httpx.TransportError:
        return None
    return answer.text if answer.status_code == httpx.codes.OK else None
