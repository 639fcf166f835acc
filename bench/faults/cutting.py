"""Packets between nodes and others, dropped or doubled: what `isolate` and `unstable-network` have in common."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.backends.netns import PacketRules
from bench.faults.fault import Effect, Place
from bench.model import Node

CLIENT = "client"
_NUMBERS = itertools.count(1)


def nodes_among(others: Sequence[str]) -> list[str]:
    """Return the targets among `others`: all but the clients."""
    return [name for name in others if name != CLIENT]


def addresses(place: Place, nodes: Sequence[Node], others: Sequence[str]) -> dict[str, str]:
    """Return the addresses of the others, by name, as they are now: targets, without `nodes`, and clients."""
    mine = {node.name for node in nodes}
    found = [node for name in nodes_among(others) for node in place.find(name)]
    return {node.name: node.address for node in found if node.name not in mine} | (
        {CLIENT: place.client} if CLIENT in others else {}
    )


@dataclass(slots=True)
class Cutter:
    """Lays rules on the packets between `nodes` and others (by name: their addresses), and counts what they did."""

    place: Place
    nodes: Sequence[Node]
    others: Sequence[str]
    rules: PacketRules
    _counted: int = 0
    _in_force: bool = False

    @classmethod
    def between(  # noqa: PLR0913 - the rules themselves
        cls,
        place: Place,
        nodes: Sequence[Node],
        others: Sequence[str],
        *,
        inbound: bool = True,
        outbound: bool = True,
        share: float = 1.0,
        double: bool = False,
    ) -> Cutter:
        """Find out who the others (targets, or `client`) are now; nothing is in force yet."""
        those = addresses(place, nodes, others)
        name = f"rules{next(_NUMBERS)}"
        rules = PacketRules(name, tuple(those.values()), inbound, outbound, share, double)
        return cls(place, nodes, list(those), rules)

    def begin(self) -> None:
        """Put the rules in force."""
        for node in self.nodes:
            self.place.backend.cut(node, self.rules)
        self._in_force = True

    def end(self) -> None:
        """Take the rules away; what they did stays counted."""
        if not self._in_force:
            return
        self._in_force = False
        for node in self.nodes:
            self._counted += self.place.backend.struck(node, self.rules)
            self.place.backend.mend(node, self.rules)

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
        now = sum(self.place.backend.struck(node, self.rules) for node in still)
        count = self._counted + now
        return f"{count:,} packets were {'doubled' if self.rules.double else 'dropped'}." if count else None


@dataclass(slots=True)
class Flapping:
    """A cut that comes and goes, in a thread of its own, until it is ended."""

    cutter: Cutter
    down_s: float
    up_s: float
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

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

    def _run(self) -> None:
        while not self._over.wait(self.down_s):
            self.cutter.end()
            if self._over.wait(self.up_s):
                return
            self.cutter.begin()
