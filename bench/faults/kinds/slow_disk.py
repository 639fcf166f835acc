"""A disk on which an fsync takes longer: each fsync and fdatasync of a node is held before it is carried out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bench.backends import fsync_gate
from bench.backends.abilities import FsyncHolder
from bench.faults.fault import Effect, Fault, Place, strike_each
from bench.model import Node
from bench.scenario.values import Duration


class SlowDisk(Fault):
    """Let every fsync of nodes take `fsync` longer.

    Reads, and writes that are not synced, are as fast as before. Where a scenario has this fault, every fsync of every
    node passes a gate from the start, which costs some tens of microseconds of its own, before and after too.
    """

    key: ClassVar[str] = "slow-disk"
    needs: ClassVar[tuple[type, ...]] = (FsyncHolder,)
    needs_gates: ClassVar[bool] = True
    heals_singly: ClassVar[bool] = True

    fsync: Duration

    @classmethod
    def why_not(cls) -> str | None:
        """See Fault."""
        return fsync_gate.why_not()

    def strike(self, place: Place, nodes: Sequence[Node]) -> Effect:
        """See Fault."""
        before = {node.name: place.backend.held_fsyncs(node)[0] for node in nodes}
        strike_each(
            nodes,
            lambda node: place.backend.hold_fsyncs(node, self.fsync),
            lambda node: place.backend.hold_fsyncs(node, 0.0),
        )
        names = ", ".join(before)

        def heal(those: Sequence[Node]) -> str:
            for node in those:
                place.backend.hold_fsyncs(node, 0.0)
            return f"No fsync of {', '.join(node.name for node in those)} is held any more."

        def proof() -> str | None:
            held = [place.backend.held_fsyncs(node) for node in nodes]
            counts = [count - before[node.name] for node, (count, _) in zip(nodes, held, strict=True)]
            if not any(counts):
                return None
            typical = ", ".join(f"{median / 1e6:.1f}" for _, median in held)
            return f"{sum(counts):,} were held; their median by node is {typical} ms."

        return Effect(f"Each fsync of {names} is held for {self.fsync * 1000:g} ms.", heal, proof)
