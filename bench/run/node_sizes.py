"""Nodes of a given size: limits set for a trial on every server of a role, and measured on each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from bench.backends import cpu_quota, disk_rate, fsync_gate, gates, link_rate, memory_limit
from bench.backends.process import ProcessBackend
from bench.errors import SetupError
from bench.model import NANOS, Node, Scalar, Settings
from bench.records.trial import NodeSizeRecord
from bench.scenario.values import bytes_per_s, disk_bytes_per_s, memory_bytes, seconds

CPU, MEMORY, NETWORK, DISK_WRITE, FSYNC = "cpu", "memory", "network", "disk_write", "fsync"
Sizes: TypeAlias = Mapping[str, Settings]
"""What each node of a role gets, by role."""
Measurement: TypeAlias = Any
"""A number, or a pair of them: into a node and out of it."""

_NUMBERS: Mapping[str, Callable[[Any], float]] = {
    CPU: float,
    MEMORY: memory_bytes,
    NETWORK: bytes_per_s,
    DISK_WRITE: disk_bytes_per_s,
    FSYNC: seconds,
}
_LEAST, _MOST = 0.8, 1.2
"""A limit gives what it is asked for where what was measured lies between these shares of it."""
_TRIES = 3
"""A node that something else held up for a moment got less than its limit gives: it is measured again."""
_WHY_NOT: Mapping[str, Callable[[], str | None]] = {
    CPU: cpu_quota.why_not,
    MEMORY: memory_limit.why_not,
    NETWORK: link_rate.why_not,
    DISK_WRITE: disk_rate.why_not,
    FSYNC: fsync_gate.why_not,
}


def why_not(sizes: Sizes) -> str | None:
    """Return why these limits cannot be set here; None where they can."""
    names = dict.fromkeys(name for size in sizes.values() for name in size)
    return next((reason for name in names if (reason := _WHY_NOT[name]())), None)


def number(name: str, value: Scalar) -> float:
    """Return what a limit of this name asks for: cores, bytes, bytes a second, or seconds."""
    return _NUMBERS[name](value)


def near(name: str, got: Measurement, value: Scalar) -> bool:
    """Whether what was measured is the limit asked for, within a fifth."""
    limit = number(name, value)
    return all(_LEAST <= amount / limit <= _MOST for amount in ([got] if isinstance(got, float) else got))


class Limits(Protocol):
    """What limits nodes, one limit at a time, and measures what that gave."""

    def set(self, node: Node, name: str, value: float | None) -> None:
        """Limit a node from now on; None takes the limit away. Raises SetupError or FaultError."""

    def measure(self, node: Node, name: str, value: float) -> Measurement:
        """Return what a node with this limit really gets."""


@dataclass(frozen=True, slots=True)
class BackendLimits:
    """The limits of a backend's nodes; `folders` has where each server's data lie, by its name."""

    backend: ProcessBackend
    folders: Mapping[str, Path]

    def set(self, node: Node, name: str, value: float | None) -> None:
        """See Limits."""
        if name == CPU:
            self.backend.limits.limit_cpu(node, value)
        elif name == MEMORY:
            self.backend.limits.limit_memory(node, value)
        elif name == NETWORK:
            self.backend.limits.limit_link(node, value)
        elif name == DISK_WRITE:
            disk_rate.limit(self.folders[node.name], value)
        else:
            self.backend.gates.hold(node, value or 0.0)

    def measure(self, node: Node, name: str, value: float) -> Measurement:
        """See Limits."""
        if name == CPU:
            return self.backend.limits.measured_cpu(node)
        if name == MEMORY:
            return self.backend.limits.memory_in_force(node)
        if name == NETWORK:
            return self.backend.limits.measured_link(node)
        if name == DISK_WRITE:
            return disk_rate.measure(self.folders[node.name])
        return gates.fsync_cost(node, self.folders[node.name], value)["gate_p50"] / NANOS


class NoLimits:
    """See Limits: a cluster whose nodes cannot be limited."""

    def set(self, node: Node, name: str, value: float | None) -> None:  # noqa: ARG002
        """See Limits. Raises SetupError."""
        raise SetupError(
            f"The {name} of {node.name} cannot be limited: it is a container, or somebody else's."
        )

    def measure(self, node: Node, name: str, value: float) -> Measurement:
        """See Limits. Raises SetupError."""
        self.set(node, name, value)


@dataclass(slots=True)
class NodeSizes:
    """The sizes of one cluster's servers, whose limits change from slice to slice."""

    limits: Limits
    servers: Sequence[Node]
    _set: dict[tuple[str, str], Scalar] = field(default_factory=dict)
    _measured: dict[tuple[str, str, Scalar], Measurement] = field(default_factory=dict)

    def set_and_measure(self, sizes: Sizes) -> NodeSizeRecord | None:
        """Set the limits of a case; return their record: asked by role, and measured by node.

        Each value is measured on each node once, and up to twice more where it is off. Measured are cores, bytes a
        second (of a link into the node and out of it), and by how many seconds an fsync is held. None where a case
        sets none.
        """
        self.set_limits(sizes)
        if not sizes:
            return None
        measured = {
            node.name: {name: self._measure(node, name, value) for name, value in sizes[node.role].items()}
            for node in self.servers
            if node.role in sizes
        }
        return NodeSizeRecord(asked={role: dict(size) for role, size in sizes.items()}, measured=measured)

    def set_limits(self, sizes: Sizes) -> None:
        """Set the limits of a case, and take those away that it does not have."""
        for node in self.servers:
            size = sizes.get(node.role, {})
            for name in _NUMBERS:
                if self._set.get((node.name, name)) != size.get(name):
                    self._limit(node, name, size.get(name))

    def _limit(self, node: Node, name: str, value: Scalar | None) -> None:
        self.limits.set(node, name, None if value is None else number(name, value))
        if value is None:
            del self._set[node.name, name]
        else:
            self._set[node.name, name] = value

    def _measure(self, node: Node, name: str, value: Scalar) -> Measurement:
        if (node.name, name, value) not in self._measured:
            for _ in range(_TRIES):
                got = self.limits.measure(node, name, number(name, value))
                if near(name, got, value):
                    break
            self._measured[node.name, name, value] = got
        return self._measured[node.name, name, value]
