"""Packets between nodes and others, dropped or doubled: what `isolate` and `unstable-network` have in common."""

from __future__ import annotations

import itertools
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from bench import numbers
from bench.backends.netns import PacketRules, Packets
from bench.errors import BenchError, FaultError
from bench.faults.fault import FaultEffect, Place, Unproven, heal_each, strike_each
from bench.model import Node

CLIENT = "client"
_NUMBERS = itertools.count(1)
_LEAST_OF_SHARE = 0.5
_PLAUSIBLE = 0.001
"""Fewer struck packets than the least of the share are chance where it gives so few this often, or more often."""
_PATIENCE_S = 3.0
_TRIED_S = 0.2
"""How long a node waits for an answer that must not come."""


def nodes_among(names: Sequence[str]) -> list[str]:
    """Return the targets among `names`: all but the clients."""
    return [name for name in names if name != CLIENT]


@dataclass(frozen=True, slots=True)
class Peers:
    """Whose packets with each struck node are meant, as things are now: names, and addresses by the node's name.

    `sources` are those whose packets to the node it strikes itself, `targets` those to whom its own go.
    """

    names: Sequence[str]
    sources: Mapping[str, tuple[str, ...]]
    targets: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, place: Place, nodes: Sequence[Node], peer_targets: Sequence[str], *, as_group: bool) -> Peers:
        """Find out who the peers (targets, or `client`) are.

        `as_group` leaves what the struck nodes send each other alone. Without it that is struck too: once, where it
        leaves. Raises FaultError when nobody is left.
        """
        by_name = {node.name: node.address for name in nodes_among(peer_targets) for node in place.find(name)}
        by_name |= {CLIENT: place.client} if CLIENT in peer_targets else {}
        struck = {node.name for node in nodes}
        beyond = {name: address for name, address in by_name.items() if name not in struck}
        addresses = beyond if as_group else by_name
        if not [name for name in addresses if struck != {name}]:
            raise FaultError(
                f"There is nobody between whom and {', '.join(sorted(struck))} packets could pass."
            )
        return cls(
            list(addresses),
            {node.name: tuple(beyond.values()) for node in nodes},
            {node.name: tuple(addresses[name] for name in addresses if name != node.name) for node in nodes},
        )


def probe_peers(place: Place, nodes: Sequence[Node], peers: Callable[[Node], Sequence[str]]) -> str:
    """Let each node ask its peers (addresses) for an answer; return how that was seen.

    Pairs whose packets another fault strikes now are not asked, and named. Raises FaultError for one without an answer.
    """
    names = {place.client: CLIENT} | {node.address: node.name for node in place.nodes}
    cut_pairs, unasked = _pairs(place, nodes, peers)
    answers = _answers(place, nodes, cut_pairs)
    silent = [
        f"{node.name} and {names[address]}"
        for node in nodes
        for address in cut_pairs[node.name]
        if address not in answers[node.name]
    ]
    if silent:
        raise FaultError(f"The fault is over, and no packet passes between {', '.join(silent)}.")
    parts = [
        f"{name} got an answer from {', '.join(names[address] for address in addresses)} within "
        f"{max(answers[name].values()) * 1000:.1f} ms."
        for name, addresses in cut_pairs.items()
        if addresses
    ]
    if unasked:
        pairs = ", ".join(f"{name} and {names[address]}" for name, address in unasked)
        parts.append(f"Another fault strikes packets between {pairs}: these were not asked.")
    return " ".join(parts)


def _pairs(
    place: Place, nodes: Sequence[Node], peers: Callable[[Node], Sequence[str]]
) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """Return whom each node is to ask, by its name, and the pairs that another fault strikes."""
    cut_pairs: dict[str, list[str]] = {node.name: [] for node in nodes}
    unasked = []
    for node in nodes:
        node_is_hindered = place.backend.is_hindered(node.address)
        for address in peers(node):
            if node_is_hindered or place.backend.is_hindered(address):
                unasked.append((node.name, address))
            else:
                cut_pairs[node.name].append(address)
    return cut_pairs, unasked


def _answers(
    place: Place, nodes: Sequence[Node], peer_addresses: Mapping[str, Sequence[str]]
) -> dict[str, Mapping[str, float]]:
    """Return who answered to each node, and after how long."""

    def answer_times(node: Node) -> Mapping[str, float]:
        times: Mapping[str, float] = {}
        if peer_addresses[node.name]:
            times = place.backend.answers(node, peer_addresses[node.name], _PATIENCE_S)
        return times

    with ThreadPoolExecutor(len(nodes)) as pool:
        return dict(zip([node.name for node in nodes], pool.map(answer_times, nodes), strict=True))


@dataclass(slots=True)
class Cutter:
    """Lays rules on the packets of nodes (by name), and counts what they did."""

    place: Place
    nodes: Sequence[Node]
    peer_names: Sequence[str]
    rules: Mapping[str, PacketRules]
    share: float
    double: bool
    _counted: dict[str, Packets] = field(default_factory=lambda: defaultdict(Packets))
    _tried: dict[str, Packets] = field(default_factory=dict)
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
        return cls(place, nodes, peers.names, rules, share, double)

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

    def _end_tried(self) -> None:
        try:
            self._try_silent()
        finally:
            self.end()

    def _mend(self, node: Node) -> None:
        try:
            self._counted[node.name] += self._packet_counts(node)
        finally:
            self.place.backend.mend(node, self.rules[node.name])

    def _try_silent(self) -> None:
        """Send packets from nodes of which none was dropped, where others show that the cut mattered.

        They are to be dropped, and are told apart from the node's own. Where nobody had anything to send there is
        nothing to show.
        """
        if self.share < 1 or self.double or not self._in_force:
            return
        counts = {node.name: self._packet_counts(node) for node in self.nodes}
        if not any(count.affected_count for count in counts.values()):
            return
        for node in [silent for silent in self.nodes if not counts[silent.name].affected_count]:
            if not self.place.backend.answers(node, self._peers(node), _TRIED_S):
                self._tried[node.name] = self._packet_counts(node)

    def _packet_counts(self, node: Node) -> Packets:
        return self.place.backend.packet_counts(node, self.rules[node.name])

    def effect(self, evidence: str, end: Callable[[], None] | None = None) -> FaultEffect:
        """Return the effect that these rules are, ended by `end`."""

        def heal(_nodes: Sequence[Node]) -> str:
            (end or self._end_tried)()
            names = ", ".join(node.name for node in self.nodes)
            gone = f"The packet filter of {names} lists the rules no more."
            return f"{gone} {probe_peers(self.place, self.nodes, self._peers)}"

        return FaultEffect(f"{evidence} {self._between()}.", heal, self._proof)

    def _peers(self, node: Node) -> list[str]:
        rules = self.rules[node.name]
        return list(dict.fromkeys([*rules.sources, *rules.targets]))

    def _between(self) -> str:
        return f"{', '.join(sorted(node.name for node in self.nodes))} and {', '.join(self.peer_names)}"

    def _proof(self) -> str | Unproven:
        """Packets that were dropped or doubled are the evidence, on each node; rules alone would be none."""
        self._try_silent()
        counts = {node.name: self._count(node) for node in self.nodes}
        total = sum(count.affected_count for name, count in counts.items() if name not in self._tried)
        verb = "doubled" if self.double else "dropped"
        doubts = [name for name, count in counts.items() if not total or not self._is_proven(count)]
        if doubts:
            parts = (f"{name} {counts[name].affected_count:,} of {counts[name].met:,}" for name in doubts)
            return Unproven(f"Too few packets were {verb}: {', '.join(parts)}.")
        own_counts = ", ".join(
            f"{name} {self._words(count)}" for name, count in counts.items() if name not in self._tried
        )
        tried = "".join(
            f" {name} had sent and got nothing; {self._words(self._tried[name])} sent from it to try were dropped too."
            for name in self._tried
        )
        return f"{total:,} packets were {verb}: {own_counts}.{tried}"

    def _count(self, node: Node) -> Packets:
        now = self._packet_counts(node) if self._in_force else Packets()
        return self._counted[node.name] + now

    def _is_proven(self, count: Packets) -> bool:
        """Tell whether a node's packets show the fault: chance may spare few, not many, and all cannot be spared."""
        if self.share >= 1 or not count.met:
            return count.affected_count > 0
        expected = self.share * count.met
        enough = count.affected_count >= _LEAST_OF_SHARE * expected
        return enough or chance_of_so_few(count.affected_count, expected) >= _PLAUSIBLE

    def _words(self, count: Packets) -> str:
        if self.share >= 1 and not self.double:
            return f"{count.affected_count:,} ({count.came_in:,} coming in, {count.went_out:,} going out)"
        return f"{count.affected_count:,} of {count.met:,} ({numbers.percent(count.affected_count / count.met, 1)})"


def chance_of_so_few(struck: int, expected: float) -> float:
    """Return Chernoff's bound on the chance that so few packets are struck, or fewer, where more are `expected`."""
    return math.exp(struck - expected + (struck * math.log(expected / struck) if struck else 0.0))


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
