"""Nodes cut off from others: all packets between them are dropped in the node's own network namespace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from bench.backends.abilities import Partitionable, Reachable
from bench.backends.netns import why_no_rules
from bench.faults.fault import Fault, FaultEffect, Place, name_list
from bench.faults.packet_faults import Cutter, Peers, nodes_among
from bench.model import Node


class Isolate(Fault):
    """Cut nodes off from other nodes (`from`: targets, roles, or `client`), in both directions or in one."""

    key: ClassVar[str] = "isolate"
    needs: ClassVar[tuple[type, ...]] = (Partitionable, Reachable)

    peer_targets: str | list[str] = Field(alias="from")
    """From whom: targets, roles, or `client`."""
    direction: Literal["both", "in", "out"] = "both"
    """Which packets are dropped, as seen from the targets."""

    @classmethod
    def why_not(cls) -> str | None:
        """See Fault."""
        return why_no_rules()

    def names(self) -> list[str]:
        """See Fault."""
        return [*self.targets, *nodes_among(name_list(self.peer_targets))]

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""
        peers = Peers.of(place, nodes, name_list(self.peer_targets), as_group=True)
        none = dict.fromkeys(peers.sources, ())
        if self.direction == "out":
            peers = replace(peers, sources=none)
        if self.direction == "in":
            peers = replace(peers, targets=none)
        cutter = Cutter.between(place, nodes, peers)
        cutter.begin()
        return cutter.effect("Rules are in force that drop all packets between")
