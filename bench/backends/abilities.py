"""What a backend may be able to do to a node, apart from starting and stopping it. A fault asks for what it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from bench.backends.delayed_node import DelayedNode, Link
from bench.backends.netns import PacketRules, Packets
from bench.model import Node


@runtime_checkable
class Killable(Protocol):
    """Ends single nodes and starts them again."""

    def end_node(self, node: Node, *, kill: bool) -> int:
        """End a node's process, with SIGKILL or SIGTERM, and return its exit status once it is gone.

        The node may be gone from then on; `start_node` makes it be expected again.
        """

    def start_node(self, node: Node) -> None:
        """Start an ended node again and return once its ports are open. Raises NodeDiedError, ClusterError."""

    def listens(self, node: Node) -> bool:
        """Tell whether the node's first port takes connections."""


@runtime_checkable
class Pausable(Protocol):
    """Freezes single nodes."""

    def pause_node(self, node: Node) -> str:
        """Stop the node's process and return the state that the kernel then shows (T)."""

    def resume_node(self, node: Node) -> str:
        """Let it go on and return the state that the kernel then shows."""


@runtime_checkable
class Partitionable(Protocol):
    """Cuts the network between single nodes and addresses."""

    def cut(self, node: Node, rules: PacketRules) -> None:
        """Put rules in force for a node's packets; those of one node add up."""

    def packet_counts(self, node: Node, rules: PacketRules) -> Packets:
        """Return how many packets these rules have met so far, and dropped or doubled."""

    def mend(self, node: Node, rules: PacketRules) -> None:
        """Take these rules away, and no others. Raises FaultError if the packet filter lists them still."""


@runtime_checkable
class Reachable(Protocol):
    """Tells which packets pass, so that the end of a fault of the network is seen."""

    def answers(self, node: Node, addresses: Sequence[str], patience_s: float) -> Mapping[str, float]:
        """Return which of the addresses answer in time to a packet from a node, and after how many seconds."""

    def is_hindered(self, address: str) -> bool:
        """Tell whether packets of the node at this address are dropped, doubled or held by any fault now."""


@runtime_checkable
class Delayable(Protocol):
    """Holds packets of single nodes on their way."""

    def slow_network(
        self, node: Node, sources: Sequence[str], targets: Sequence[str], link: Link
    ) -> DelayedNode:
        """Hold packets that come to a node from `sources` or go to `targets`, until the returned one's `end`."""


@runtime_checkable
class FsyncHolder(Protocol):
    """Lets fsyncs of single nodes take longer."""

    def hold_fsyncs(self, node: Node, seconds: float) -> None:
        """Hold each fsync and fdatasync of a node for so long from now on; 0 no more."""

    def held_fsyncs(self, node: Node, since: int = 0) -> tuple[int, float]:
        """Return how many were held so far, and the median of how long, in nanoseconds.

        `since` leaves so many of the first out, in both.
        """

    def release_fsyncs(self, nodes: Sequence[Node]) -> str:
        """Hold no fsync of these nodes any more; return how that was seen once none waits. Raises FaultError."""


@runtime_checkable
class PowerCut(Protocol):
    """Takes the power from nodes whose data lie on file systems of their own."""

    def cut_power(self, nodes: Sequence[Node]) -> str:
        """Freeze the processes, shut the file systems down without a flush, kill; return how that was seen.

        Where one cannot be shut down, all get their power back. Raises FaultError.
        """

    def restore_power(self, nodes: Sequence[Node]) -> str:
        """Mount the file systems as they are on disk and start the processes; return how that was seen."""


@runtime_checkable
class Fillable(Protocol):
    """Fills the disks of nodes whose data lie on file systems of their own."""

    def fill_disk(self, node: Node) -> str:
        """Leave no free block on the node's disk, and take what comes free there; return how that was seen.

        The node may end by itself then.
        """

    def stayed_full(self, node: Node) -> str | None:
        """Return how it was seen that the node's disk has no room now, None where it has."""

    def free_disk(self, node: Node) -> str:
        """Make room again and start the node if it has ended; return how that was seen. Raises FaultError."""


class AllAbilities(
    Killable, Pausable, Partitionable, Reachable, Delayable, FsyncHolder, PowerCut, Fillable, Protocol
):
    """What faults see of a backend: each calls only the abilities that it needs, which were asked for before."""
