"""A file that fills a file system, and frees its room later."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.errors import FaultError

_LOOKS_S = 0.05
"""How often it looks for room that has come free."""
_NAME = ".filler"
_SLACK_BYTES = 4 << 20
"""What is not reserved but written, so that it ends where writes end."""
_MOST_BYTES = 64 << 20
"""More than is left and a server gives back that ends meanwhile: a disk that takes it does not fill up."""
_BLOCK = bytes(4096)


class Filler:
    """Keeps the file system of a folder full from its making until it is emptied.

    A server that meets a full disk makes room on it: it deletes old segments, or ends and gives back what it had
    reserved. What filled the disk takes that too, as it would anywhere else.
    """

    def __init__(self, folder: Path) -> None:
        """Take all room. Raises FaultError, and gives it back, if writes still work then."""
        self._path = folder / _NAME
        self._turn = threading.Lock()
        self._emptied = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="filler", daemon=True)
        try:
            self.bytes = self._fill(shutil.disk_usage(folder).free)
        except OSError as error:
            self._path.unlink(missing_ok=True)
            raise FaultError(f"Filling the disk at {folder} failed: {error}.") from error
        except FaultError:
            self._path.unlink(missing_ok=True)
            raise
        self.taken_later = 0
        self.roomy_ns = 0
        self._full_ns = time.monotonic_ns()
        self._keeper.start()

    def take(self) -> None:
        """Take the room that has come free since the last look. Raises OSError and FaultError.

        `taken_later` counts its bytes, `roomy_ns` is the longest time between two looks at which nobody could write,
        where there was room in between.
        """
        with self._turn, self._path.open("r+b", buffering=0) as file:
            file.seek(0, os.SEEK_END)
            written = _write_until_full(file.fileno(), self.bytes)
            now_ns = time.monotonic_ns()
            if written:
                self.taken_later += written
                self.roomy_ns = max(self.roomy_ns, now_ns - self._full_ns)
            self._full_ns = now_ns

    @contextmanager
    def still(self) -> Iterator[None]:
        """Leave the file system alone meanwhile."""
        with self._turn:
            yield

    def empty(self) -> None:
        """Give all room back."""
        self._emptied.set()
        self._keeper.join()
        self._path.unlink(missing_ok=True)

    def _fill(self, free: int) -> int:
        with self._path.open("wb", buffering=0) as file:
            os.posix_fallocate(file.fileno(), 0, max(free - _SLACK_BYTES, 1))
            file.seek(0, os.SEEK_END)
            _write_until_full(file.fileno(), _MOST_BYTES)
            return file.tell()

    def _keep(self) -> None:
        while not self._emptied.wait(_LOOKS_S):
            with suppress(OSError, FaultError):  # whoever looks whether the disk is full sees that it is not
                self.take()


def _write_until_full(handle: int, most: int) -> int:
    """Write blocks until there is no room for one more, with all of them on the disk; return their bytes."""
    written = 0
    refused = False
    while written <= most:
        try:
            written += os.write(handle, _BLOCK)
            refused = False
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            if refused or not written:
                return written
            refused = True
            os.fsync(handle)
    raise FaultError("The disk went on taking writes after it should have been full.")
