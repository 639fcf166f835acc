"""A longer or narrower link: packets between nodes and others are held on their way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from bench.backends.abilities import Delayable, Reachable
from bench.backends.delayed import DelayedNode, Held, Link, why_no_queue
from bench.faults.cutting import CLIENT, Peers, nodes_among, passing
from bench.faults.fault import Effect, Fault, Place, Unproven, heal_each, listed, strike_each
from bench.model import Node
from bench.scenario.values import Duration

_LEAST_OF_DELAY = 0.9
"""A median shorter than this part of what was asked for shows no such way."""


class SlowNetwork(Fault):
    """Hold packets between nodes and everybody else (`from`: others), one way, in either direction.

    `delay` is added to each packet, give or take `jitter`; with `mbit_per_s` packets also wait behind each other as on
    a link of that rate, each direction of each node a link of its own. Order is kept.
    """

    key: ClassVar[str] = "slow-network"
    needs: ClassVar[tuple[type, ...]] = (Delayable, Reachable)
    must_heal: ClassVar[bool] = True

    others: str | list[str] | None = Field(default=None, alias="from")
    delay: Duration | None = None
    jitter: Duration | None = None
    mbit_per_s: Annotated[float, Field(gt=0, strict=False)] | None = None

    @model_validator(mode="after")
    def _something(self) -> SlowNetwork:
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
        return [*self.targets, *nodes_among(listed(self.others or []))]

    def strike(self, place: Place, nodes: Sequence[Node]) -> Effect:
        """See Fault."""
        others = listed(self.others or []) or [*(node.name for node in place.nodes), CLIENT]
        peers = Peers.of(place, nodes, others, as_group=False)
        link = Link(self.delay or 0.0, self.jitter or 0.0, (self.mbit_per_s or 0.0) * 1e6 / 8)
        delayed: dict[str, DelayedNode] = {}
        held: dict[str, dict[str, Held]] = {}

        def slow(node: Node) -> None:
            ways = peers.sources[node.name], peers.targets[node.name]
            delayed[node.name] = place.backend.slow_network(node, *ways, link)

        def end(node: Node) -> None:
            held[node.name] = delayed[node.name].end()

        def meant(node: Node) -> list[str]:
            return list(dict.fromkeys([*peers.sources[node.name], *peers.targets[node.name]]))

        def heal(_nodes: Sequence[Node]) -> str:
            heal_each(nodes, end)
            gone = f"The packet filter of {', '.join(delayed)} lists no rule and no queue any more."
            return f"{gone} {passing(place, nodes, meant)}"

        def proof() -> str | Unproven:
            doubts = [name for name, directions in held.items() if not self._shown(directions)]
            return Unproven(f"Too little was held of {', '.join(doubts)}.") if doubts else _told(held)

        strike_each(nodes, slow, end)

        between = f"{', '.join(delayed)} and {', '.join(peers.names)}"
        return Effect(f"Packets between {between} are held: {self._words()}.", heal, proof)

    def _shown(self, directions: Mapping[str, Held]) -> bool:
        """Tell whether packets of a node were held, and as long as asked."""
        medians = [one.p50_ns for one in directions.values() if one.packets]
        shortest_s = (self.delay or 0.0) - (self.jitter or 0.0)
        return bool(medians) and min(medians) >= _LEAST_OF_DELAY * shortest_s * 1e9

    def _words(self) -> str:
        said = [
            f"{self.delay * 1000:g} ms one way" if self.delay else "",
            f"give or take {self.jitter * 1000:g} ms" if self.jitter else "",
            f"at most {self.mbit_per_s:g} Mbit/s" if self.mbit_per_s else "",
        ]
        return ", ".join(filter(None, said))


def _told(held: Mapping[str, Mapping[str, Held]]) -> str:
    """Say what was measured of the packets held; there are some of each node."""
    all_of_them = [one for directions in held.values() for one in directions.values() if one.packets]
    counts = {name: sum(one.packets for one in directions.values()) for name, directions in held.items()}
    by_node = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    low, high = min(one.p50_ns for one in all_of_them), max(one.p50_ns for one in all_of_them)
    worst = max(one.p99_ns for one in all_of_them)
    overruns = sum(max(one.overruns for one in directions.values()) for directions in held.values())
    dropped = f" {overruns:,} times packets were dropped, as too many came at once." if overruns else ""
    return (
        f"{sum(counts.values()):,} packets were held ({by_node}); by node and direction the median is "
        f"{low / 1e6:.2f} to {high / 1e6:.2f} ms, the 99th percentile at most {worst / 1e6:.2f} ms.{dropped}"
    )
