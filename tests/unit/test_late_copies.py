"""The share of copies that came late, from counters of nodes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain, repeat

import pytest

from bench.run import late_copies
from bench.run.late_copies import LateCopies


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
