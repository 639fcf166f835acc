"""One process at a time on a run folder, and one run of real servers at a time on a machine."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.backends.artifacts import cache_root
from bench.errors import SetupError
from bench.run.folder import RunFolder

_NAME = ".lock"


@contextmanager
def alone(folder: RunFolder, *, servers: bool) -> Iterator[None]:
    """Hold the run folder, and with `servers` the machine. Raises SetupError where another process holds one.

    The kernel gives both back when this process ends, however it ends.
    """
    with ExitStack() as stack:
        stack.enter_context(
            _held(folder.path / _NAME, folder, f"{folder.path} is being run by {{}}: leave it to that one.")
        )
        if servers:
            cache_root().mkdir(parents=True, exist_ok=True)
            stack.enter_context(
                _held(
                    cache_root() / ".run.lock",
                    folder,
                    "Another run is under way, {}. Two at a time would measure each other: wait for it, or end it.",
                )
            )
        yield


@contextmanager
def _held(lock: Path, folder: RunFolder, refusal: str) -> Iterator[None]:
    with lock.open("a+", encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            raise SetupError(refusal.format(held.read().strip() or "another process")) from None
        held.truncate(0)
        held.write(f"process {os.getpid()} ({folder.path.name})")
        held.flush()
        yield
