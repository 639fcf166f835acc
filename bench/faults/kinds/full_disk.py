"""A data disk that fills up: every further write fails with ENOSPC, until it is healed.

The node's data lie on a file system of their own, which one file fills to its last block. It takes what comes free
there, too. A server that meets a full disk deletes old segments, or ends and gives back what it had reserved (a
bookie: 8 MiB of its journal). Healing looks whether the disk is still full, deletes the file and starts the node
again if it ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends.abilities import Fillable
from bench.faults.fault import Fault, FaultEffect, Place, Unproven, heal_each, strike_each
from bench.model import Node


class FullDisk(Fault):
    """Fill the disks of nodes."""

    key: ClassVar[str] = "full-disk"
    needs: ClassVar[tuple[type, ...]] = (Fillable,)
    needs_disks: ClassVar[bool] = True
    heals_singly: ClassVar[bool] = True

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""
        full: dict[str, str | None] = {}

        def look(node: Node) -> str | None:
            if node.name not in full:
                full[node.name] = place.backend.stayed_full(node)
            return full[node.name]

        def free(node: Node) -> str:
            look(node)
            return place.backend.free_disk(node)

        def proof() -> str | Unproven:
            evidence = {node.name: look(node) for node in nodes}
            roomy = [name for name, still_full in evidence.items() if still_full is None]
            if roomy:
                return Unproven(f"There was room again on the disk of {', '.join(roomy)}.")
            return " ".join(filter(None, evidence.values()))

        evidence = strike_each(nodes, place.backend.fill_disk, place.backend.free_disk)
        return FaultEffect(
            " ".join(evidence.values()),
            lambda nodes_to_heal: " ".join(heal_each(nodes_to_heal, free).values()),
            proof,
        )
