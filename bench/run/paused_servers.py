"""Servers that stand still while others are loaded, never for as long as a session of theirs lasts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

_LONGEST_S = 8.0
"""So long servers are stopped at most: a Kafka broker's session lasts 9 s, one with ZooKeeper 30 s.

A slice ends when its open sends are answered, which took up to 25 s more with 10,000 of them. Pulsar's bookies lost
their sessions then, and ended.
"""
_REST_S = 0.3
"""So long they run before a further stop, so that heartbeats get through, after stops of _LONGEST_S / 2 together."""


class PausedServers:
    """Stops servers again and again, and lets them run often enough between the stops.

    A stop that lasts longer than `longest_s` ends by itself. What counts of a slice is over by then; the rest of a
    longer hold is measured beside servers that run.
    """

    def __init__(self, longest_s: float = _LONGEST_S, rest_s: float = _REST_S) -> None:
        """Begin with servers that have run for a while. Both times are in seconds."""
        self._longest_s, self._rest_s = longest_s, rest_s
        self._stopped_s = 0.0
        self._resumed_s = float("-inf")

    @contextmanager
    def keep_paused(self, pause: Callable[[], None], resume: Callable[[], None]) -> Iterator[None]:
        """Stop servers with `pause`, and let them go on with `resume` at the end; it may be called twice."""
        self._let_run()
        timer = Timer(self._longest_s, resume)
        begun_s = time.monotonic()
        try:
            pause()
            timer.start()
            yield
        finally:
            timer.cancel()
            if timer.ident is not None:
                timer.join()  # one that ends late would let servers go on that are to stand still next
            resume()
            self._resumed_s = min(time.monotonic(), begun_s + self._longest_s)
            self._stopped_s += self._resumed_s - begun_s

    def _let_run(self) -> None:
        if self._stopped_s > self._longest_s / 2:
            time.sleep(max(0.0, self._resumed_s + self._rest_s - time.monotonic()))
        if time.monotonic() >= self._resumed_s + self._rest_s:
            self._stopped_s = 0.0
