"""The messages that a bookie has written, from the files of its journal."""

from __future__ import annotations

import struct
from pathlib import Path

from bench.systems.pulsar.journal import Journal

HEADER = b"BKLG" + bytes(508)
ROOM = bytes(4096)


def entry(size: int, mark: bytes = b"\x0e\x01") -> bytes:
    """A message of so many bytes, or with another mark something else."""
    return struct.pack(">i", 38 + size) + bytes(36) + mark + b"m" * size


def padding(size: int) -> bytes:
    return struct.pack(">ii", -0x100, size) + bytes(size)


def write(folder: Path, name: str, *parts: bytes) -> None:
    (folder / f"{name}.txn").write_bytes(b"".join(parts))


def test_entries_of_a_journal_are_counted_without_its_padding_and_its_free_space(tmp_path: Path) -> None:
    write(tmp_path, "18f", HEADER, entry(1000), padding(500), entry(7), entry(30), padding(0), ROOM)

    assert Journal(tmp_path).count() == 3


def test_only_messages_count_with_and_without_an_index_of_the_broker(tmp_path: Path) -> None:
    position = entry(12, mark=b"\x08\x07")
    write(tmp_path, "18f", HEADER, entry(9), position, entry(9, mark=b"\x0e\x02"), position, ROOM)

    assert Journal(tmp_path).count() == 2


def test_a_journal_is_read_on_from_where_it_was_left(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert journal.count() is None

    write(tmp_path, "fff", HEADER, ROOM)
    assert journal.count() == 0
    write(tmp_path, "fff", HEADER, entry(100), entry(200), ROOM)
    assert journal.count() == 2
    write(tmp_path, "fff", HEADER, entry(100), entry(200), padding(60), entry(1), ROOM)
    assert journal.count() == 3


def test_files_follow_one_another_by_when_they_were_made(tmp_path: Path) -> None:
    """In the order of their numbers, not of their names; one that was read is not read again, nor missed once gone."""
    write(tmp_path, "10000", HEADER, entry(1), entry(1), ROOM)
    write(tmp_path, "fff", HEADER, entry(1), ROOM)
    journal = Journal(tmp_path)
    assert journal.count() == 3

    (tmp_path / "fff.txn").unlink()
    assert journal.count() == 3
    write(tmp_path, "10001", HEADER, entry(1), ROOM)
    assert journal.count() == 4


def test_a_file_that_is_just_being_made_has_no_entries(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    write(tmp_path, "1", b"")
    assert journal.count() == 0
    write(tmp_path, "1", HEADER, entry(5), b"\0\0")

    assert journal.count() == 1
