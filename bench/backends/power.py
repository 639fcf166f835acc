"""The power goes: processes stand still at once, their disks go off, and only then are they killed.

Disks that go off under running processes would not do. Bookies that sync before each acknowledgement were seen to
acknowledge, 50 ms after their disks were off, what was not on them. Without power nobody would have.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bench.backends.disks import Disk
from bench.backends.node_backend import NodeProcess
from bench.errors import FaultError

_FROZEN_S = 2.0
_TURN_S = 0.0005
_AT_REST = frozenset("TDZX")
"""Stopped; in a call that ends in a stop (D: an fsync under way); dead. Such a thread does nothing more by itself."""


def freeze(processes: Mapping[str, NodeProcess]) -> int:
    """Stop every thread of some processes; return how many nanoseconds that took. Raises FaultError."""
    begun_ns = time.monotonic_ns()
    for process in processes.values():
        process.send_signal(signal.SIGSTOP)
    going = dict(processes)
    while going:
        if time.monotonic_ns() - begun_ns > _FROZEN_S * 1e9:
            raise FaultError(f"{', '.join(going)} went on after SIGSTOP, so the power cannot be cut at once.")
        time.sleep(_TURN_S)
        going = {name: process for name, process in going.items() if not _rests(process.pid)}
    return time.monotonic_ns() - begun_ns


def _rests(pid: int) -> bool:
    states = []
    for task in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # a thread that has ended rests
            states.append(task.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0])
    return _AT_REST.issuperset(states)


def shut_down(disks: Mapping[str, Disk]) -> int:
    """Turn disks off, one right after the other; return how many nanoseconds that took. Raises FaultError."""
    begun_ns = time.monotonic_ns()
    for disk in disks.values():
        disk.shut_down()
    return time.monotonic_ns() - begun_ns


def kill(processes: Mapping[str, NodeProcess]) -> None:
    """End processes that stand still."""
    for process in processes.values():
        process.send_signal(signal.SIGKILL)
    for process in processes.values():
        process.wait()
