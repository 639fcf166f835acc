"""SIGKILL; healed by starting the node again on the data it left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends.abilities import Killable
from bench.faults import process_end
from bench.faults.fault import Fault, FaultEffect, Place
from bench.model import Node


class Kill(Fault):
    """End processes without warning."""

    key: ClassVar[str] = "kill"
    needs: ClassVar[tuple[type, ...]] = (Killable,)
    heals_singly: ClassVar[bool] = True
    takes_away: ClassVar[bool] = True

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""
        return process_end.end(place, nodes, kill=True)
