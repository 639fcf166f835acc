"""How many nodes of a role carry a workload, by what its work costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench import numbers
from bench.sizing.demand import Demand, Prediction
from bench.sizing.requirement import DISK_SPACE, CpuLimit, NodeType, Requirement

COPIES = "copies"
"""Decides the number of nodes where the resources would allow fewer than there are copies."""
_MOST_NODES = 1_000


@dataclass(frozen=True, slots=True)
class RoleSize:
    """How many nodes of a role are needed.

    `nodes` is by the upper ends of the predictions' intervals and the lower end of the CPU's limit. `likely` is by
    the predictions and the limit themselves, and `least` by the other ends. `use` is the share of each resource
    that the peak takes with all nodes, `left` with the failed ones gone. Both are by the upper ends. `binding` is
    COPIES where the resources would allow fewer nodes, else the resource nearest to its limit. `outside` has a line
    for each input that lies far from what was measured.
    """

    role: str
    nodes: int
    likely: int
    least: int
    binding: str
    use: Mapping[str, float]
    left: Mapping[str, float]
    outside: Sequence[str]


class SizeError(ValueError):
    """No number of nodes carries the workload: `nodes` would still use this share of a resource."""

    def __init__(self, role: str, nodes: int, resource: str, share: float) -> None:
        super().__init__(f"{nodes} nodes of the role {role} would use {numbers.percent(share)} of {resource}")
        self.role, self.nodes, self.resource, self.share = role, nodes, resource, share


_ENDS: tuple[tuple[Callable[[Prediction], float], Callable[[CpuLimit], float]], ...] = (
    (lambda use: use.interval.high, lambda limit: limit.interval.low),
    (lambda use: use.use, lambda limit: limit.share),
    (lambda use: use.interval.low, lambda limit: limit.interval.high),
)
"""What work takes and how busy nodes may be: the ends that ask for the most nodes, the figures, the other ends."""


def size(
    role: str, demands: Mapping[str, Demand], requirement: Requirement, node: NodeType, *, stores: bool
) -> RoleSize:
    """Find the fewest nodes that keep every limit; `demands` are by resource, `stores`: they keep the messages.

    Raises SizeError where a thousand nodes do not.
    """
    high, likely, low = (
        _RoleSizing(role, stores, demands, requirement.with_cpu_limit(limit), node, use)
        for use, limit in _ENDS
    )
    nodes = high.fewest()
    working = nodes - requirement.node_failures
    left = high.shares(working)
    outside = (line for demand in demands.values() for line in demand.outside(requirement.peak, working))
    return RoleSize(
        role=role,
        nodes=nodes,
        likely=likely.fewest(),
        least=low.fewest(),
        binding=high.binding_constraint,
        use=high.shares(nodes),
        left=left,
        outside=list(dict.fromkeys(outside)),
    )


@dataclass(frozen=True, slots=True)
class _RoleSizing:
    """The nodes of a role under the peak, by one end of the predictions' intervals."""

    role: str
    stores: bool
    demands: Mapping[str, Demand]
    requirement: Requirement
    node: NodeType
    end: Callable[[Prediction], float]

    def fewest(self) -> int:
        """Return the fewest nodes that keep each limit with the failed ones gone, and hold all copies."""
        return max(self._fewest_working, self._copies) + self.requirement.node_failures

    @property
    def binding_constraint(self) -> str:
        """Return what decides the number of nodes."""
        working = self._fewest_working
        return COPIES if working < self._copies else self._nearest(working)

    @property
    def _copies(self) -> int:
        """How many nodes hold the copies of a message."""
        return self.requirement.mean.copies if self.stores else 1

    @property
    def _fewest_working(self) -> int:
        """The fewest nodes that keep each limit."""
        for working in range(1, _MOST_NODES + 1):
            if all(share <= self.requirement.limit(name) for name, share in self.shares(working).items()):
                return working
        resource = self._nearest(_MOST_NODES)
        raise SizeError(self.role, _MOST_NODES, resource, self.shares(_MOST_NODES)[resource])

    def _nearest(self, working: int) -> str:
        """Return the resource that is nearest to its limit."""
        shares = self.shares(working)
        return max(shares, key=lambda name: shares[name] / self.requirement.limit(name))

    def shares(self, working: int) -> dict[str, float]:
        """Return which share of each resource so many nodes use at the peak."""
        peak, has = self.requirement.peak, self.node.has
        shares = {
            name: self.end(demand.predict(peak, working)) / (has[name] * working)
            for name, demand in self.demands.items()
            if name in has
        }
        if self.stores:
            shares[DISK_SPACE] = self.requirement.stored_bytes / (self.node.disk * working)
        return shares
