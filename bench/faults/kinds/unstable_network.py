"""A network that loses or doubles packets, or comes and goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field, model_validator

from bench import numbers
from bench.backends.abilities import Partitionable, Reachable
from bench.backends.netns import why_no_rules
from bench.faults.fault import Fault, FaultEffect, Place, name_list
from bench.faults.packet_faults import CLIENT, Cutter, Flapping, Peers, nodes_among
from bench.model import Node
from bench.scenario.values import Duration, Share, ShareOrAll


class UnstableNetwork(Fault):
    """Lose or double packets between nodes and everybody else (`from`: others), or flap (`down`, `up`)."""

    key: ClassVar[str] = "unstable-network"
    needs: ClassVar[tuple[type, ...]] = (Partitionable, Reachable)
    must_heal: ClassVar[bool] = True

    peer_targets: str | list[str] | None = Field(default=None, alias="from")
    """Who is on the other side: targets, roles, or `client`; without it everybody."""
    loss: Share | None = None
    """The share of all packets, either way, that is dropped at random: 5%, or 0.05."""
    duplicate: ShareOrAll | None = None
    """The share of the packets sent by the nodes that are duplicated."""
    down: Duration | None = None
    """For how long all packets are dropped, in turns with `up`."""
    up: Duration | None = None
    """For how long none is."""

    @model_validator(mode="after")
    def _one_way(self) -> UnstableNetwork:
        ways = [self.loss, self.duplicate, self.down]
        if (self.down is None) != (self.up is None) or sum(way is not None for way in ways) != 1:
            message = "give loss, or duplicate, or down and up"
            raise ValueError(message)
        return self

    @classmethod
    def why_not(cls) -> str | None:
        """See Fault."""
        return why_no_rules()

    def names(self) -> list[str]:
        """See Fault."""
        return [*self.targets, *nodes_among(name_list(self.peer_targets or []))]

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""
        peers_ = name_list(self.peer_targets or []) or [*(node.name for node in place.nodes), CLIENT]
        share = self.loss or self.duplicate or 1.0
        peers = Peers.of(place, nodes, peers_, as_group=False)
        cutter = Cutter.between(place, nodes, peers, share=share, double=self.duplicate is not None)
        if self.down is None or self.up is None:
            cutter.begin()
            verb = "double" if cutter.double else "drop"
            return cutter.effect(
                f"Rules are in force that {verb} {numbers.percent(share, 1)} of the packets between"
            )
        flapping = Flapping(cutter, self.down, self.up)
        flapping.begin()
        evidence = f"In turns all packets are dropped for {self.down:g} s and none for {self.up:g} s between"
        return cutter.effect(evidence, flapping.end)
