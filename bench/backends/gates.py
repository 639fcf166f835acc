"""The gates before the disks of one cluster's nodes: for how long fsyncs are held, and what one then costs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeVar

from bench.backends import fsync_gate
from bench.backends.fsync_gate import FsyncGate
from bench.backends.ranks import nearest_rank
from bench.errors import ClusterError, FaultError
from bench.model import Node

_PROBES = 25
"""So many fsyncs tell what one costs on a node's disk."""
_PROBE_S = 60.0


_Process = TypeVar("_Process")


class Gates:
    """A gate a node, from the node's first start on; what one has counted outlives the node's process."""

    def __init__(self) -> None:
        """Begin without any."""
        self._of: dict[str, FsyncGate] = {}

    def put_before(self, node: Node, spawn: Callable[[Sequence[str], int], object]) -> None:
        """Have `spawn` start a command, with a descriptor to inherit, and hold the node's fsyncs as before.

        Raises ClusterError where the command does not come behind its gate.
        """
        _, gate = _behind(node.command, spawn)
        earlier_gate = self._of.get(node.name)
        self._of[node.name] = gate
        if earlier_gate is not None:
            earlier_gate.close()
            gate.delay_ns = earlier_gate.delay_ns
            gate.held_ns = earlier_gate.held_ns
            gate.inside_ns = earlier_gate.inside_ns

    def hold(self, node: Node, seconds: float) -> None:
        """See abilities.FsyncHolder."""
        self._gate(node).delay_ns = round(seconds * 1e9)

    def held_fsyncs(self, node: Node, since: int = 0) -> tuple[int, float]:
        """See abilities.FsyncHolder."""
        gate = self._gate(node)
        return len(gate.held_ns) - since, gate.typical_ns(since)

    def release(self, nodes: Sequence[Node]) -> str:
        """See abilities.FsyncHolder."""
        return fsync_gate.release({node.name: self._gate(node) for node in nodes})

    def inside(self, node: Node) -> Sequence[int]:
        """Return how long each fsync of a node was in its gate so far, in ns: held, or only let through."""
        return self._gate(node).inside_ns

    def close(self) -> None:
        """Stop answering: right once the processes are gone."""
        for gate in self._of.values():
            gate.close()
        self._of.clear()

    def _gate(self, node: Node) -> FsyncGate:
        if node.name not in self._of:
            raise FaultError(f"{node.name} was started without a gate before its disk.")
        return self._of[node.name]


def fsync_cost(node: Node, folder: Path, seconds: float) -> Mapping[str, int]:
    """Measure what one fsync costs in a folder of a node, when each is held for so long; see disks.fsync_cost.

    `gate_p50` is for how long of it the gate held it. Raises ClusterError.
    """
    with ExitStack() as last:

        def spawn(command: Sequence[str], descriptor: int) -> subprocess.Popen[str]:
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, pass_fds=(descriptor,), stdout=pipe, text=True)
            last.enter_context(process)
            last.callback(process.kill)
            return process

        probe = [sys.executable, "-m", "bench.backends.disks", str(folder), str(_PROBES)]
        process, gate = _behind(probe, spawn)
        last.callback(gate.close)
        gate.delay_ns = round(seconds * 1e9)
        with suppress(subprocess.TimeoutExpired):
            output, _ = process.communicate(timeout=_PROBE_S + _PROBES * seconds)
    if process.returncode != 0:
        raise ClusterError(
            f"Measuring what an fsync costs on the disk of {node.name} failed or took too long."
        )
    measured: dict[str, int] = json.loads(output)
    return measured | {"gate_p50": nearest_rank(sorted(gate.inside_ns), 50)}


def _behind(
    command: Sequence[str], spawn: Callable[[Sequence[str], int], _Process]
) -> tuple[_Process, FsyncGate]:
    """Have `spawn` start a command, with a descriptor to inherit; return what it gave, and the gate before it."""
    parent_end, child_end = socket.socketpair()
    with parent_end, child_end:
        spawned = spawn(fsync_gate.command(child_end, *command), child_end.fileno())
        child_end.close()
        return spawned, FsyncGate.of(parent_end)
