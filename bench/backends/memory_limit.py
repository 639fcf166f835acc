"""Nodes held to an amount of memory: heap, buffers and what the kernel keeps of their files (the page cache).

The kernel counts what a process touches while it is in its group. So nodes are in groups from their start, and limited
later.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache

from bench.backends.control_groups import Groups
from bench.errors import SetupError

_TRIED_BYTES = 1 << 30
_FILES = {1: ("memory.limit_in_bytes", "-1"), 2: ("memory.max", "max")}
"""By the version of control groups: where the limit is, and what stands there without one."""
_NO_SWAP = {1: "memory.swappiness", 2: "memory.swap.max"}


@cache
def why_not() -> str | None:
    """Return why nodes cannot be held to an amount of memory here; None where they can. It is tried."""
    try:
        with closing(MemoryLimits()) as limits:
            limits.limit("tried", _TRIED_BYTES)
    except SetupError as error:
        return str(error)
    return None


class MemoryLimits:
    """The limits on memory of one cluster's nodes. Close them once the nodes are gone."""

    def __init__(self) -> None:
        """Hold nobody yet. Raises SetupError where control groups cannot be had."""
        self._groups = Groups("memory")
        self._file, self._unlimited = _FILES[self._groups.version]

    def limit(self, name: str, size: float | None) -> None:
        """Let a node have so many bytes from now on; None: as many as there are.

        What it has above that is taken from its page cache. Where that is not enough, version 1 of control groups
        raises SetupError, and with version 2 the kernel ends processes of the node.
        """
        self._groups.write(name, _NO_SWAP[self._groups.version], "0")
        self._groups.write(name, self._file, self._unlimited if size is None else str(round(size)))

    def add(self, name: str, pid: int) -> None:
        """Count what a process touches from now on as its node's."""
        self._groups.add(name, pid)

    def in_force(self, name: str) -> float:
        """Return the limit of a node that has one as the kernel has it, in bytes."""
        return float((self._groups.of(name) / self._file).read_text(encoding="ascii"))

    def close(self) -> None:
        """Remove the control groups."""
        self._groups.close()
