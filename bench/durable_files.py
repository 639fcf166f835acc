"""Files that are there whole or not at all, and files that outlive a power cut."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_file(file: Path, *, synced: bool = False) -> Iterator[Path]:
    """Give a hidden path beside a file to write to; once that is done it takes the file's place.

    With `synced` its content outlives a power cut before readers see it, and afterwards its name, too. After an error
    the file is as it was.
    """
    hidden = file.with_name(f".{file.name}")
    try:
        yield hidden
        if synced:
            sync(hidden)
        hidden.rename(file)
        if synced:
            sync(file.parent)
    finally:
        hidden.unlink(missing_ok=True)


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Give a hidden folder to write to; it takes the place of `folder` if all goes well, else it vanishes."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        fresh.chmod(0o755)
        yield fresh
        swap(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def swap(fresh: Path, folder: Path) -> None:
    """Put `fresh` where `folder` is: a folder cannot be renamed over one that holds files."""
    if folder.exists():
        previous = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
        folder.rename(previous)
        fresh.rename(folder)
        shutil.rmtree(previous)
    else:
        fresh.rename(folder)


def write(path: Path, content: bytes) -> None:
    """Write a file that outlives a power cut from now on, its folder too: without fsync it came back empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    sync(path, path.parent, path.parent.parent)


def sync(*paths: Path) -> None:
    """Make what files and folders hold now outlive a power cut."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
