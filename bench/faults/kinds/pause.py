"""SIGSTOP, and SIGCONT: a process that is there and does nothing, as in a long garbage collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends.abilities import Pausable
from bench.errors import FaultError
from bench.faults.fault import Effect, Fault, Place
from bench.model import Node

_STOPPED = "T"


class Pause(Fault):
    """Freeze processes."""

    key: ClassVar[str] = "pause"
    needs: ClassVar[tuple[type, ...]] = (Pausable,)
    heals_singly: ClassVar[bool] = True
    takes_away: ClassVar[bool] = True

    def strike(self, place: Place, nodes: Sequence[Node]) -> Effect:
        """See Fault."""
        states = {node.name: place.backend.pause_node(node) for node in nodes}
        if awake := [name for name, state in states.items() if state != _STOPPED]:
            raise FaultError(f"{', '.join(awake)} went on after SIGSTOP.")
        return Effect(f"{', '.join(states)}: the kernel shows state T.", lambda those: _resume(place, those))


def _resume(place: Place, nodes: Sequence[Node]) -> str:
    states = {node.name: place.backend.resume_node(node) for node in nodes}
    if asleep := [name for name, state in states.items() if state == _STOPPED]:
        raise FaultError(f"{', '.join(asleep)} stayed frozen after SIGCONT.")
    return ", ".join(f"{name}: state {state}" for name, state in states.items()) + "."
