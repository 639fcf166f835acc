"""Nodes held to a share of the CPU: of each period of 10 ms or more a node's threads may run for so long together."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from bench.backends.control_groups import Groups
from bench.errors import SetupError

_LEAST_PERIOD_US = 10_000
"""A short period keeps the pauses of a node that has used its quota up short, too."""
_LEAST_QUOTA_US = 1_000
"""The kernel takes no shorter one."""
_PROBE_S = 0.3
_BUSY = "while True: pass"


@cache
def why_not() -> str | None:
    """Return why nodes cannot be held to a share of the CPU here; None where they can. It is tried."""
    try:
        with closing(CpuQuotas()) as quotas:
            quotas.limit("tried", 1.0)
    except SetupError as error:
        return str(error)
    return None


def period_us(cores: float) -> int:
    """Return the period for a quota of so many cores: 10 ms, longer where the quota would be too short for that."""
    return max(_LEAST_PERIOD_US, round(_LEAST_QUOTA_US / cores))


class CpuQuotas:
    """The CPU quotas of one cluster's nodes. Close them once the nodes are gone."""

    def __init__(self) -> None:
        """Hold nobody yet. Raises SetupError where control groups cannot be had."""
        self._groups = Groups("cpu")
        self._cores: dict[str, float] = {}

    def limit(self, name: str, cores: float | None) -> None:
        """Hold a node to so many cores from now on; None lets it have all."""
        if cores is None:
            self._cores.pop(name, None)
        else:
            self._cores[name] = cores
        period = _LEAST_PERIOD_US if cores is None else period_us(cores)
        quota = -1 if cores is None else round(cores * period)
        if self._groups.version == 1:
            # The kernel checks both against each other with each write, so the limit goes first.
            self._groups.write(name, "cpu.cfs_quota_us", "-1")
            self._groups.write(name, "cpu.cfs_period_us", str(period))
            self._groups.write(name, "cpu.cfs_quota_us", str(quota))
        else:
            self._groups.write(name, "cpu.max", f"{'max' if quota < 0 else quota} {period}")

    def __contains__(self, name: str) -> bool:
        """Whether a node is held to a share of the CPU."""
        return name in self._cores

    def add(self, name: str, pid: int) -> None:
        """Hold a process to the quota of a node."""
        self._groups.add(name, pid)

    def close(self) -> None:
        """Remove the control groups."""
        self._groups.close()

    def measure(self, name: str, busy_s: Callable[[], float]) -> float:
        """Return how many cores a node really gets: its own use, by `busy_s`, and that of a busy process beside it."""
        with subprocess.Popen([sys.executable, "-c", _BUSY]) as probe:
            try:
                self._groups.add(name, probe.pid)
                time.sleep(period_us(self._cores[name]) / 1e6)  # its start, before it was in the group
                begun_s, before_s = time.monotonic(), busy_s() + cpu_s(probe.pid)
                time.sleep(_PROBE_S)
                used_s = busy_s() + cpu_s(probe.pid) - before_s
                return used_s / (time.monotonic() - begun_s)
            finally:
                probe.kill()


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process's threads so far, which the kernel counts in nanoseconds.

    A process's own total comes in hundredths of a second: a tenth of what a small node has in a measurement.
    """
    times_ns = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            times_ns += int((thread / "schedstat").read_text(encoding="ascii").split()[0])
    return times_ns / 1e9
