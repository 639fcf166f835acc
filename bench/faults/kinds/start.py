"""A node that a scenario keeps as a spare is started: it joins the cluster. Healed by an orderly stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends.abilities import Killable
from bench.faults.fault import Fault, FaultEffect, Place, heal_each, strike_each
from bench.model import Node


class Start(Fault):
    """Start spare nodes (`spare`), which were not there until now."""

    key: ClassVar[str] = "start"
    needs: ClassVar[tuple[type, ...]] = (Killable,)

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""
        backend = place.backend
        strike_each(nodes, backend.start_node, lambda node: backend.end_node(node, kill=False))

        def heal(nodes_to_heal: Sequence[Node]) -> str:
            heal_each(nodes_to_heal, lambda node: backend.end_node(node, kill=False))
            return f"{', '.join(node.name for node in nodes_to_heal)} stopped in order."

        return FaultEffect(f"{', '.join(node.name for node in nodes)}: the ports are open.", heal)
