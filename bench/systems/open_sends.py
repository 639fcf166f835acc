"""Sends whose ends the client tells in a thread of its own: all that is done there is to put them into a queue."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any, ClassVar

from bench.model import Outcome
from bench.systems.native_queue import Empty, SimpleQueue, first_of
from bench.systems.protocols import NOT_GIVEN, SendResult


class OpenSends:
    """What producers with such a client have in common; `poll` does what is left to do with a send's end."""

    __slots__ = ("_numbers", "_open", "_over")

    closed: ClassVar[str]
    """The client's name for the error of a send that was open when its connection was closed."""

    def __init__(self) -> None:
        """Begin with no send open."""
        self._numbers = itertools.count()
        self._open: dict[int, Callable[[SendResult], None]] = {}
        self._over: SimpleQueue[Any] = SimpleQueue()

    def poll(self, timeout_s: float) -> None:
        """See protocols.Producer."""
        over = self._over
        try:
            first = first_of(over, timeout_s)
        except Empty:
            return
        # No more than there is now: a `done` that sends could keep this going for ever.
        waiting = over.qsize()
        self._end(*first)
        for _ in range(waiting):
            self._end(*over.get_nowait())

    def _end(self, number: int, *report: Any) -> None:  # noqa: ANN401 - each client's own
        """Take what the client told of a send's end out of the queue, and pass it on."""
        raise NotImplementedError

    def drain(self, deadline: float) -> None:
        """Wait until no send is open, or until `deadline` (time.monotonic)."""
        while self._open and (left := deadline - time.monotonic()) > 0:
            self.poll(left)

    def end_all(self) -> None:
        """End what is still open; the connection is gone."""
        self.poll(0)
        while self._open:
            _, done = self._open.popitem()
            done(SendResult(int(Outcome.UNKNOWN), self.closed, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN))
