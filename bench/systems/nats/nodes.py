"""NATS' server processes: one role, each server with routes to all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench import places
from bench.model import Cluster, Node
from bench.systems.servers import Servers

SERVER = "server"
MOST_NODES = 200
"""How many addresses there are, up to the client's own (254)."""
FOLDER = places.CLUSTERS / "nats"
"""What an operator looks for: the configuration's template, names of settings."""

_NETWORK, _FIRST_HOST = "10.99.3", 11
_CLIENT_PORT, _ROUTE_PORT, _MONITOR_PORT = 4222, 6222, 8222
_MEMORY_MIB = 512
"""What a server may grow to: it keeps blocks of messages and its peers' unacknowledged ones in memory."""


def lay_out(servers: Servers, cluster: Cluster, folder: Path) -> list[Node]:
    """Return the servers."""
    program = servers.home(cluster.version) / "bin" / "nats-server"
    return [_node(program, folder, number) for number in range(cluster.nodes.get(SERVER, 0))]


def _node(program: Path, folder: Path, number: int) -> Node:
    name = f"{SERVER}-{number + 1}"
    directory = folder / name
    return Node(
        name=name,
        role=SERVER,
        address=f"{_NETWORK}.{_FIRST_HOST + number}",
        command=(str(program), "-c", str(configuration_file(directory))),
        directory=directory,
        log=directory / "server.log",
        ports=(_CLIENT_PORT, _ROUTE_PORT, _MONITOR_PORT),
        memory_bytes=_MEMORY_MIB * 2**20,
    )


def configuration_file(directory: Path) -> Path:
    """Return where a server's configuration is, given its folder."""
    return directory / "server.conf"


def data_folder(directory: Path) -> Path:
    """Return where a server keeps its streams, given its folder: below it, so that the folder may be a mount."""
    return directory / "data"


def endpoint(nodes: Iterable[Node]) -> str:
    """Return where clients connect: every server, separated by commas."""
    return ",".join(f"nats://{node.address}:{_CLIENT_PORT}" for node in nodes if node.role == SERVER)


def route(node: Node) -> str:
    """Return where other servers find a server."""
    return f"nats-route://{node.address}:{_ROUTE_PORT}"


def monitor(node: Node, page: str) -> str:
    """Return the address of a page of a server's own figures, in JSON."""
    return f"http://{node.address}:{_MONITOR_PORT}/{page}"


def groups(nodes: Sequence[Node]) -> list[list[Node]]:
    """Return the servers in the order of starts and stops: all at once."""
    return [list(nodes)] if nodes else []
