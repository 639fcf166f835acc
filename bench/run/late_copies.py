"""Copies that storage nodes write only after a held rate has ended.

Where acknowledgements and readers do not wait for every copy (Pulsar: Qw > Qa), a storage node can fall behind without
a late message, a missing copy or a growing backlog of producers or consumers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TypeAlias

from bench.model import NANOS
from bench.systems.protocols import CopyCounter

_Counts: TypeAlias = Mapping[str, int]
"""How many copies each storage node has written."""

_LOOK_S = 0.3
_LONGEST_S = 5.0
"""So long is waited for late copies: what is written later still does not count, and the share is a lower bound."""


class LateCopies:
    """Counts the copies of one hold after the other."""

    def __init__(self, counters: Mapping[str, CopyCounter]) -> None:
        """Take what counts the copies of each storage node, by the nodes' names."""
        self._counters = counters
        self._counts_before: _Counts | None = None

    def begin(self) -> None:
        """Count what was written before the hold."""
        self._counts_before = self._count()

    def share(self, limit_ns: int) -> float | None:
        """Return the share of late copies: of all that a node wrote since `begin`, what it wrote after `limit_ns`.

        That of the node that has most; `limit_ns` is of the monotonic clock. It takes until no node writes any more, or
        some seconds. None where no node wrote any, or one cannot tell.
        """
        counts_before = self._counts_before
        time.sleep(min(_LONGEST_S, max(0.0, (limit_ns - time.monotonic_ns()) / NANOS)))
        if counts_before is None or (counts_at_limit := self._count()) is None:
            return None
        if (settled_counts := self._settle(counts_at_limit)) is None:
            return None
        shares = [
            (count - counts_at_limit[name]) / (count - counts_before[name])
            for name, count in settled_counts.items()
            if count > counts_before[name]
        ]
        return max(shares, default=None)

    def _settle(self, counts: _Counts) -> _Counts | None:
        """Return the counts once they no longer grow; None where a node cannot tell."""
        deadline_s = time.monotonic() + _LONGEST_S
        while time.monotonic() < deadline_s:
            time.sleep(_LOOK_S)
            if (later_counts := self._count()) is None or later_counts == counts:
                return later_counts
            counts = later_counts
        return counts

    def _count(self) -> _Counts | None:
        """Return the counts of all nodes; None where one cannot tell."""
        counts = {name: counter.count() for name, counter in self._counters.items()}
        known_counts = {name: count for name, count in counts.items() if count is not None}
        return known_counts if len(known_counts) == len(counts) else None
