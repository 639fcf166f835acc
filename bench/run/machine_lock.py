"""One process at a time on a run folder, and one cluster of real servers at a time on a machine."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.backends.artifacts import cache_root
from bench.errors import SetupError
from bench.run.folder import RunFolder


@contextmanager
def on_folder(folder: RunFolder) -> Iterator[None]:
    """Lock a run folder. Raises SetupError where another process holds it."""
    refusal = f"{folder.path} is in use by {{}}: wait until it ends."
    with _held(folder.path / ".lock", folder.path.name, refusal):
        yield


@contextmanager
def on_machine(name: str) -> Iterator[None]:
    """Take the machine-wide lock; `name` is shown to whoever is refused.

    Raises SetupError where another process holds it.
    """
    cache_root().mkdir(parents=True, exist_ok=True)
    refusal = (
        "Another cluster is running on this machine ({}). Two at once would disturb each other's measurements: wait "
        "until it ends, or stop it."
    )
    with _held(cache_root() / ".run.lock", name, refusal):
        yield


@contextmanager
def _held(lock: Path, name: str, refusal: str) -> Iterator[None]:
    """Hold a lock file; the kernel gives it back when this process ends, however it ends."""
    with lock.open("a+", encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            raise SetupError(refusal.format(held.read().strip() or "another process")) from None
        held.truncate(0)
        held.write(f"process {os.getpid()} ({name})")
        held.flush()
        yield
