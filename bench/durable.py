"""Files that outlive a power cut."""

from __future__ import annotations

import os
from pathlib import Path


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
