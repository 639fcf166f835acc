"""One process at a time on a run folder, and one cluster of real servers at a time on a machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from bench.backends.artifacts import cache_root
from bench.errors import SetupError
from bench.run.folder import RunFolder


@contextmanager
def on_folder(folder: RunFolder) -> Iterator[None]:
    """Lock a run folder. Raises SetupError where another process holds it."""
    refusal = f"{folder.path} is in use by {{}}: wait until it ends."
    with _hold_lock(folder.path / ".lock", folder.path.name, refusal):
        yield


@contextmanager
def on_machine(name: str) -> Iterator[None]:
    """Take the machine-wide lock; `name` is shown to whoever is refused.

    Raises SetupError where another process holds it.
    """
    refusal = (
        "Another cluster is running on this machine ({}). Two at once would disturb each other's measurements: wait "
        "until it ends, or stop it."
    )
    with _hold_lock(machine_file(), name, refusal):
        yield


def machine_file() -> Path:
    """Return the file that a run with servers locks; its folder is made."""
    cache_root().mkdir(parents=True, exist_ok=True)
    return cache_root() / ".run.lock"


@contextmanager
def _hold_lock(file: Path, name: str, refusal: str) -> Iterator[None]:
    """Hold a lock file that names its holder; the kernel gives it back when this process ends, however it ends."""
    try:
        lock = FileLock(file, fallback_to_soft=False).acquire(timeout=0)
    except Timeout:
        raise SetupError(refusal.format(file.read_text(encoding="utf-8") or "another process")) from None
    with lock:
        file.write_text(f"process {os.getpid()} ({name})", encoding="utf-8")
        yield
