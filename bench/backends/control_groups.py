"""Control groups of the kernel, one for each node, whichever version of them this machine has.

Groups outlive the processes in them. So a small process outside the sandbox waits until the run is over, however it
ends, and removes its groups (`sweeper`).
"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.errors import SetupError

GROUP_VARIABLE = "BENCH_CONTROL_GROUP"
"""The environment variable that holds the name of the run's group."""
_SWEEP = """
exec 3<&0
{
    cat <&3 > /dev/null
    for attempt in $(seq 50); do
        rmdir /sys/fs/cgroup/*/"$1"/* /sys/fs/cgroup/*/"$1" /sys/fs/cgroup/"$1"/* /sys/fs/cgroup/"$1"
        ls -d /sys/fs/cgroup/*/"$1" /sys/fs/cgroup/"$1" || exit 0
        sleep 0.1
    done
} > /dev/null 2>&1 &
"""
"""Removes the groups of a run, by name, once everybody has closed the pipe that it reads."""

_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where the groups of a controller are, and which version of control groups that is."""

    root: Path
    version: int


def hierarchy(controller: str, mounts: Path = _MOUNTS) -> Hierarchy | None:
    """Return where groups of a controller, such as `cpu`, can be made; None where the kernel has no such place."""
    for line in mounts.read_text(encoding="ascii", errors="replace").splitlines():
        mount, _, file_system = line.partition(" - ")
        root = Path(mount.split()[4])
        kind, _, options = file_system.split()[:3]
        if kind == "cgroup" and controller in options.split(","):
            return Hierarchy(root, 1)
        if kind == "cgroup2" and controller in _words(root / "cgroup.subtree_control"):
            return Hierarchy(root, 2)
    return None


@contextmanager
def sweeper() -> Iterator[tuple[str, int]]:
    """Start the process that removes the groups of a run; give their name, and the descriptor that the run is to hold.

    It waits until this process and all who inherit the descriptor have ended, also where they are killed.
    """
    name = f"ackbench-{os.getpid()}-{secrets.token_hex(4)}"
    reading, holding = os.pipe()
    subprocess.run(["sh", "-c", _SWEEP, "sh", name], stdin=reading, check=True, start_new_session=True)
    os.close(reading)
    try:
        yield name, holding
    finally:
        os.close(holding)


def _words(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").split() if file.is_file() else []


class Groups:
    """The groups of one cluster's nodes for one controller. Close them once their processes are gone."""

    def __init__(self, controller: str) -> None:
        """Make the run's own group. Raises SetupError where that cannot be had."""
        place = hierarchy(controller)
        if place is None:
            message = f"the kernel offers no control groups for `{controller}` (below /sys/fs/cgroup)"
            raise SetupError(message)
        self.version = place.version
        self._top = place.root / os.environ.get(GROUP_VARIABLE, f"bench-{os.getpid()}")
        self._controller = controller
        try:
            self._top.mkdir(exist_ok=True)
            if self.version == 2:
                (self._top / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")
        except OSError as error:
            raise _setup_error(self._top, error) from error

    def of(self, name: str) -> Path:
        """Return the group of a node, made with its first use."""
        group = self._top / name
        try:
            group.mkdir(exist_ok=True)
        except OSError as error:
            raise _setup_error(group, error) from error
        return group

    def write(self, name: str, file: str, value: str) -> None:
        """Write one setting of a node's group. Raises SetupError where the kernel refuses it."""
        path = self.of(name) / file
        try:
            path.write_text(value, encoding="ascii")
        except OSError as error:
            raise _setup_error(path, error) from error

    def add(self, name: str, pid: int) -> None:
        """Put a process, with all its threads, into a node's group."""
        self.write(name, "cgroup.procs", str(pid))

    def close(self) -> None:
        """Remove the groups; one whose processes have just ended may stay until the run is over."""
        for group in [*self._top.iterdir(), self._top] if self._top.is_dir() else []:
            if group.is_dir():
                with suppress(OSError):
                    group.rmdir()


def _setup_error(path: Path, error: OSError) -> SetupError:
    return SetupError(f"the control group {path} cannot be changed: {error.strerror or error}")
