"""A router of a producer's messages that leaves out partitions whose sends are not acknowledged."""

from __future__ import annotations

from collections.abc import Callable

from bench.systems.protocols import SendResult

FEWEST_OPEN = "fewest open"
"""The value of `message_router` that asks for it."""


class FewestOpen:
    """Sends each message to the partition with the fewest open sends, of several to the one after the last.

    So a partition that nobody serves collects few of them, and the rest of a producer's sends go on. One thread sends
    and ends sends; the client calls the router while it is in `send_async`.
    """

    __slots__ = ("_last", "_open")

    def __init__(self, partitions: int) -> None:
        """Begin with no open send on any partition."""
        self._open = [0] * partitions
        self._last = -1

    def __call__(self, _message: object, partitions: int) -> int:
        """Return where the client is to send the next message."""
        turn = ((self._last + step) % partitions for step in range(1, partitions + 1))
        self._last = min(turn, key=self._open.__getitem__)
        return self._last

    def track_send(self, done: Callable[[SendResult], None]) -> Callable[[SendResult], None]:
        """Count the last message as open until what is returned is called in place of `done`."""
        partition = self._last
        self._open[partition] += 1

        def end_send(outcome: SendResult) -> None:
            self._open[partition] -= 1
            done(outcome)

        return end_send
