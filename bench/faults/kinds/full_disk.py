"""A data disk that fills up: every further write fails with ENOSPC, until it is healed.

The node's data lie on a file system of their own, which one file fills to its last block. A server may end by itself
then; healing deletes the file and starts the node again if it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends.abilities import Fillable
from bench.faults.fault import Effect, Fault, Place, heal_each, strike_each
from bench.model import Node


class FullDisk(Fault):
    """Fill the disks of nodes."""

    key: ClassVar[str] = "full-disk"
    needs: ClassVar[tuple[type, ...]] = (Fillable,)
    needs_disks: ClassVar[bool] = True
    heals_singly: ClassVar[bool] = True

    def strike(self, place: Place, nodes: Sequence[Node]) -> Effect:
        """See Fault."""

        def free(those: Sequence[Node]) -> str:
            return " ".join(heal_each(those, place.backend.free_disk).values())

        seen = strike_each(nodes, place.backend.fill_disk, place.backend.free_disk)
        return Effect(" ".join(seen.values()), free)
