"""Disks on which an fsync costs more: set for a trial on every server, and measured on each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.backends import gates
from bench.backends.gates import Gates
from bench.backends.ranks import nearest_rank
from bench.model import EMULATED_FSYNC, Node, Scalar, Settings
from bench.records.trial import DiskRecord
from bench.scenario.values import AS_IS, added_fsync_s


@dataclass(slots=True)
class EmulatedDisks:
    """The disks of one cluster's servers, each server with where its data lie. `gates` are before all of them."""

    gates: Callable[[], Gates]
    servers: Sequence[tuple[Node, Path]]
    _measured: dict[Scalar, dict[str, dict[str, int]]] = field(default_factory=dict)

    def set_and_measure(self, disk: Settings) -> DiskRecord | None:
        """Let every fsync take as much longer as a case's `disk` says; return its record.

        What one fsync then costs is measured on each server, once for each value. None where a case says nothing.
        """
        if not disk:
            return None
        fsync_delay, seconds = disk.get(EMULATED_FSYNC, AS_IS), self.set_delay(disk)
        if fsync_delay not in self._measured:
            self._measured[fsync_delay] = {
                node.name: dict(gates.fsync_cost(node, folder, seconds))
                for node, folder in self.servers
                if folder.is_dir()
            }
        return DiskRecord(emulated_fsync=fsync_delay, fsync_ns=self._measured[fsync_delay])

    def set_delay(self, disk: Settings) -> float:
        """Let every fsync take as much longer as a case's `disk` says, from now on; return how much, in seconds.

        Where a case says nothing there are no gates, and nothing changes.
        """
        seconds = added_fsync_s(disk.get(EMULATED_FSYNC, AS_IS))
        for node, _ in self.servers if disk else ():
            self.gates().hold(node, seconds)
        return seconds

    def count(self, disk: Settings) -> dict[str, int]:
        """Return how many fsyncs of each server have gone through its gate; empty where a case has no `disk`."""
        return {node.name: len(self.gates().inside(node)) for node, _ in self.servers if disk}

    def held_since(self, counts: Mapping[str, int]) -> dict[str, list[int]]:
        """Return for how long each fsync since those counts was held in its gate, in ns, by server."""
        return {
            node.name: list(self.gates().inside(node)[counts[node.name] :])
            for node, _ in self.servers
            if node.name in counts
        }


def held_figures(held_ns: Mapping[str, Sequence[int]]) -> dict[str, dict[str, int]]:
    """Return how many fsyncs each server made, and for how long gates held them: p50, p99, in ns."""
    figures = {}
    for name, times in held_ns.items():
        if times:
            p50, p99 = (nearest_rank(sorted(times), percent) for percent in (50, 99))
            figures[name] = {"calls": len(times), "p50": p50, "p99": p99}
    return figures
