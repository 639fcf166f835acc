"""The ports of nodes: whether they are open, and waiting until they are."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence

from bench.backends import logs
from bench.errors import ClusterError, SetupError
from bench.model import Node

_OPEN_S = 60.0
_TURN_S = 0.05


def is_open(node: Node, port: int) -> bool:
    """Tell whether a node's port takes connections."""
    with socket.socket() as probe:
        probe.settimeout(0.2)
        try:
            return probe.connect_ex((node.address, port)) == 0
        except OSError:  # a name that is not known, such as that of a pod that has gone
            return False


def await_open(nodes: Sequence[Node], alive: Callable[[], None]) -> None:
    """Return once the first port of each node is open; `alive` is asked meanwhile, and may raise.

    Raises ClusterError, with the end of the node's log, for one that opens none.
    """
    deadline = time.monotonic() + _OPEN_S
    for node in nodes:
        while not is_open(node, node.ports[0]):
            alive()
            if time.monotonic() > deadline:
                raise ClusterError(f"{node.name} has no open port after {_OPEN_S:.0f} s. {logs.end(node)}")
            time.sleep(_TURN_S)


def check_free(nodes: Sequence[Node]) -> None:
    """Raise SetupError when something already listens where a node wants to."""
    for node in nodes:
        for port in node.ports:
            if is_open(node, port):
                message = f"{node.name} needs {node.address}:{port}, and something listens there already"
                raise SetupError(message)
