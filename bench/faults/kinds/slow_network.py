"""A longer or narrower link: packets between nodes and others are held on their way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from bench.backends.abilities import Delayable, Reachable
from bench.backends.delayed_node import DelayedNode, HeldPackets, Link, why_no_queue
from bench.faults.fault import Fault, FaultEffect, Place, Unproven, heal_each, name_list, strike_each
from bench.faults.packet_faults import CLIENT, Peers, nodes_among, probe_peers
from bench.model import NANOS, Node
from bench.scenario.values import Duration

_LEAST_OF_DELAY, _MOST_OF_DELAY, _LATE_S = 0.9, 1.5, 0.005
"""From what part of the delay to what part of it, and how much more, a median shows such a way.

Who holds packets is late himself where the machine is busy: by 0.1 to 0.9 ms at the median, as measured.
"""
_ENOUGH_WITH_JITTER = 50
"""Of so many draws from delay ± jitter the median falls short of delay - jitter/2 less than once in 1,000 times."""
_LEAST_OF_RATE, _MOST_OF_RATE = 0.5, 1.1
_ENOUGH_S = 0.05
"""A rate is shown by so much time in which packets waited for each other: what passes then is what the link lets."""


class SlowNetwork(Fault):
    """Hold packets between nodes and everybody else (`from`: others), one way, in either direction.

    `delay` is added to each packet, give or take `jitter`; with `mbit_per_s` packets also wait behind each other as on
    a link of that rate, each direction of each node a link of its own. Order is kept.
    """

    key: ClassVar[str] = "slow-network"
    needs: ClassVar[tuple[type, ...]] = (Delayable, Reachable)
    must_heal: ClassVar[bool] = True

    peer_targets: str | list[str] | None = Field(default=None, alias="from")
    """Who is on the other side: targets, roles, or `client`; without it everybody."""
    delay: Duration | None = None
    """For how long each packet is held."""
    jitter: Duration | None = None
    """So much more or less than `delay`."""
    mbit_per_s: Annotated[float, Field(gt=0, strict=False)] | None = None
    """The rate of the link on which packets wait behind each other."""

    @model_validator(mode="after")
    def _check_fields(self) -> SlowNetwork:
        if self.delay is None and self.mbit_per_s is None:
            message = "give delay or mbit_per_s"
            raise ValueError(message)
        if self.jitter is not None and self.jitter > (self.delay or 0):
            message = "jitter cannot be more than delay"
            raise ValueError(message)
        return self

    @classmethod
    def why_not(cls) -> str | None:
        """See Fault."""
        return why_no_queue()

    def names(self) -> list[str]:
        """See Fault."""
        return [*self.targets, *nodes_among(name_list(self.peer_targets or []))]

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""
        peers_ = name_list(self.peer_targets or []) or [*(node.name for node in place.nodes), CLIENT]
        peers = Peers.of(place, nodes, peers_, as_group=False)
        link = Link(self.delay or 0.0, self.jitter or 0.0, (self.mbit_per_s or 0.0) * 1e6 / 8)
        delayed: dict[str, DelayedNode] = {}
        held: dict[str, dict[str, HeldPackets]] = {}

        def slow(node: Node) -> None:
            ways = peers.sources[node.name], peers.targets[node.name]
            delayed[node.name] = place.backend.slow_network(node, *ways, link)

        def end(node: Node) -> None:
            held[node.name] = delayed[node.name].end()

        def peers_of(node: Node) -> list[str]:
            return list(dict.fromkeys([*peers.sources[node.name], *peers.targets[node.name]]))

        def heal(_nodes: Sequence[Node]) -> str:
            heal_each(nodes, end)
            gone = f"The packet filter of {', '.join(delayed)} lists no rule and no queue any more."
            return f"{gone} {probe_peers(place, nodes, peers_of)}"

        def proof() -> str | Unproven:
            idle = _never_full(link, held)
            used = {name: directions for name, directions in held.items() if name not in idle}
            doubts = {name: _doubt(link, directions) for name, directions in used.items()}
            sentences = " ".join(f"{name}: {doubt}." for name, doubt in doubts.items() if doubt)
            spare = f" Never full for long enough to show it: {', '.join(idle)}." if idle else ""
            return Unproven(sentences) if sentences else f"{_delay_sentence(link, used)}{spare}"

        strike_each(nodes, slow, end)

        between = f"{', '.join(delayed)} and {', '.join(peers.names)}"
        return FaultEffect(f"Packets between {between} are held: {self._words()}.", heal, proof)

    def _words(self) -> str:
        parts = [
            f"{self.delay * 1000:g} ms one way" if self.delay else "",
            f"give or take {self.jitter * 1000:g} ms" if self.jitter else "",
            f"at most {self.mbit_per_s:g} Mbit/s" if self.mbit_per_s else "",
        ]
        return ", ".join(filter(None, parts))


def _never_full(link: Link, held: Mapping[str, Mapping[str, HeldPackets]]) -> list[str]:
    """Name the nodes on whose link nothing had to wait for long: narrow is all it is, and another one's shows that."""
    if link.delay_s or link.jitter_s:
        return []
    idle = [name for name, directions in held.items() if not _rates(link, directions)]
    return idle if len(idle) < len(held) else []


def _doubt(link: Link, held: Mapping[str, HeldPackets]) -> str | None:
    """Say why the packets of one node, by direction, do not show such a link; None where they do."""
    return _why_no_delay(link, held) or (_why_no_rate(link, held) if link.bytes_per_s else None)


def _why_no_delay(link: Link, held: Mapping[str, HeldPackets]) -> str | None:
    enough = _ENOUGH_WITH_JITTER if link.jitter_s else 1
    medians = [direction.delayed_p50_ns / NANOS for direction in held.values() if direction.packets >= enough]
    if not medians:
        packets = max((direction.packets for direction in held.values()), default=0)
        return f"no more than {packets} packets were held in one direction, too few to show it"
    least_s = _LEAST_OF_DELAY * (link.delay_s - link.jitter_s / 2)
    most_s = _MOST_OF_DELAY * (link.delay_s + link.jitter_s) + _LATE_S
    wrong = next((median for median in medians if not least_s <= median <= most_s), None)
    if wrong is None:
        return None
    return f"the median was {wrong * 1000:.2f} ms, not {least_s * 1000:g} to {most_s * 1000:g} ms"


def _why_no_rate(link: Link, held: Mapping[str, HeldPackets]) -> str | None:
    rates = _rates(link, held)
    if not rates:
        enough = _ENOUGH_S * link.bytes_per_s
        return f"less than {enough:,.0f} bytes waited for each other, too few to show a rate"
    low, high = _LEAST_OF_RATE * link.bytes_per_s, _MOST_OF_RATE * link.bytes_per_s
    wrong = next((rate for rate in rates if not low <= rate <= high), None)
    if wrong is None:
        return None
    return f"{_mbit(wrong)} passed while packets waited, not {_mbit(low)} to {_mbit(high)}"


def _rates(link: Link, held: Mapping[str, HeldPackets]) -> list[float]:
    """Return what passed a second in each direction in which packets waited for each other for long enough."""
    return [
        _bytes_per_s(direction)
        for direction in held.values()
        if direction.busy_bytes >= _ENOUGH_S * link.bytes_per_s
    ]


def _bytes_per_s(held: HeldPackets) -> float:
    """Return what passed while packets waited for each other."""
    return held.busy_bytes / max(1, held.busy_ns) * NANOS


def _mbit(bytes_per_s: float) -> str:
    return f"{bytes_per_s * 8 / 1e6:.3g} Mbit/s"


def _delay_sentence(link: Link, held: Mapping[str, Mapping[str, HeldPackets]]) -> str:
    """Say what was measured of the packets held; there are some of each node."""
    all_of_them = [
        direction for directions in held.values() for direction in directions.values() if direction.packets
    ]
    counts = {
        name: sum(direction.packets for direction in directions.values()) for name, directions in held.items()
    }
    by_node = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    low = min(direction.p50_ns for direction in all_of_them)
    high = max(direction.p50_ns for direction in all_of_them)
    worst = max(direction.p99_ns for direction in all_of_them)
    overruns = sum(
        max(direction.overruns for direction in directions.values()) for directions in held.values()
    )
    passed = _bytes_per_s(max(all_of_them, key=attrgetter("busy_bytes")))
    narrow = f" While packets waited for each other {_mbit(passed)} passed." if link.bytes_per_s else ""
    dropped = f" {overruns:,} times packets were dropped, as too many came at once." if overruns else ""
    return (
        f"{sum(counts.values()):,} packets were held ({by_node}); by node and direction the median is "
        f"{low / 1e6:.2f} to {high / 1e6:.2f} ms, the 99th percentile at most {worst / 1e6:.2f} ms.{narrow}{dropped}"
    )
