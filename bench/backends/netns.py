"""A network of the run's own: one bridge, one namespace and one address a node. Inside the sandbox only."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence

from bench.backends.delayed import DelayedNode, Link
from bench.errors import FaultError, SetupError
from bench.model import Node

_TABLE = "cut"
_DICE = 100_000
_CLIENT_HOST = 254
"""Last byte of the client side's own address on each bridge."""


class Network:
    """The bridge that a cluster's nodes and the load processes share; `client` is the address of the latter."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        """Lay the bridge and every node's namespace. Raises SetupError with what `ip` said."""
        self._nodes = list(nodes)
        prefix = self._nodes[0].address.rpartition(".")[0]
        self.client = f"{prefix}.{_CLIENT_HOST}"
        self._bridge = f"br{prefix.rpartition('.')[2]}"
        lines = [
            f"link add {self._bridge} type bridge",
            f"addr add {self.client}/24 dev {self._bridge}",
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

    def cut(
        self, node: Node, addresses: Sequence[str], *, inbound: bool, outbound: bool, share: float
    ) -> None:
        """Drop this share of the packets between a node and these addresses, in the node's own namespace."""
        those = "{ " + ", ".join(addresses) + " }"
        chance = _chance(share)
        lines = [f"add table ip {_TABLE}"]
        for chain, wanted, side in (("input", inbound, "saddr"), ("output", outbound, "daddr")):
            if wanted:
                lines += [
                    f"add chain ip {_TABLE} {chain} {{ type filter hook {chain} priority 0; }}",
                    f"add rule ip {_TABLE} {chain} ip {side} {those} {chance}counter drop",
                ]
        self._nft(node, "\n".join(lines))

    def double(self, node: Node, addresses: Sequence[str], share: float) -> None:
        """Send this share of the packets from a node to these addresses twice."""
        chance = _chance(share)
        lines = [
            f"add table ip {_TABLE}",
            f"add chain ip {_TABLE} output {{ type filter hook output priority 0; }}",
            *(
                f'add rule ip {_TABLE} output ip daddr {one} {chance}counter dup to {one} device "eth0"'
                for one in addresses
            ),
        ]
        self._nft(node, "\n".join(lines))

    def slow(self, node: Node, addresses: Sequence[str], known: Sequence[str], link: Link) -> DelayedNode:
        """Hold packets between a node and these addresses.

        What comes from `known`, whose own packets are held where they leave, passes.
        """
        return DelayedNode(self.enter(node), node.name, addresses, known, link)

    def struck(self, node: Node) -> int:
        """Return how many packets the node's rules have dropped or doubled."""
        told = self._nft(node, f"list table ip {_TABLE}")
        return sum(int(count) for count in re.findall(r"counter packets (\d+)", told))

    def mend(self, node: Node) -> None:
        """Take all cuts of a node away."""
        self._nft(node, f"delete table ip {_TABLE}")

    def _nft(self, node: Node, lines: str) -> str:
        command = [*self.enter(node), "nft", "-f", "-"]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
        if done.returncode:
            raise FaultError(f"Changing the packet filter of {node.name} failed: {done.stderr.strip()}.")
        return done.stdout

    def close(self) -> None:
        """Take the namespaces and the bridge away."""
        # Links first: with its namespace alone a link would go some time later, and its name stay taken.
        links = [f"link del {self._bridge}v{index}" for index in range(len(self._nodes))]
        _ip([*links, *(f"netns del {node.name}" for node in self._nodes), f"link del {self._bridge}"])


def _chance(share: float) -> str:
    return "" if share >= 1 else f"numgen random mod {_DICE} < {max(1, round(share * _DICE))} "


def _ip(lines: list[str], namespace: str | None = None) -> None:
    inside = ["-n", namespace] if namespace else []
    done = subprocess.run(
        ["ip", *inside, "-batch", "-"], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = f"laying the cluster's network failed: {done.stderr.strip()}"
        raise SetupError(message)
