"""What the data disk can do: free space, file system, and the price of one fsync."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import struct
import sys
import time
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from bench import numbers
from bench.backends import commands, sandbox
from bench.backends.filler import Filler
from bench.backends.ranks import nearest_rank
from bench.errors import FaultError, SetupError

_MOST_USED = 0.95
"""A bookie refuses to write to a disk that is fuller (diskUsageThreshold, as shipped)."""
_CALLS = 500
_BYTES = 4096

_DISK_BYTES = 2 << 30
"""Size of a node's own disk; the image is sparse."""
_TRIED_BYTES = 16 << 20
_PROBE = ".probe"
_UNUSED_S = 20.0
_TURN_S = 0.02
_EXT4_SHUTDOWN = 0x8004587D
_WITHOUT_LOG_FLUSH = 2
"""ioctl EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH (linux/fs/ext4/ext4.h)."""


def fsync_cost(folder: Path, calls: int = _CALLS) -> dict[str, int]:
    """Measure `calls` times what writing 4 KiB and fdatasync cost on the disk that holds `folder`.

    Returns {"p50", "p99": nanoseconds, "calls", "bytes"}; the percentiles are nearest-rank.
    """
    probe = folder / f".fsync-{os.getpid()}"
    block = os.urandom(_BYTES)
    handle = os.open(probe, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        costs = sorted(_fsync_ns(handle, block) for _ in range(calls))
    finally:
        os.close(handle)
        probe.unlink()
    return {"p50": nearest_rank(costs, 50), "p99": nearest_rank(costs, 99), "calls": calls, "bytes": _BYTES}


@cache
def why_no_disk() -> str | None:
    """Return None where nodes can have disks of their own, else the reason why not. It is tried with a small one."""
    if os.geteuid() != 0 or not _maps_everybody():
        return "mounting a file system for each node takes real root"
    if not Path("/dev/loop-control").exists():
        return "this machine has no loop devices (/dev/loop-control)"
    if shutil.which("mkfs.ext4", path=sandbox.PATH) is None:
        return "mkfs.ext4 (package e2fsprogs) is missing"
    reason = _why_fails("try_disk")
    return f"a file system of its own cannot be made or mounted: {reason}" if reason else None


@cache
def why_no_power_cut() -> str | None:
    """Return None where the power of such disks can be cut, else the reason why not. It is tried with a small one."""
    reason = why_no_disk()
    if reason is None and (refused := _why_fails("try_power_cut")) is not None:
        reason = f"a file system cannot be shut down: {refused}"
    return reason


def _why_fails(trial: str) -> str | None:
    code = f"import sys, pathlib; from bench.backends import disks; disks.{trial}(pathlib.Path(sys.argv[1]))"
    with TemporaryDirectory() as folder:
        return sandbox.why_fails('"$@"', sys.executable, "-c", code, f"{folder}/disk")


def try_disk(folder: Path) -> None:
    """Make a small disk and take it away again. Raises SetupError."""
    Disk(folder, _TRIED_BYTES).close()


def try_power_cut(folder: Path) -> None:
    """Make a small disk, cut its power and take it away again. Raises SetupError or FaultError."""
    disk = Disk(folder, _TRIED_BYTES)
    try:
        disk.shut_down()
        disk.must_be_off("a disk that was tried")
    finally:
        disk.close()


def _maps_everybody() -> bool:
    """Whether this root is root everywhere, not only in a user namespace of its own."""
    return Path("/proc/self/uid_map").read_text(encoding="ascii").split() == ["0", "0", "4294967295"]


class Disk:
    """An ext4 of its own for one folder, on a loop device, so that its power can be cut. Needs real root.

    The image lies beside the folder. The mount is the sandbox's own, and the loop device goes with it.
    """

    def __init__(self, folder: Path, size_bytes: int = _DISK_BYTES) -> None:
        """Make and mount it; the folder must be empty. Raises SetupError with what the tools said."""
        self._folder = folder
        self._image = folder.with_name(f"{folder.name}.ext4")
        self._filler: Filler | None = None
        folder.mkdir(parents=True, exist_ok=True)
        with self._image.open("wb") as image:
            image.truncate(size_bytes)
        _tool(
            "mkfs.ext4",
            "-q",
            "-F",
            "-m",
            "0",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            str(self._image),
        )
        self._mount()
        (folder / "lost+found").rmdir()  # Kafka refuses a log folder with anything foreign in it

    def sync(self) -> None:
        """Bring everything written so far to the disk."""
        _tool("sync", "--file-system", str(self._folder))

    def _mount(self) -> None:
        _tool("mount", "-o", "loop", str(self._image), str(self._folder))

    def shut_down(self) -> None:
        """Turn it off: nothing that is not on the disk gets there any more, not even what the journal holds.

        Raises FaultError when the kernel refuses.
        """
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, _EXT4_SHUTDOWN, struct.pack("I", _WITHOUT_LOG_FLUSH))
        except OSError as error:
            raise FaultError(f"Shutting down the file system at {self._folder} failed: {error}.") from error
        finally:
            os.close(handle)

    def must_be_off(self, name: str) -> None:
        """Raise FaultError if anything can still be written."""
        with suppress(OSError):
            (self._folder / _PROBE).write_bytes(b"x")
            raise FaultError(f"The disk of {name} still took a write after its power was cut.")

    def remount(self) -> None:
        """Mount what is on the disk. Raises SetupError with what the tools said."""
        with self._filler.still() if self._filler else nullcontext():
            _tool("umount", str(self._folder))
            self._wait_until_unused()
            self._mount()

    def _wait_until_unused(self) -> None:
        """Wait until no copy of the mount is left.

        A process that gets a mount namespace at this moment, a new container for one, holds a copy of it. Mounting
        would then find the loop device in use and give back the file system that was shut down.
        """
        deadline = time.monotonic() + _UNUSED_S
        while holders := _tool("losetup", "--associated", str(self._image)):
            if time.monotonic() > deadline:
                raise SetupError(f"{self._image} is still in use after it was unmounted: {holders}")
            time.sleep(_TURN_S)

    def fill(self) -> int:
        """Take all its free space, and what comes free later, until `free`; return how many bytes that was at first.

        Raises FaultError, and gives the space back, if writes still work.
        """
        self.free()
        self._filler = Filler(self._folder)
        return self._filler.bytes

    def stayed_full(self) -> tuple[int, int] | None:
        """Return how many bytes came free since and were taken again, and the longest time that took, in ns.

        None if it has room now.
        """
        if self._filler is None:
            return None
        with suppress(OSError, FaultError):
            self._filler.take()
        return (self._filler.taken_later, self._filler.roomy_ns) if self.is_full() else None

    def is_full(self) -> bool:
        """Tell whether it has no room for one block more."""
        probe = self._folder / _PROBE
        try:
            with probe.open("wb") as file:
                os.write(file.fileno(), bytes(_BYTES))
                os.fsync(file.fileno())
        except OSError as error:
            return error.errno == errno.ENOSPC
        else:
            return False
        finally:
            probe.unlink(missing_ok=True)

    def free_bytes(self) -> int:
        """Return how much room it has by its own account."""
        return shutil.disk_usage(self._folder).free

    def free(self) -> None:
        """Give the space back."""
        if self._filler is not None:
            self._filler.empty()
            self._filler = None

    def close(self) -> None:
        """Unmount it and delete its image."""
        with suppress(OSError):  # its power may be off
            self.free()
        _tool("umount", "--lazy", str(self._folder))
        self._image.unlink(missing_ok=True)


def _tool(*command: str) -> str:
    done = commands.run(command)
    if done.returncode:
        raise SetupError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout.strip()


def _fsync_ns(handle: int, block: bytes) -> int:
    begun_ns = time.monotonic_ns()
    os.write(handle, block)
    os.fdatasync(handle)
    return time.monotonic_ns() - begun_ns


def file_system(folder: Path) -> str:
    """Return the type of the file system that holds `folder`, such as ext4."""
    holding = [
        part for part in psutil.disk_partitions(all=True) if folder.resolve().is_relative_to(part.mountpoint)
    ]
    return max(holding, key=lambda part: len(part.mountpoint)).fstype if holding else "unknown"


def check_space(folder: Path, needed_bytes: int) -> None:
    """Raise SetupError when less than `needed_bytes` are free below `folder`, or so little that servers refuse it."""
    if (lacking := no_space(folder, needed_bytes)) is not None:
        raise SetupError(f"{folder} has {lacking}: make room, or name another folder with --out")


def no_space(folder: Path, needed_bytes: int) -> str | None:
    """Say why servers can't have their data below a folder for want of room; None where they can."""
    disk = shutil.disk_usage(folder)
    if disk.free < needed_bytes:
        return f"{disk.free / 2**30:.1f} GiB free, a run may need {needed_bytes / 2**30:.1f} GiB"
    if disk.total - disk.free > _MOST_USED * disk.total:
        return (
            f"less than {numbers.percent(1 - _MOST_USED)} of its disk free, "
            "and some servers write to none that is so full"
        )
    return None


if __name__ == "__main__":
    sys.stdout.write(json.dumps(fsync_cost(Path(sys.argv[1]), int(sys.argv[2]))))
