"""Copies that storage nodes write only after a held rate has ended.

On Pulsar with Qw > Qa acknowledgements and readers do not wait for every copy. A storage node can then fall behind
unseen: no message is late, no copy is marked as missing, and no other backlog grows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TypeAlias

from bench.model import NANOS
from bench.systems.protocols import CopyCounter

_Counts: TypeAlias = Mapping[str, int]
"""How many copies each storage node has written."""

_LOOK_S = 0.25
_STILL_LOOKS = 4
"""So many looks in a row must show the same: a node that is short of CPU writes in bursts."""
_LONGEST_S = 10.0
"""So long is waited for late copies: what is written later still does not count, and the share is a lower bound."""


class LateCopies:
    """Counts the copies of one hold after the other: `begin`, `end` and `share` of each."""

    def __init__(self, counters: Mapping[str, CopyCounter]) -> None:
        """Take what counts the copies of each storage node, by the nodes' names; without any there is no share."""
        self._counters = counters
        self._first_counts: _Counts | None = None
        self._counts_at_limit: _Counts | None = None

    def begin(self) -> None:
        """Count what was written before the hold."""
        self._first_counts = self._count()

    def end(self, limit_ns: int) -> None:
        """Count what was written by `limit_ns` of the monotonic clock, or now where that is over."""
        self._counts_at_limit = self._count()  # the next count then has little left to read
        if self._counts_at_limit is not None:
            time.sleep(min(_LONGEST_S, max(0.0, (limit_ns - time.monotonic_ns()) / NANOS)))
            self._counts_at_limit = self._count()

    def share(self) -> float | None:
        """Return the share of late copies: of all that a node wrote since `begin`, what it wrote after `end`.

        That of the node that has most. It takes until no node has written for a second, or some seconds. None where
        nobody counts, or a node wrote nothing: it may be stuck, or no message may be its.
        """
        counts_at_limit, first_counts = self._counts_at_limit, self._first_counts
        if first_counts is None or counts_at_limit is None:
            return None
        if (final_counts := self._settle(counts_at_limit)) is None:
            return None
        written_counts = {name: count - first_counts[name] for name, count in final_counts.items()}
        if not all(written_counts.values()):
            return None
        return max(
            (final_counts[name] - counts_at_limit[name]) / written for name, written in written_counts.items()
        )

    def _settle(self, counts: _Counts) -> _Counts | None:
        """Return the counts once they no longer grow; None where a node cannot tell."""
        deadline_s, still_looks = time.monotonic() + _LONGEST_S, 0
        while still_looks < _STILL_LOOKS and time.monotonic() < deadline_s:
            time.sleep(_LOOK_S)
            if (later_counts := self._count()) is None:
                return None
            still_looks = still_looks + 1 if later_counts == counts else 0
            counts = later_counts
        return counts

    def _count(self) -> _Counts | None:
        """Return the counts of all nodes; None where there is none, or one cannot tell."""
        counts = {name: counter.count() for name, counter in self._counters.items()}
        known_counts = {name: count for name, count in counts.items() if count is not None}
        return known_counts if counts and len(known_counts) == len(counts) else None
