"""A disk on which an fsync takes longer: each fsync and fdatasync of a node is held before it is carried out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends import fsync_gate
from bench.backends.abilities import FsyncHolder
from bench.faults.fault import Fault, FaultEffect, Place, Unproven, strike_each
from bench.model import Node
from bench.scenario.values import Duration

_LEAST_OF_DELAY = 0.9
"""A median shorter than this part of what was asked for shows no such disk."""


class SlowDisk(Fault):
    """Let every fsync of nodes take `fsync` longer.

    Reads, and writes that are not synced, are as fast as before. Where a scenario has this fault, every fsync of every
    node passes a gate from the start, which costs some tens of microseconds of its own, before and after too.
    """

    key: ClassVar[str] = "slow-disk"
    needs: ClassVar[tuple[type, ...]] = (FsyncHolder,)
    needs_fsync_gates: ClassVar[bool] = True
    heals_singly: ClassVar[bool] = True

    fsync: Duration
    """How much longer each fsync, fdatasync and msync takes."""

    @classmethod
    def why_not(cls) -> str | None:
        """See Fault."""
        return fsync_gate.why_not()

    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """See Fault."""
        held_before = {node.name: place.backend.held_fsyncs(node)[0] for node in nodes}
        strike_each(
            nodes,
            lambda node: place.backend.hold_fsyncs(node, self.fsync),
            lambda node: place.backend.hold_fsyncs(node, 0.0),
        )

        def heal(nodes_to_heal: Sequence[Node]) -> str:
            return place.backend.release_fsyncs(nodes_to_heal)

        def proof() -> str | Unproven:
            held = {node.name: place.backend.held_fsyncs(node, held_before[node.name]) for node in nodes}
            by_node = ", ".join(
                f"{name} {count:,} (median {median / 1e6:.1f} ms)" for name, (count, median) in held.items()
            )
            sentence = f"{sum(count for count, _ in held.values()):,} were held: {by_node}."
            shown = all(count and median >= self._least_ns for count, median in held.values())
            return sentence if shown else Unproven(sentence)

        return FaultEffect(
            f"Each fsync of {', '.join(held_before)} is held for {self.fsync * 1000:g} ms.", heal, proof
        )

    @property
    def _least_ns(self) -> float:
        return _LEAST_OF_DELAY * self.fsync * 1e9
