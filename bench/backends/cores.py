"""Cores of their own for servers and for what loads them, so that neither waits for the other (`pin`)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.errors import SetupError

_LOAD_SHARE = 4
"""One core in so many is the load's, one at least: servers do several times its work."""
_TOOL = "taskset"


@dataclass(frozen=True, slots=True)
class CoreSplit:
    """The numbers of the machine's cores: those of servers, and those of the load and the suite itself."""

    servers: tuple[int, ...]
    load: tuple[int, ...]


def split_of(numbers: Collection[int]) -> CoreSplit:
    """Divide cores: the last quarter, and at least one, is the load's. Raises SetupError for fewer than two."""
    cores = sorted(numbers)
    if len(cores) < 2:
        raise SetupError("pin takes two cores at least: one for the servers and one for the load.")
    count = max(1, len(cores) // _LOAD_SHARE)
    return CoreSplit(tuple(cores[:-count]), tuple(cores[-count:]))


@cache
def split() -> CoreSplit:
    """Divide the cores that this process was started on. Raises SetupError as split_of."""
    return split_of(os.sched_getaffinity(0))


def why_not() -> str | None:
    """Return why nothing can be pinned here; None where it can."""
    if shutil.which(_TOOL) is None:
        return f"there is no {_TOOL} (Debian: util-linux)"
    return None if len(os.sched_getaffinity(0)) > 1 else "this machine has one core only"


def pin_command(command: Sequence[str], cores: Sequence[int]) -> list[str]:
    """Return a command whose process, and all that it starts, runs on these cores only; as it is without any."""
    return [_TOOL, "--cpu-list", ",".join(map(str, cores)), *command] if cores else [*command]


@contextmanager
def suite_on(cores: Sequence[int]) -> Iterator[None]:
    """Run this process, all its threads and what it starts meanwhile on these cores."""
    previous_cores = os.sched_getaffinity(0)
    _move(cores)
    try:
        yield
    finally:
        _move(previous_cores)


def _move(cores: Collection[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(thread.name), cores)


def confirm(name: str, pid: int, cores: Sequence[int]) -> None:
    """Read back that each thread of a process runs on these cores only. Raises SetupError where one does not."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):
            allowed = os.sched_getaffinity(int(thread.name))
            if allowed != set(cores):
                raise SetupError(
                    f"{name} is to run on the cores {', '.join(map(str, cores))}, and a thread of it may run on "
                    f"{', '.join(map(str, sorted(allowed)))}."
                )
