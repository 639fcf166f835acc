"""Nodes of a given size: limits set for a trial on every server of a role, and measured on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bench.backends import cpu_quota, link_rate
from bench.backends.node_limits import NodeLimits
from bench.model import Node, Scalar, Settings
from bench.scenario.values import bytes_per_s

CPU, NETWORK = "cpu", "network"
Sizes: TypeAlias = Mapping[str, Settings]
"""What each node of a role gets, by role."""


def why_not(sizes: Sizes) -> str | None:
    """Return why these limits cannot be set here; None where they can."""
    names = {name for size in sizes.values() for name in size}
    reasons = (
        cpu_quota.why_not() if CPU in names else None,
        link_rate.why_not() if NETWORK in names else None,
    )
    return next(filter(None, reasons), None)


@dataclass(slots=True)
class NodeSizes:
    """The sizes of one cluster's servers, whose limits change from slice to slice."""

    limits: NodeLimits
    servers: Sequence[Node]
    _set: dict[tuple[str, str], Scalar] = field(default_factory=dict)
    _measured: dict[tuple[str, str, Scalar], Any] = field(default_factory=dict)

    def become(self, sizes: Sizes) -> dict[str, Any] | None:
        """Set the limits of a case; return what trial.json keeps of them: asked by role, and measured by node.

        Each value is measured on each node once: cores, and bytes a second into the node and out of it. None where a
        case sets none.
        """
        self.change(sizes)
        if not sizes:
            return None
        measured = {
            node.name: {name: self._measure(node, name, value) for name, value in sizes[node.role].items()}
            for node in self.servers
            if node.role in sizes
        }
        return {"asked": {role: dict(size) for role, size in sizes.items()}, "measured": measured}

    def change(self, sizes: Sizes) -> None:
        """Set the limits of a case, and take those away that it does not have."""
        for node in self.servers:
            size = sizes.get(node.role, {})
            for name in (CPU, NETWORK):
                if self._set.get((node.name, name)) != size.get(name):
                    self._limit(node, name, size.get(name))

    def _limit(self, node: Node, name: str, value: Scalar | None) -> None:
        if name == CPU:
            self.limits.limit_cpu(node, None if value is None else float(value))
        else:
            self.limits.limit_link(node, None if value is None else bytes_per_s(value))
        if value is None:
            del self._set[node.name, name]
        else:
            self._set[node.name, name] = value

    def _measure(self, node: Node, name: str, value: Scalar) -> Any:  # noqa: ANN401 - a number, or a pair of them
        if (node.name, name, value) not in self._measured:
            found = self.limits.measured_cpu(node) if name == CPU else self.limits.measured_link(node)
            self._measured[node.name, name, value] = found
        return self._measured[node.name, name, value]
