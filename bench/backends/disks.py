"""What the data disk can do: free space, file system, and the price of one fsync."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import psutil

from bench.errors import SetupError

_CALLS = 500
_BYTES = 4096


def fsync_cost(folder: Path, calls: int = _CALLS) -> dict[str, int]:
    """Measure `calls` times what writing 4 KiB and fdatasync cost on the disk that holds `folder`.

    Returns {"p50", "p99": nanoseconds, "calls", "bytes"}; the percentiles are nearest-rank.
    """
    probe = folder / f".fsync-{os.getpid()}"
    block = os.urandom(_BYTES)
    handle = os.open(probe, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        costs = sorted(_one(handle, block) for _ in range(calls))
    finally:
        os.close(handle)
        probe.unlink()
    return {"p50": _rank(costs, 0.50), "p99": _rank(costs, 0.99), "calls": calls, "bytes": _BYTES}


def _one(handle: int, block: bytes) -> int:
    before = time.monotonic_ns()
    os.write(handle, block)
    os.fdatasync(handle)
    return time.monotonic_ns() - before


def _rank(ordered: list[int], share: float) -> int:
    return ordered[max(0, -(-len(ordered) * int(share * 100) // 100) - 1)]


def file_system(folder: Path) -> str:
    """Return the type of the file system that holds `folder`, such as ext4."""
    best = ""
    kind = "unknown"
    for part in psutil.disk_partitions(all=True):
        inside = str(folder.resolve()).startswith(part.mountpoint)
        if inside and len(part.mountpoint) > len(best):
            best, kind = part.mountpoint, part.fstype
    return kind


def check_space(folder: Path, needed_bytes: int) -> None:
    """Raise SetupError when less than `needed_bytes` are free below `folder`."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        message = (
            f"{folder} has {free / 2**30:.1f} GiB free, the run may need {needed_bytes / 2**30:.1f} GiB: "
            "make room, or name another folder with --out"
        )
        raise SetupError(message)
