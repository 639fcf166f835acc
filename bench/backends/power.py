"""What becomes of disks and processes when the power goes."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

from bench.backends.disks import Disk

_AFTER_CUT_S = 0.3
"""How long processes live on after their disks are off: what they still acknowledge was never on a disk."""


@dataclass(frozen=True, slots=True)
class LivedOn:
    """For how long processes went on without their disks, and which of them ended by themselves, with what status."""

    nanos: int
    ended: Mapping[str, int]

    def __str__(self) -> str:
        """Say it as a report does."""
        alone = "".join(
            f"; {name} had ended by itself with status {status}" for name, status in self.ended.items()
        )
        return (
            f"their processes lived on for {self.nanos / 1e6:.0f} ms, in which nothing that they took in came to a "
            f"disk, and were then killed{alone}"
        )


def shut_down(disks: Mapping[str, Disk]) -> int:
    """Turn disks off, one right after the other; return how many nanoseconds that took. Raises FaultError."""
    begun_ns = time.monotonic_ns()
    for disk in disks.values():
        disk.shut_down()
    return time.monotonic_ns() - begun_ns


def live_on(processes: Mapping[str, subprocess.Popen[bytes]], since_ns: int) -> LivedOn:
    """Let processes whose disks went off at `since_ns` live on for a moment, then kill them.

    Some server ends by itself as soon as a write fails: that is no failure of the power cut.
    """
    time.sleep(_AFTER_CUT_S)
    statuses = {name: process.poll() for name, process in processes.items()}
    for process in processes.values():
        process.send_signal(signal.SIGKILL)
    nanos = time.monotonic_ns() - since_ns
    for process in processes.values():
        process.wait()
    return LivedOn(nanos, {name: status for name, status in statuses.items() if status is not None})
