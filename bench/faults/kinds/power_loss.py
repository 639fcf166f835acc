"""Power loss: what was never fsynced is gone.

The node's data lie on an ext4 of their own, on a loop device. First the process is frozen, so that it acknowledges
nothing more. Then the file system is shut down without a flush of the journal (EXT4_IOC_SHUTDOWN, NOLOGFLUSH). That
keeps everything that was only in memory from reaching the disk. Then the process is killed. Healing mounts the file
system as it is on disk and starts the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends.abilities import PowerCut
from bench.backends.disks import why_no_power_cut
from bench.faults.fault import Fault, FaultEffect, Place
from bench.model import Node


class PowerLoss(Fault):
    """Take the power from nodes, all at once."""

    key: ClassVar[str] = "power-loss"
    needs: ClassVar[tuple[type, ...]] = (PowerCut,)
    needs_disks: ClassVar[bool] = True
    heals_singly: ClassVar[bool] = True
    takes_away: ClassVar[bool] = True

    @classmethod
    def why_not(cls) -> str | None:
        """See Fault."""
        return why_no_power_cut()

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""
        evidence = place.backend.cut_power(nodes)
        return FaultEffect(evidence, place.backend.restore_power)
