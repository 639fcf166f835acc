"""A topic on disk: a folder with one append-only file a partition, of payloads with their length before them.

Several processes may write and read at once. `<partition>.log` holds the records, `<partition>.count` their
number (8 bytes), both changed under one lock.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.errors import ClusterError, TopicExistsError

_LENGTH = struct.Struct("<I")
_COUNT = struct.Struct("<Q")
_READ_BYTES = 1 << 20


class StoredMessage(NamedTuple):
    """A stored message and its place in the partition, counted from 0."""

    entry: int
    payload: bytes


class End(NamedTuple):
    """Where a partition ends: messages and bytes so far."""

    entry: int
    offset: int


def create(folder: Path, partitions: int) -> None:
    """Make an empty topic. Raises TopicExistsError when it is there already."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise TopicExistsError(
            f"Topic {folder.name} exists already: delete it first, or choose another name."
        ) from error
    for partition in range(partitions):
        _path(folder, partition, "log").touch()
        _path(folder, partition, "count").write_bytes(_COUNT.pack(0))


def _path(folder: Path, partition: int, kind: str) -> Path:
    return folder / f"{partition:04d}.{kind}"


def _open(folder: Path, partition: int, kind: str, flags: int) -> int:
    try:
        return os.open(_path(folder, partition, kind), flags)
    except FileNotFoundError as error:
        raise ClusterError(
            f"There is no partition {partition} of a topic in {folder}: create the topic."
        ) from error


class PartitionWriter:
    """One partition, open for appending and for asking where it ends. Close it."""

    def __init__(self, folder: Path, number: int) -> None:
        """Open it. Raises ClusterError when it does not exist."""
        self._log = _open(folder, number, "log", os.O_WRONLY | os.O_APPEND)
        self._count = _open(folder, number, "count", os.O_RDWR)

    def append(self, payload: bytes) -> int:
        """Store a message and return its entry. Raises OSError when the disk is full."""
        with self._hold_lock():
            entry = self._entries()
            record = _LENGTH.pack(len(payload)) + payload
            if os.write(self._log, record) != len(record):
                raise OSError("the folder of the memory system is full")
            os.pwrite(self._count, _COUNT.pack(entry + 1), 0)
            return entry

    def end(self) -> End:
        """Return where the partition ends now."""
        with self._hold_lock():
            return End(self._entries(), os.fstat(self._log).st_size)

    def close(self) -> None:
        """Close the files."""
        os.close(self._log)
        os.close(self._count)

    def _entries(self) -> int:
        entries: int = _COUNT.unpack(os.pread(self._count, _COUNT.size, 0))[0]
        return entries

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        fcntl.flock(self._count, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._count, fcntl.LOCK_UN)


class PartitionReader:
    """Reads one partition onwards from a place. Close it."""

    def __init__(self, folder: Path, number: int, start: End) -> None:
        """Open it. Raises ClusterError when the partition does not exist."""
        self._log = _open(folder, number, "log", os.O_RDONLY)
        self._entry, self._offset = start
        self._buffer = b""

    @property
    def entry(self) -> int:
        """The entry that comes next."""
        return self._entry

    @property
    def place(self) -> End:
        """Where the next record begins."""
        return End(self._entry, self._offset - len(self._buffer))

    @property
    def at_end(self) -> bool:
        """Whether everything in the file has been read, be it whole records or not."""
        return self._offset >= os.fstat(self._log).st_size

    def read(self) -> list[StoredMessage]:
        """Return what has been stored since; a record that is not all there yet comes with a later call."""
        read = os.pread(self._log, _READ_BYTES, self._offset)
        self._offset += len(read)
        self._buffer += read
        return list(self._records()) if read else []

    def close(self) -> None:
        """Close the file."""
        os.close(self._log)

    def _records(self) -> Iterator[StoredMessage]:
        start = 0
        while start + _LENGTH.size <= len(self._buffer):
            body = start + _LENGTH.size
            end = body + _LENGTH.unpack_from(self._buffer, start)[0]
            if end > len(self._buffer):
                break
            yield StoredMessage(self._entry, self._buffer[body:end])
            self._entry += 1
            start = end
        self._buffer = self._buffer[start:]
