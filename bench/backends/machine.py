"""What this machine is, as far as it bears on the numbers."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from bench.backends import disks

_WORK = bytes(4 << 20)
_PROBES = 5


def machine(folder: Path) -> dict[str, Any]:
    """Return the manifest's part on the machine, with `folder`'s disk as the data disk."""
    return {
        "cpus": psutil.cpu_count(),
        "cpu_model": _cpu_model(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        "os": _os_name(),
        "file_system": disks.file_system(folder),
        "virtual": _virtual(),
    }


def cpu_probe() -> int:
    """Return how many nanoseconds a fixed piece of work (SHA-256 of 4 MiB) takes one core now, the least of five.

    Virtual machines are slowed down by their hosts, for minutes and unannounced: seen to halve a whole run's
    throughput from its first round to its last. Nothing else tells.
    """
    return min(_hashing_ns() for _ in range(_PROBES))


def _hashing_ns() -> int:
    before = time.monotonic_ns()
    hashlib.sha256(_WORK).digest()
    return time.monotonic_ns() - before


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
