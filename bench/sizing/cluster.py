"""How many nodes of a role carry a workload, by what its work costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.model import Interval
from bench.sizing.demand import Demand, Prediction
from bench.sizing.workload import KEEPER, Workload

DISK_SPACE = "disk_bytes"
"""Named beside the resources of a `Demand`: what is stored, over what the disks hold."""
COPIES = "copies"
"""Decides the number of nodes where the resources would allow fewer than there are copies."""
CPU = "cpu_s"
LIMITED = (CPU, "net_in_bytes", "net_out_bytes", "disk_write_bytes")
"""The resources of a `Demand` of which a node has only so much."""
_MOST_NODES = 1_000
_MORE = 1.25


@dataclass(frozen=True, slots=True)
class NodeType:
    """What one node has: cores, bytes a second of its network in each direction and of its disk, bytes of its disk.

    `price`: in any currency, for any time; None where nobody asked for it.
    """

    cores: float
    network: float
    disk_write: float
    disk: float
    price: float | None = None

    @property
    def has(self) -> dict[str, float]:
        """How much of each resource there is, a second."""
        return dict(zip(LIMITED, (self.cores, self.network, self.network, self.disk_write), strict=True))


@dataclass(frozen=True, slots=True)
class CpuLimit:
    """The highest share of their CPU that nodes may use, with its 95 % interval."""

    share: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a cluster must carry: its mean workload, and by how much the peak, later, is above it.

    `growth` is how many times today's messages it must carry. `utilisation` is the highest share of a resource that the
    peak may use with `node_failures` nodes gone, `disk_filled` that of the disks; `retention_s` is how long messages
    stay. Where there is a `cpu_limit`, it takes the place of `utilisation` for the CPU.
    """

    mean: Workload
    peak_over_mean: float
    growth: float
    retention_s: float
    node_failures: int
    utilisation: float
    disk_filled: float
    cpu_limit: CpuLimit | None = None

    @property
    def peak(self) -> Workload:
        """The workload at the peak, once it has grown."""
        return replace(self.mean, messages_per_s=self.mean.messages_per_s * self.growth * self.peak_over_mean)

    @property
    def stored_bytes(self) -> float:
        """How many bytes of messages all copies have, once the workload has grown."""
        mean = self.mean
        return mean.messages_per_s * self.growth * mean.message_bytes * mean.copies * self.retention_s

    def limit(self, resource: str) -> float:
        """Return the highest share of a resource, or of the disks' space, that may be used.

        Of the CPU's the lower end of its interval.
        """
        if resource == CPU and self.cpu_limit:
            return self.cpu_limit.interval.low
        return self.disk_filled if resource == DISK_SPACE else self.utilisation

    def limited(self, end: Callable[[CpuLimit], float]) -> Requirement:
        """Return the same requirement with one end of the CPU's limit for the limit itself."""
        if self.cpu_limit is None:
            return self
        share = end(self.cpu_limit)
        return replace(self, cpu_limit=CpuLimit(share, Interval(share, share)))

    def variations(self) -> Iterator[tuple[str, Requirement]]:
        """Give the same requirement with one input changed at a time, by what was changed."""
        mean = self.mean
        means = {
            "25 % more messages": replace(mean, messages_per_s=mean.messages_per_s * _MORE),
            "25 % larger messages": replace(mean, message_bytes=mean.message_bytes * _MORE),
            "one more copy": replace(mean, copies=mean.copies + 1),
            "one more group": replace(mean, groups=mean.groups + 1),
        }
        for words, changed in means.items():
            yield words, replace(self, mean=changed)
        yield "25 % longer retention", replace(self, retention_s=self.retention_s * _MORE)
        yield "one more failure", replace(self, node_failures=self.node_failures + 1)


@dataclass(frozen=True, slots=True)
class RoleSize:
    """How many nodes of a role are needed.

    `nodes` is by the upper ends of the predictions' intervals and the lower end of the CPU's limit, `likely` by the
    predictions and the limit themselves, `least` by the other ends. `use` is the share of each resource that the peak
    takes with all nodes, `left` with the failed ones gone. Both are by the upper ends. `binding` is COPIES where the
    resources would allow fewer nodes, else the resource nearest to its limit. `outside` has a line for each input that
    lies far from what was measured.
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
        super().__init__(f"{nodes} nodes of the role {role} would use {share:.0%} of {resource}")
        self.role, self.nodes, self.resource, self.share = role, nodes, resource, share


_ENDS: tuple[tuple[Callable[[Prediction], float], Callable[[CpuLimit], float]], ...] = (
    (lambda use: use.interval.high, lambda limit: limit.interval.low),
    (lambda use: use.use, lambda limit: limit.share),
    (lambda use: use.interval.low, lambda limit: limit.interval.high),
)
"""What work takes and how busy nodes may be: the ends that ask for the most nodes, the figures, the other ends."""


def size(
    system: str, role: str, demands: Mapping[str, Demand], requirement: Requirement, node: NodeType
) -> RoleSize:
    """Find the fewest nodes that keep every limit; `demands` are by resource.

    Raises SizeError where a thousand nodes do not.
    """
    high, likely, low = (
        _Role(system, role, demands, requirement.limited(limit), node, use) for use, limit in _ENDS
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
        binding=high.binding,
        use=high.shares(nodes),
        left=left,
        outside=list(dict.fromkeys(outside)),
    )


@dataclass(frozen=True, slots=True)
class _Role:
    """The nodes of a role under the peak, by one end of the predictions' intervals."""

    system: str
    role: str
    demands: Mapping[str, Demand]
    requirement: Requirement
    node: NodeType
    end: Callable[[Prediction], float]

    @property
    def stores(self) -> bool:
        return KEEPER.get(self.system) == self.role

    def fewest(self) -> int:
        """Return the fewest nodes that keep each limit with the failed ones gone, and hold all copies."""
        return max(self._fewest_working, self._copies) + self.requirement.node_failures

    @property
    def binding(self) -> str:
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
