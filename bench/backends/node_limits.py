"""How much of the machine each node of a cluster gets: a share of the CPU, memory, a link of some width."""

from __future__ import annotations

from collections.abc import Callable

from bench.backends.cpu_quota import CpuQuotas, cpu_s
from bench.backends.memory_limit import MemoryLimits
from bench.backends.netns import Network
from bench.errors import SetupError
from bench.model import Node


class NodeLimits:
    """The limits of one cluster's nodes. They hold for a node that is started again, too. Close it after the nodes."""

    def __init__(self, network: Network | None, pid: Callable[[Node], int]) -> None:
        """Limit nobody yet; `pid` returns the process id of a node. Raises FaultError where it does not run."""
        self._network = network
        self._pid = pid
        self._quotas: CpuQuotas | None = None
        self._memory: MemoryLimits | None = None

    def make_memory_groups(self) -> None:
        """Count each node's memory from its start on, so that it can be limited. Raises SetupError."""
        self._memory = MemoryLimits()

    def limit_process(self, node: Node, pid: int) -> None:
        """Hold a process that was just started to its node's share of the CPU, if it has one, and to its memory."""
        if self._quotas is not None and node.name in self._quotas:
            self._quotas.add(node.name, pid)
        if self._memory is not None:
            self._memory.add(node.name, pid)

    def limit_memory(self, node: Node, size: float | None) -> None:
        """Let a node have so many bytes; None: as many as there are.

        Raises SetupError where it has more, and where its memory was not counted from its start on.
        """
        if self._memory is None:
            message = f"the memory of {node.name} cannot be limited: it was not counted from its start on"
            raise SetupError(message)
        self._memory.limit(node.name, size)

    def memory_in_force(self, node: Node) -> float | None:
        """Return how many bytes the kernel lets a node have that has a limit; None where no memory is counted."""
        return None if self._memory is None else self._memory.in_force(node.name)

    def limit_cpu(self, node: Node, cores: float | None) -> None:
        """Let a node have so many cores; None: all. Raises SetupError where the kernel refuses that."""
        if self._quotas is None:
            self._quotas = CpuQuotas()
        self._quotas.limit(node.name, cores)
        self._quotas.add(node.name, self._pid(node))

    def measured_cpu(self, node: Node) -> float | None:
        """Return how many cores a node really gets; None where it has no limit."""
        if self._quotas is None or node.name not in self._quotas:
            return None
        pid = self._pid(node)
        return self._quotas.measure(node.name, lambda: cpu_s(pid))

    def limit_link(self, node: Node, bytes_per_s: float | None) -> None:
        """Let a node's link carry so many bytes a second each way; None: what it can. Raises SetupError."""
        if self._network is not None:
            self._network.narrow(node, bytes_per_s)

    def measured_link(self, node: Node) -> tuple[float, float] | None:
        """Return how many bytes a second pass into a node and out of it; None where its link has no limit."""
        if self._network is None or not self._network.is_narrow(node):
            return None
        return self._network.rates(node)

    def close(self) -> None:
        """Remove the control groups."""
        for limits in (self._quotas, self._memory):
            if limits is not None:
                limits.close()
