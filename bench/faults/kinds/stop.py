"""SIGTERM: an orderly stop; healed by starting the node again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends.abilities import Killable
from bench.faults import process_end
from bench.faults.fault import Fault, FaultEffect, Place
from bench.model import Node


class Stop(Fault):
    """End processes in order."""

    key: ClassVar[str] = "stop"
    needs: ClassVar[tuple[type, ...]] = (Killable,)
    heals_singly: ClassVar[bool] = True
    takes_away: ClassVar[bool] = True

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""
        return process_end.end(place, nodes, kill=False)
