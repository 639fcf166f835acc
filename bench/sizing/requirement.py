"""What a cluster must carry, and the types of nodes that it may consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from bench.model import Interval
from bench.sizing.workload import Workload

DISK_SPACE = "disk_bytes"
"""Named beside the resources of a `Demand`: what is stored, over what the disks hold."""
CPU = "cpu_s"
LIMITED = (CPU, "net_in_bytes", "net_out_bytes", "disk_write_bytes")
"""The resources of a `Demand` of which a node has only so much."""
_MORE, _LESS = 1.25, 0.8


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

    def with_cpu_limit(self, end: Callable[[CpuLimit], float]) -> Requirement:
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
        if mean.batch > 1:
            means["half the batch"] = replace(mean, batch=max(1.0, mean.batch / 2))
        for words, changed in means.items():
            yield words, replace(self, mean=changed)
        yield "25 % longer retention", replace(self, retention_s=self.retention_s * _MORE)
        yield "one more failure", replace(self, node_failures=self.node_failures + 1)
        yield "20 % lower utilisation", self._less_busy()

    def _less_busy(self) -> Requirement:
        limit = self.cpu_limit
        if limit is not None:
            low, high = limit.interval.low * _LESS, limit.interval.high * _LESS
            limit = CpuLimit(limit.share * _LESS, Interval(low, high))
        return replace(self, utilisation=self.utilisation * _LESS, cpu_limit=limit)
