"""The share of copies that came late, from counters of nodes, and a bookie's entries from the files of its journal."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from itertools import chain, repeat
from pathlib import Path

import pytest

from bench.run import late_copies
from bench.run.late_copies import LateCopies
from bench.systems.pulsar.journal import Journal

HEADER = b"BKLG" + bytes(508)
ROOM = bytes(4096)


class Counter:
    """A node that has written so many copies at one look after the other; the last count stays."""

    def __init__(self, *counts: int | None) -> None:
        self._counts = chain(counts, repeat(counts[-1]))

    def count(self) -> int | None:
        return next(self._counts)


def share(*nodes: Sequence[int | None]) -> float | None:
    copies = LateCopies({f"bookie-{number}": Counter(*counts) for number, counts in enumerate(nodes)})
    copies.begin()
    copies.end(0)
    return copies.share()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_copies, "_LOOK_S", 0.0)


def test_the_node_that_is_furthest_behind_counts() -> None:
    """Of 1,000 copies that each is given the second writes 150 late, the third 20. Two looks make the limit's count."""
    assert share([100, 1100], [200, 1050, 1050, 1200], [0, 900, 980, 1000]) == pytest.approx(0.15)


def test_a_node_that_writes_on_for_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it pauses for three looks."""
    assert share([0, 1000], [0, 500, 500, 600, 700, 700, 700, 700, 1000]) == pytest.approx(0.5)

    monkeypatch.setattr(late_copies, "_LONGEST_S", 0.0)
    assert share([0, 1000], [0, 500, 500, 600]) == 0  # a lower bound: nobody looked again


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [[0, 1000], [0, None]],
        [[None], [0, 1000]],
        [[0, 1000], [0, 500, 500, None]],
        [[0, 1000], [500]],
    ],
    ids=["no node", "silent", "silent before", "silent afterwards", "stuck"],
)
def test_where_it_cannot_be_told_there_is_no_share(nodes: list[list[int | None]]) -> None:
    assert share(*nodes) is None


def test_copies_count_as_late_from_the_limit_on() -> None:
    copies = LateCopies({"bookie-1": Counter(0, 1000), "bookie-2": Counter(0, 1000)})
    copies.begin()
    limit_ns = time.monotonic_ns() + 50_000_000

    copies.end(limit_ns)

    assert time.monotonic_ns() >= limit_ns
    assert copies.share() == 0


def test_without_counters_nobody_waits() -> None:
    copies = LateCopies({})
    begun_s = time.monotonic()
    copies.begin()
    copies.end(time.monotonic_ns() + 10**10)

    assert copies.share() is None
    assert time.monotonic() - begun_s < 5


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
