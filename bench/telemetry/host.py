"""Counters of the kernel for a process, the machine and the disk."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from bench.model import PROCESS_COUNTERS

COUNTERS = (
    *PROCESS_COUNTERS,
    *("cpu_busy_s", "cpu_steal_s", "cpu_waiting_s", "disk_busy_s", "disk_flushes", "disk_flush_s"),
)
"""What only grows: first a process's own, then the machine's and its disk's."""

_PRESSURE = Path("/proc/pressure/cpu")
_SECTOR = 512
_MS, _US = 1e-3, 1e-6
_MBIT = 125_000
_READ, _WRITTEN, _BUSY, _FLUSHES, _FLUSHING = 2, 6, 9, 15, 16
_REQUESTS = (3, 7, 14, _FLUSHING)
"""Columns of /sys/block/<disk>/stat (the kernel's Documentation/block/stat.rst), `_REQUESTS` for how long requests of
each kind took; those from 14 on are there from Linux 4.18 and 5.5 on."""


def process(pid: int, *, network: bool) -> Iterator[tuple[str, float]]:
    """Give CPU time, bytes to and from disks, memory, open files and connections; with `network` its namespace's bytes.

    Nothing for a process that has gone. Bytes written count when a page first becomes dirty, not when it is written
    back, so they are the process's own.
    """
    try:
        watched = psutil.Process(pid)
        with watched.oneshot():
            times, moved, memory = watched.cpu_times(), watched.io_counters(), watched.memory_info()
            files = watched.num_fds()
        yield "cpu_s", times.user + times.system
        yield "disk_read_bytes", moved.read_bytes
        yield "disk_write_bytes", moved.write_bytes
        yield "rss_bytes", memory.rss
        yield "open_files", files
        if network:
            received, sent = _network(Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii"))
            yield "net_in_bytes", received
            yield "net_out_bytes", sent
    except (psutil.Error, OSError):
        return


def stored_bytes(folder: Path) -> int:
    """Return how many bytes all files below a folder hold; files may come and go meanwhile.

    Of each file it is the smaller of its length and of what it takes of the disk. Files may be sparse (Kafka's
    indexes), and more may have been set aside for them than they hold (RocksDB's logs).
    """
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                file_status = os.lstat(os.path.join(path, name))  # noqa: PTH118 - thrice as fast
                total += min(file_status.st_size, file_status.st_blocks * _SECTOR)
    return total


def own_processes(excluded_pids: Collection[int]) -> list[int]:
    """Return this process's id and those of its descendants, but for `excluded_pids`."""
    children = psutil.Process().children(recursive=True)
    return [os.getpid(), *(child.pid for child in children if child.pid not in excluded_pids)]


def _network(table: str) -> tuple[int, int]:
    """Add up what all interfaces but the loopback received and sent (proc_net(5))."""
    rows = [line.partition(":") for line in table.splitlines()[2:]]
    counts = [columns.split() for name, _, columns in rows if name.strip() != "lo"]
    return sum(int(row[0]) for row in counts), sum(int(row[8]) for row in counts)


def machine() -> Iterator[tuple[str, float]]:
    """Give the CPU time of all cores, busy and taken away by the host of a virtual machine, and how many there are.

    Beside it is for how long something that could run waited for a core, where the kernel counts that. Then comes a
    link's rate: what its driver names, per direction (a veth: 10 Gbit/s).
    """
    times = psutil.cpu_times()
    yield "cpu_busy_s", times.user + times.nice + times.system + times.irq + times.softirq
    yield "cpu_steal_s", times.steal
    yield "cores", psutil.cpu_count() or 1
    with suppress(OSError):
        yield "cpu_waiting_s", waiting_s(_PRESSURE.read_text(encoding="ascii"))
    speeds = [link.speed for name, link in psutil.net_if_stats().items() if link.speed and name != "lo"]
    if speeds:
        yield "net_link_bytes_per_s", min(speeds) * _MBIT


def waiting_s(pressure: str) -> float:
    """Return for how long some task has waited, of what the kernel tells (Documentation/accounting/psi.rst)."""
    some = next(line for line in pressure.splitlines() if line.startswith("some"))
    return int(some.rpartition("total=")[2]) * _US


class DiskOf:
    """The disk below a folder, as the kernel counts it; there may be none (a tmpfs)."""

    def __init__(self, folder: Path) -> None:
        """Find it."""
        device = folder.stat().st_dev
        block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
        disk = block.parent if (block / "partition").exists() else block  # which its neighbours keep busy too
        self._stat = disk / "stat"
        self._first: tuple[int, int] | None = None

    def read(self) -> Iterator[tuple[str, float]]:
        """Give bytes read and written, the time it was busy, and how often and how long it flushed: fsyncs end so.

        It is busy from the first look on, and for no longer than its requests took. From Linux 5.0 until 6.10 the
        kernel takes a disk for busy for the whole tick of its clock in which a request begins (commit
        99dc422335d8).
        """
        try:
            columns = [int(column) for column in self._stat.read_text(encoding="ascii").split()]
        except OSError:
            return
        now = columns[_BUSY], sum(columns[place] for place in _REQUESTS if place < len(columns))
        self._first = first = self._first or now
        yield "disk_read_bytes", columns[_READ] * _SECTOR
        yield "disk_write_bytes", columns[_WRITTEN] * _SECTOR
        yield "disk_busy_s", min(since - then for since, then in zip(now, first, strict=True)) * _MS
        if len(columns) > _FLUSHING:
            yield "disk_flushes", columns[_FLUSHES]
            yield "disk_flush_s", columns[_FLUSHING] * _MS
