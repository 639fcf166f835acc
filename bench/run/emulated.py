"""Disks on which an fsync costs more: set for a trial on every server, and measured on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.backends import gates
from bench.backends.process import ProcessBackend
from bench.backends.ranks import nearest_rank
from bench.model import EMULATED_FSYNC, Node, Scalar, Settings
from bench.scenario.values import AS_IS, added_fsync_s


@dataclass(slots=True)
class EmulatedDisks:
    """The disks of one cluster's servers, all behind gates: each server with where its data lie, if it has any."""

    backend: ProcessBackend
    servers: Sequence[tuple[Node, Path]]
    _measured: dict[Scalar, dict[str, Mapping[str, int]]] = field(default_factory=dict)
    _held: dict[str, int] = field(default_factory=dict)
    """How many fsyncs of each server went through its gate before the present trial."""

    def become(self, disk: Settings) -> dict[str, Any] | None:
        """Let every fsync take as much longer as a case's `disk` says; return what trial.json keeps of it.

        What one fsync then costs is measured on each server, once for each value. None where a case says nothing.
        """
        if not disk:
            return None
        asked = disk.get(EMULATED_FSYNC, AS_IS)
        seconds = added_fsync_s(asked)
        for node, _ in self.servers:
            self.backend.gates.hold(node, seconds)
            self._held[node.name] = len(self.backend.gates.inside(node))
        if asked not in self._measured:
            self._measured[asked] = {
                node.name: gates.fsync_cost(node, folder, seconds)
                for node, folder in self.servers
                if folder.is_dir()
            }
        return {EMULATED_FSYNC: asked, "fsync_ns": self._measured[asked]}

    def held(self) -> dict[str, dict[str, int]]:
        """Return how many fsyncs each server made in the trial, and for how long gates held them: p50, p99, in ns."""
        told = {}
        for node, _ in self.servers:
            inside_ns = sorted(self.backend.gates.inside(node)[self._held[node.name] :])
            if inside_ns:
                p50, p99 = (nearest_rank(inside_ns, percent) for percent in (50, 99))
                told[node.name] = {"calls": len(inside_ns), "p50": p50, "p99": p99}
        return told
