"""This machine, as far as it affects the results."""

from __future__ import annotations

import hashlib
import mmap
import os
import platform
import socket
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from bench.backends import disks
from bench.backends.cache_line_probe import line_ns
from bench.backends.cpu_wakefulness import keep_awake

_WORK = bytes(4 << 20)
_PAGES = 4096
_WAKES = 100
_PROBES = 5


def machine(folder: Path) -> dict[str, Any]:
    """Return the manifest's part on the machine, with `folder`'s disk as the data disk.

    From then on idle cores are kept awake, where that can be had (cpu_wakefulness.py).
    """
    return {
        "cpus": psutil.cpu_count(),
        "cpu_model": _cpu_model(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        "os": _os_name(),
        "file_system": disks.file_system(folder),
        "virtual": _virtual(),
        "idle_cores": "poll" if (refused := keep_awake()) is None else f"sleep ({refused})",
    }


def probe() -> dict[str, int | None]:
    """Time four fixed pieces of work, the least of several each, in nanoseconds.

    `probe_ns`: SHA-256 of 4 MiB. `page_ns`: the first touch of a page of memory, over 4096 pages. `wake_ns`: a byte
    through a socket to a process that waits on another core, over 200 bytes. `line_ns`: a cache line to another
    core and back (cache_line_probe.py). The last two are None where there is one core only. Virtual machines are
    slowed down by their hosts, for minutes and unannounced, in each of the four. That was seen to double the
    servers' start-up, and to halve a run's throughput from its first round to its last.
    """
    return {
        "probe_ns": min(_hashing_ns() for _ in range(_PROBES)),
        "page_ns": min(_touching_ns() for _ in range(_PROBES)),
        "wake_ns": _waking_ns(),
        "line_ns": line_ns(),
    }


def _hashing_ns() -> int:
    begun_ns = time.monotonic_ns()
    hashlib.sha256(_WORK).digest()
    return time.monotonic_ns() - begun_ns


def _touching_ns() -> int:
    with mmap.mmap(-1, _PAGES * mmap.PAGESIZE) as memory:
        begun_ns = time.monotonic_ns()
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1
        return (time.monotonic_ns() - begun_ns) // _PAGES


def _waking_ns() -> int | None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        return None
    parent_end, child_end = socket.socketpair()
    with (
        parent_end,
        child_end,
        subprocess.Popen(["cat"], stdin=child_end.fileno(), stdout=child_end.fileno()) as echo,
    ):
        child_end.close()
        os.sched_setaffinity(echo.pid, cores[1:2])
        os.sched_setaffinity(0, cores[:1])
        try:
            return min(_echoed_ns(parent_end) for _ in range(_PROBES))
        finally:
            os.sched_setaffinity(0, cores)
            parent_end.shutdown(socket.SHUT_RDWR)


def _echoed_ns(echo: socket.socket) -> int:
    begun_ns = time.monotonic_ns()
    for _ in range(_WAKES):
        echo.send(b"x")
        echo.recv(1)
    return (time.monotonic_ns() - begun_ns) // (2 * _WAKES)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()


def _virtual() -> str:
    """Return "virtual machine" where the CPU says there is a hypervisor below it."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return "virtual machine" if " hypervisor" in flags else "none seen"


@cache
def java_version() -> str:
    """Return the version of the `java` on the path, or "missing"."""
    try:
        done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "missing"
    first = done.stderr.splitlines()[0] if done.stderr else ""
    return first.split('"')[1] if '"' in first else first
