"""Disks that take only so many bytes a second: the kernel's throttle on the loop device of a node's own disk.

With version 1 of control groups the root group can throttle a device for everybody, also for pages that the kernel
writes back later. Version 2 has no such place: there a write-back is throttled only in a group that has the memory
controller as well.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from bench.backends import disks
from bench.backends.control_groups import hierarchy
from bench.errors import SetupError

_FILE = "blkio.throttle.write_bps_device"
_PROBE = ".rate"
_BLOCK_BYTES = 256 * 1024
_BLOCKS = 4
_PROBE_S = 1.0


@cache
def why_not() -> str | None:
    """Return why disks cannot be made slow here; None where they can."""
    place = _file()
    if place is None or not os.access(place, os.W_OK):
        return "it takes control groups of version 1 with the `blkio` controller, and the right to write to its root"
    return disks.why_no_disk()


def limit(folder: Path, bytes_per_s: float | None) -> None:
    """Let the disk mounted at a folder take so many bytes a second; None: what it can. Raises SetupError."""
    place = _file()
    if place is None:
        raise SetupError(why_not() or "the kernel has no throttle for disks")
    try:
        place.write_text(f"{_device(folder)} {round(bytes_per_s or 0)}", encoding="ascii")
    except OSError as error:
        raise SetupError(f"the disk at {folder} cannot be throttled: {error.strerror or error}") from error


def measure(folder: Path) -> float:
    """Return how many bytes a second the disk mounted at a folder takes, each 256 KiB synced, over a second.

    The blocks of a file that is there are written anew, so that nothing but these is written.
    """
    probe = folder / _PROBE
    handle = os.open(probe, os.O_CREAT | os.O_WRONLY | os.O_DSYNC, 0o600)
    blocks = [os.urandom(_BLOCK_BYTES) for _ in range(_BLOCKS)]
    try:
        for block in blocks:
            os.write(handle, block)
        count, begun_s = 0, time.monotonic()
        while (taken_s := time.monotonic() - begun_s) < _PROBE_S:
            os.pwrite(handle, blocks[count % _BLOCKS], count % _BLOCKS * _BLOCK_BYTES)
            count += 1
    finally:
        os.close(handle)
        with suppress(OSError):
            probe.unlink()
    return count * _BLOCK_BYTES / taken_s


def _file() -> Path | None:
    place = hierarchy("blkio")
    return place.root / _FILE if place is not None and place.version == 1 else None


def _device(folder: Path) -> str:
    number = folder.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}"
