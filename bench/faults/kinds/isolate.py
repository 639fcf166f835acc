"""Nodes cut off from others: all packets between them are dropped in the node's own network namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from bench.backends.abilities import Partitionable
from bench.faults.fault import Effect, Fault, Place
from bench.model import Node

CLIENT = "client"


class Isolate(Fault):
    """Cut nodes off from other nodes (`from`: targets, roles, or `client`), in both directions or in one."""

    key: ClassVar[str] = "isolate"
    needs: ClassVar[tuple[type, ...]] = (Partitionable,)

    others: str | list[str] = Field(alias="from")
    direction: Literal["both", "in", "out"] = "both"

    @property
    def _others(self) -> list[str]:
        return [self.others] if isinstance(self.others, str) else self.others

    def names(self) -> list[str]:
        """See Fault."""
        return [*self.targets, *(name for name in self._others if name != CLIENT)]

    def strike(self, place: Place, nodes: Sequence[Node]) -> Effect:
        """See Fault."""
        mine = {node.name for node in nodes}
        others = [node for name in self._others if name != CLIENT for node in place.find(name)]
        cut_off = {node.name: node.address for node in others if node.name not in mine}
        addresses = [*cut_off.values(), *([place.client] if CLIENT in self._others else [])]
        for node in nodes:
            place.backend.cut(
                node, addresses, inbound=self.direction != "out", outbound=self.direction != "in"
            )
        what = f"{', '.join(sorted(mine))} from {', '.join([*cut_off, *([CLIENT] if CLIENT in self._others else [])])}"
        counted: list[int] = []

        def dropped() -> int:
            return sum(place.backend.dropped(node) for node in nodes)

        def heal() -> str:
            counted.append(dropped())
            for node in nodes:
                place.backend.mend(node)
            return "The rules are gone."

        def proof() -> str | None:
            count = counted[-1] if counted else dropped()
            return f"They dropped {count:,} packets." if count else None

        return Effect(f"Rules that drop packets between {what} are in force.", heal, proof)
