"""Packets between nodes and others, dropped or doubled: what `isolate` and `unstable-network` have in common."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.backends.netns import PacketRules
from bench.errors import BenchError, FaultError
from bench.faults.fault import Effect, Place, heal_each, strike_each
from bench.model import Node

CLIENT = "client"
_NUMBERS = itertools.count(1)


def nodes_among(others: Sequence[str]) -> list[str]:
    """Return the targets among `others`: all but the clients."""
    return [name for name in others if name != CLIENT]


@dataclass(frozen=True, slots=True)
class Peers:
    """Whose packets with each struck node are meant, as things are now: names, and addresses by the node's name.

    `sources` are those whose packets to the node it strikes itself, `targets` those to whom its own go.
    """

    names: Sequence[str]
    sources: Mapping[str, tuple[str, ...]]
    targets: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, place: Place, nodes: Sequence[Node], others: Sequence[str], *, as_group: bool) -> Peers:
        """Find out who the others (targets, or `client`) are.

        `as_group` leaves what the struck nodes send each other alone. Without it that is struck too: once, where it
        leaves. Raises FaultError when nobody is left.
        """
        found = {node.name: node.address for name in nodes_among(others) for node in place.find(name)}
        found |= {CLIENT: place.client} if CLIENT in others else {}
        struck = {node.name for node in nodes}
        beyond = {name: address for name, address in found.items() if name not in struck}
        those = beyond if as_group else found
        if not [name for name in those if struck != {name}]:
            raise FaultError(
                f"There is nobody between whom and {', '.join(sorted(struck))} packets could pass."
            )
        return cls(
            list(those),
            {node.name: tuple(beyond.values()) for node in nodes},
            {node.name: tuple(those[name] for name in those if name != node.name) for node in nodes},
        )


@dataclass(slots=True)
class Cutter:
    """Lays rules on the packets of nodes (by name), and counts what they did."""

    place: Place
    nodes: Sequence[Node]
    others: Sequence[str]
    rules: Mapping[str, PacketRules]
    double: bool
    _counted: int = 0
    _in_force: bool = False

    @classmethod
    def between(
        cls, place: Place, nodes: Sequence[Node], peers: Peers, *, share: float = 1.0, double: bool = False
    ) -> Cutter:
        """Prepare rules; nothing is in force yet."""
        name = f"rules{next(_NUMBERS)}"
        rules = {
            node.name: PacketRules(name, peers.sources[node.name], peers.targets[node.name], share, double)
            for node in nodes
        }
        return cls(place, nodes, peers.names, rules, double)

    def begin(self) -> None:
        """Put the rules in force: on all nodes or, where one refuses them, on none."""
        strike_each(
            self.nodes,
            lambda node: self.place.backend.cut(node, self.rules[node.name]),
            lambda node: self.place.backend.mend(node, self.rules[node.name]),
        )
        self._in_force = True

    def end(self) -> None:
        """Take the rules away; what they did stays counted."""
        if not self._in_force:
            return
        self._in_force = False
        heal_each(self.nodes, self._mend)

    def _mend(self, node: Node) -> None:
        try:
            self._counted += self.place.backend.struck(node, self.rules[node.name])
        finally:
            self.place.backend.mend(node, self.rules[node.name])

    def effect(self, seen: str, end: Callable[[], None] | None = None) -> Effect:
        """Return the effect that these rules are, ended by `end`."""

        def heal(_nodes: Sequence[Node]) -> str:
            (end or self.end)()
            return "The rules are gone."

        return Effect(f"{seen} {self._between()}.", heal, self._proof)

    def _between(self) -> str:
        return f"{', '.join(sorted(node.name for node in self.nodes))} and {', '.join(self.others)}"

    def _proof(self) -> str | None:
        """Packets that were dropped are the evidence; rules alone would be none."""
        still = self.nodes if self._in_force else []
        now = sum(self.place.backend.struck(node, self.rules[node.name]) for node in still)
        count = self._counted + now
        return f"{count:,} packets were {'doubled' if self.double else 'dropped'}." if count else None


@dataclass(slots=True)
class Flapping:
    """A cut that comes and goes, in a thread of its own, until it is ended."""

    cutter: Cutter
    down_s: float
    up_s: float
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _error: BenchError | None = None

    def begin(self) -> None:
        """Cut, and go on in turn."""
        self.cutter.begin()
        self._thread = threading.Thread(target=self._run, name="flapping", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop it, and leave the network whole."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self.cutter.end()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while not self._over.wait(self.down_s):
                self.cutter.end()
                if self._over.wait(self.up_s):
                    return
                self.cutter.begin()
        except BenchError as error:
            self._error = error  # `end` tells it
