"""SIGSTOP, and SIGCONT: a process that is there and does nothing, as in a long garbage collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends.abilities import Pausable
from bench.errors import FaultError
from bench.faults.fault import Fault, FaultEffect, Place, heal_each, strike_each
from bench.model import Node

_STOPPED = "T"


class Pause(Fault):
    """Freeze processes."""

    key: ClassVar[str] = "pause"
    needs: ClassVar[tuple[type, ...]] = (Pausable,)
    heals_singly: ClassVar[bool] = True
    takes_away: ClassVar[bool] = True

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""

        def pause(node: Node) -> None:
            if place.backend.pause_node(node) != _STOPPED:
                place.backend.resume_node(node)
                raise FaultError(f"{node.name} went on after SIGSTOP.")

        def resume(node: Node) -> str:
            state = place.backend.resume_node(node)
            if state == _STOPPED:
                raise FaultError(f"{node.name} stayed frozen after SIGCONT.")
            return f"{node.name}: state {state}"

        names = ", ".join(strike_each(nodes, pause, resume))
        return FaultEffect(
            f"{names}: the kernel shows state T.",
            lambda nodes_to_heal: ", ".join(heal_each(nodes_to_heal, resume).values()) + ".",
        )
