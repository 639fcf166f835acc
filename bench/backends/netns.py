"""A network of the run's own: one bridge, one namespace and one address a node. Inside the sandbox only."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from bench.backends import sandbox
from bench.backends.delayed import DelayedNode, Link
from bench.errors import FaultError, SetupError
from bench.model import Node

_DICE = 100_000
_CLIENT_HOST = 254
"""Last byte of the client side's own address on each bridge."""


@dataclass(frozen=True, slots=True)
class PacketRules:
    """Packets of a node that are dropped, or where `double`d sent twice: all of them or a random share.

    Those that come from the addresses `sources` and those that go to `targets`; only the latter can be doubled. `name`
    tells the rules from others that are in force at the same time.
    """

    name: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    share: float = 1.0
    double: bool = False

    def script(self) -> str:
        """Return what nft is to read."""
        return "\n".join([f"add table ip {self.name}", *self._lines()])

    def _lines(self) -> Iterator[str]:
        chance = (
            "" if self.share >= 1 else f"numgen random mod {_DICE} < {max(1, round(self.share * _DICE))} "
        )
        if self.double:
            yield self._chain("output")
            for one in self.targets:
                yield f'add rule ip {self.name} output ip daddr {one} {chance}counter dup to {one} device "eth0"'
            return
        for chain, side, those in (("input", "saddr", self.sources), ("output", "daddr", self.targets)):
            if those:
                yield self._chain(chain)
                yield f"add rule ip {self.name} {chain} ip {side} {{ {', '.join(those)} }} {chance}counter drop"

    def _chain(self, hook: str) -> str:
        return f"add chain ip {self.name} {hook} {{ type filter hook {hook} priority 0; }}"


@cache
def why_no_rules() -> str | None:
    """Return why packets cannot be dropped, by chance too, and doubled here; None where they can. It is tried."""
    if shutil.which("nft", path=sandbox.PATH) is None:
        return "nft (nftables) is missing"
    one = ("10.0.0.1",)
    tried = (
        PacketRules("dropped", one, one),
        PacketRules("lost", one, one, share=0.5),
        PacketRules("doubled", (), one, share=0.5, double=True),
    )
    told = "\n".join(rules.script() for rules in tried)
    reason = sandbox.why_fails("ip link add eth0 type veth; nft -f -", told=told)
    return f"the kernel's packet filter refuses a rule: {reason}" if reason else None


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

    def cut(self, node: Node, rules: PacketRules) -> None:
        """Put rules in force in the node's own namespace, as a table of their own."""
        self._nft(node, rules.script())

    def slow(self, node: Node, sources: Sequence[str], targets: Sequence[str], link: Link) -> DelayedNode:
        """Hold packets that come to a node from `sources`, and those that go to `targets`."""
        return DelayedNode(self.enter(node), node.name, sources, targets, link)

    def struck(self, node: Node, rules: PacketRules) -> int:
        """Return how many packets these rules have dropped or doubled."""
        told = self._nft(node, f"list table ip {rules.name}")
        return sum(int(count) for count in re.findall(r"counter packets (\d+)", told))

    def mend(self, node: Node, rules: PacketRules) -> None:
        """Take these rules away."""
        self._nft(node, f"delete table ip {rules.name}")

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


def _ip(lines: list[str], namespace: str | None = None) -> None:
    inside = ["-n", namespace] if namespace else []
    done = subprocess.run(
        ["ip", *inside, "-batch", "-"], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = f"laying the cluster's network failed: {done.stderr.strip()}"
        raise SetupError(message)
