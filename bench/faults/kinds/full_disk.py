"""A data disk that fills up: every further write fails with ENOSPC, until it is healed.

The node's data lie on a file system of their own, which one file fills to its last block. A server may end by itself
then; healing deletes the file and starts the node again if it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends.abilities import Fillable
from bench.faults.fault import Effect, Fault, Place
from bench.model import Node


class FullDisk(Fault):
    """Fill the disks of nodes."""

    key: ClassVar[str] = "full-disk"
    needs: ClassVar[tuple[type, ...]] = (Fillable,)
    needs_disks: ClassVar[bool] = True
    heals_singly: ClassVar[bool] = True

    def strike(self, place: Place, nodes: Sequence[Node]) -> Effect:
        """See Fault."""
        seen = " ".join(place.backend.fill_disk(node) for node in nodes)
        return Effect(seen, lambda those: " ".join(place.backend.free_disk(node) for node in those))
