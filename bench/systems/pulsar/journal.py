"""The messages in a bookie's journal, counted in its files: the bookie itself takes no part, so that it loses no time.

The format is that of BookKeeper 4.7 and later. A file begins with 512 bytes that are no entries. Then each record has
its length in 4 bytes; one of _PADDING has the length of its filling in the next 4. Zeros follow the last record, as
space is allocated in advance. Files are named by when they were made, in hexadecimal digits.

An entry of a message, or of a batch, begins with one of _MESSAGE_MARKS, behind 32 bytes of BookKeeper and a checksum of
4 (managedLedgerDigestType CRC32C, as shipped). How far consumers have read is an entry without such a mark.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_HEADER_BYTES = 512
_LENGTH = struct.Struct(">i")
_PADDING = -0x100
_MARK_PLACE = 36
_MESSAGE_MARKS = (b"\x0e\x01", b"\x0e\x02")


class Journal:
    """Counts the messages, or batches, that a bookie has written, from file to file."""

    def __init__(self, folder: Path) -> None:
        """Count in the files of `folder`, from the first on."""
        self._folder = folder
        self._made = 0
        self._place = 0
        self._messages = 0

    def count(self) -> int | None:
        """Return how many messages, or batches, it has written by now; None where its files cannot be read."""
        try:
            files = sorted((int(file.stem, 16), file) for file in self._folder.glob("*.txn"))
            for made, file in files:
                if made > self._made:
                    self._made, self._place = made, _HEADER_BYTES
                if made == self._made and file.stat().st_size:
                    self._read_on(file)
        except (OSError, ValueError):
            return None
        return self._messages if files else None

    def _read_on(self, file: Path) -> None:
        """Count the records of a file from where it was left; one that is just being written may count next time."""
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            place, last = self._place, len(data) - 2 * _LENGTH.size
            while place <= last:
                (length,) = _LENGTH.unpack_from(data, place)
                if length == _PADDING:
                    (filling,) = _LENGTH.unpack_from(data, place + _LENGTH.size)
                    place += 2 * _LENGTH.size + filling
                elif length > 0:
                    mark = place + _LENGTH.size + _MARK_PLACE
                    self._messages += data[mark : mark + 2] in _MESSAGE_MARKS
                    place += _LENGTH.size + length
                else:
                    break
            self._place = place
