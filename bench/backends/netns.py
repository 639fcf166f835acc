"""A network of the run's own: one bridge, one namespace and one address a node. Inside the sandbox only."""

from __future__ import annotations

import json
import shutil
import sys
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.backends import commands, link_rate, ping_probe, sandbox
from bench.backends.delayed_node import DelayedNode, Link
from bench.errors import FaultError, SetupError
from bench.model import Node

_DICE = 100_000
_DOUBLED = 0x64757000
"""Mark of a packet and of its copy, which would else be counted, and doubled, as one that the node sent."""
_CLIENT_HOST = 254
"""Last byte of the client side's own address on each bridge."""


@dataclass(frozen=True, slots=True)
class Packets:
    """Packets of a node that were meant by its rules, `met`, and those of them that were dropped or doubled.

    `came_in` were struck on their way to the node, `went_out` on their way from it.
    """

    met: int = 0
    came_in: int = 0
    went_out: int = 0

    @property
    def affected_count(self) -> int:
        """All that were dropped or doubled."""
        return self.came_in + self.went_out

    def __add__(self, addend: Packets) -> Packets:
        """Return both together."""
        return Packets(self.met + addend.met, self.came_in + addend.came_in, self.went_out + addend.went_out)


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
            yield self._rule("output", f"meta mark {_DOUBLED} accept")
            yield self._rule("output", f"ip daddr {_any(self.targets)} counter")
            for target in self.targets:
                doubled = f'counter meta mark set {_DOUBLED} dup to {target} device "eth0"'
                yield self._rule("output", f"ip daddr {target} {chance}{doubled}")
            return
        for chain, side, addresses in (("input", "saddr", self.sources), ("output", "daddr", self.targets)):
            if addresses:
                yield self._chain(chain)
                yield self._rule(chain, f"ip {side} {_any(addresses)} counter")
                yield self._rule(chain, f"ip {side} {_any(addresses)} {chance}counter drop")

    def _chain(self, hook: str) -> str:
        return f"add chain ip {self.name} {hook} {{ type filter hook {hook} priority 0; }}"

    def _rule(self, chain: str, rule: str) -> str:
        return f"add rule ip {self.name} {chain} {rule}"


def _packets(rule: Mapping[str, Any]) -> Packets:
    """Return what one rule counts: a counter with nothing behind it counts what the rules meet."""
    statements = [next(iter(statement.items())) for statement in rule["expr"]]
    count = sum(content["packets"] for name, content in statements if name == "counter")
    if statements[-1][0] == "counter":
        return Packets(met=count)
    return Packets(came_in=count) if rule["chain"] == "input" else Packets(went_out=count)


def _any(addresses: Sequence[str]) -> str:
    return f"{{ {', '.join(addresses)} }}"


@cache
def why_no_rules() -> str | None:
    """Return why packets cannot be dropped, by chance too, and doubled here; None where they can. It is tried."""
    if shutil.which("nft", path=sandbox.PATH) is None:
        return "nft (nftables) is missing"
    address = ("10.0.0.1",)
    tried = (
        PacketRules("dropped", address, address),
        PacketRules("lost", address, address, share=0.5),
        PacketRules("doubled", (), address, share=0.5, double=True),
    )
    script = "\n".join(rules.script() for rules in tried)
    reason = sandbox.why_fails("ip link add eth0 type veth; nft -f -; nft -j list tables", input_text=script)
    return f"the kernel's packet filter refuses a rule: {reason}" if reason else None


class NodeNetwork(ABC):
    """The addresses of a cluster's nodes, and what hinders their packets.

    All addresses begin with `prefix`; `client` is that of the load processes.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        """Hinder nobody yet."""
        self._nodes = list(nodes)
        self._in_force: dict[str, set[str]] = defaultdict(set)
        self._delayed: dict[str, DelayedNode] = {}
        self.prefix = self._nodes[0].address.rpartition(".")[0]
        self.client = f"{self.prefix}.{_CLIENT_HOST}"

    @abstractmethod
    def enter(self, node: Node) -> list[str]:
        """Return the command prefix that starts a process in the network namespace of a node."""

    def cut(self, node: Node, rules: PacketRules) -> None:
        """Put rules in force in the node's own namespace, as a table of their own."""
        self._nft(node, "-f", "-", script=rules.script())
        self._in_force[node.name].add(rules.name)

    def slow(self, node: Node, sources: Sequence[str], targets: Sequence[str], link: Link) -> DelayedNode:
        """Hold packets that come to a node from `sources`, and those that go to `targets`.

        Raises FaultError where they are held already: a node's queues have one who serves them.
        """
        if self._is_delayed(node.name):
            raise FaultError(
                f"Packets of {node.name} are held already: one slow-network at a time may strike a node."
            )
        self._delayed[node.name] = DelayedNode(self.enter(node), node.name, sources, targets, link)
        return self._delayed[node.name]

    def packet_counts(self, node: Node, rules: PacketRules) -> Packets:
        """Return how many packets these rules have met, and dropped or doubled."""
        items = self._list(node, f"table ip {rules.name}")
        return sum((_packets(item["rule"]) for item in items if "rule" in item), Packets())

    def mend(self, node: Node, rules: PacketRules) -> None:
        """Take these rules away. Raises FaultError if the packet filter still lists them."""
        self._nft(node, f"delete table ip {rules.name}")
        tables = [item["table"]["name"] for item in self._list(node, "tables ip") if "table" in item]
        if rules.name in tables:
            raise FaultError(f"The packet filter of {node.name} still lists rules that were taken away.")
        self._in_force[node.name].discard(rules.name)

    def is_hindered(self, address: str) -> bool:
        """Tell whether any rule strikes packets in the namespace of the node at this address now."""
        names = [node.name for node in self._nodes if node.address == address]
        return any(self._in_force[name] or self._is_delayed(name) for name in names)

    def _is_delayed(self, name: str) -> bool:
        return name in self._delayed and not self._delayed[name].ended

    def answers(self, node: Node, addresses: Sequence[str], patience_s: float) -> dict[str, float]:
        """Return which addresses answer to a packet from a node, and after how many seconds (ping_probe.py)."""
        command = [*self.enter(node), sys.executable, "-IS", ping_probe.__file__, str(patience_s), *addresses]
        done = commands.run(command)
        if done.returncode:
            raise FaultError(f"Asking for answers from {node.name} failed: {done.stderr.strip()}.")
        answered: dict[str, float] = json.loads(done.stdout)
        return answered

    def _list(self, node: Node, subject: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = json.loads(self._nft(node, "-j", f"list {subject}"))["nftables"]
        return items

    def _nft(self, node: Node, *arguments: str, script: str = "") -> str:
        done = commands.run([*self.enter(node), "nft", *arguments], script)
        if done.returncode:
            raise FaultError(f"Changing the packet filter of {node.name} failed: {done.stderr.strip()}.")
        return done.stdout


class Network(NodeNetwork):
    """A bridge that a cluster's nodes and the load processes share, and a namespace for each node."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        """Lay the bridge and every node's namespace. Raises SetupError with what `ip` said."""
        super().__init__(nodes)
        self._narrow: set[str] = set()
        self._bridge = f"br{self.prefix.rpartition('.')[2]}"
        lines = [
            f"link add {self._bridge} type bridge",
            f"addr add {self.client}/24 dev {self._bridge}",
            f"link set {self._bridge} up",
        ]
        for index, node in enumerate(self._nodes):
            lines += [
                f"netns add {node.address}",
                f"link add {self._bridge}v{index} type veth peer name eth0 netns {node.address}",
                f"link set {self._bridge}v{index} master {self._bridge} up",
            ]
        _ip(lines)
        for node in self._nodes:
            _ip(["link set lo up", f"addr add {node.address}/24 dev eth0", "link set eth0 up"], node.address)

    def enter(self, node: Node) -> list[str]:
        """Return the command prefix that starts a process in the node's namespace.

        A namespace is named by the node's address, as nodes of two systems may have the same name. It is entered by
        nsenter and not by `ip netns exec`, which would pin the mount table in a namespace of its own.
        """
        return ["nsenter", f"--net=/run/netns/{node.address}", "--"]

    def narrow(self, node: Node, bytes_per_s: float | None) -> None:
        """Let a node's link carry so many bytes a second in each direction; None: as many as it can."""
        if self.is_narrow(node) or bytes_per_s is not None:
            link_rate.narrow(self.enter(node), "eth0", bytes_per_s)
            link_rate.narrow([], f"{self._bridge}v{self._nodes.index(node)}", bytes_per_s)
        self._narrow.discard(node.name)
        if bytes_per_s is not None:
            self._narrow.add(node.name)

    def is_narrow(self, node: Node) -> bool:
        """Whether a node's link is narrower than it could be."""
        return node.name in self._narrow

    def rates(self, node: Node) -> tuple[float, float]:
        """Return how many bytes a second pass from the clients' address to a node, and back."""
        return link_rate.measure(self.enter(node), self.client)

    def close(self) -> None:
        """Take the namespaces and the bridge away."""
        # Links first: with its namespace alone a link would go some time later, and its name stay taken.
        links = [f"link del {self._bridge}v{index}" for index in range(len(self._nodes))]
        _ip([*links, *(f"netns del {node.address}" for node in self._nodes), f"link del {self._bridge}"])


def _ip(lines: list[str], namespace: str | None = None) -> None:
    inside = ["-n", namespace] if namespace else []
    done = commands.run(["ip", *inside, "-batch", "-"], "\n".join(lines))
    if done.returncode:
        message = f"laying the cluster's network failed: {done.stderr.strip()}"
        raise SetupError(message)
