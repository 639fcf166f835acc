"""A network of the run's own: one bridge, one namespace and one address a node. Inside the sandbox only."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

from bench.errors import SetupError
from bench.model import Node

_CLIENT_HOST = 254
"""Last byte of the client side's own address on each bridge."""


class Network:
    """The bridge that a cluster's nodes and the load processes share."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        """Lay the bridge and every node's namespace. Raises SetupError with what `ip` said."""
        self._nodes = list(nodes)
        prefix = self._nodes[0].address.rpartition(".")[0]
        self._bridge = f"br{prefix.rpartition('.')[2]}"
        lines = [
            f"link add {self._bridge} type bridge",
            f"addr add {prefix}.{_CLIENT_HOST}/24 dev {self._bridge}",
            f"link set {self._bridge} up",
        ]
        for index, node in enumerate(self._nodes):
            lines += [
                f"netns add {node.name}",
                f"link add {self._bridge}v{index} type veth peer name eth0 netns {node.name}",
                f"link set {self._bridge}v{index} master {self._bridge} up",
            ]
        _ip(lines)
        for node in self._nodes:
            _ip(["link set lo up", f"addr add {node.address}/24 dev eth0", "link set eth0 up"], node.name)

    def enter(self, node: Node) -> list[str]:
        """Return the command prefix that starts a process in the node's namespace.

        nsenter, not `ip netns exec`: that one would pin the mount table in a namespace of its own.
        """
        return ["nsenter", f"--net=/run/netns/{node.name}", "--"]

    def close(self) -> None:
        """Take the namespaces and the bridge away."""
        _ip([*(f"netns del {node.name}" for node in self._nodes), f"link del {self._bridge}"])


def _ip(lines: list[str], namespace: str | None = None) -> None:
    inside = ["-n", namespace] if namespace else []
    done = subprocess.run(
        ["ip", *inside, "-batch", "-"], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = f"laying the cluster's network failed: {done.stderr.strip()}"
        raise SetupError(message)
