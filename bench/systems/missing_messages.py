"""Messages that a full read has not received at its end, and whether they may still arrive."""

from __future__ import annotations

import time

ARRIVAL_WAIT_S = 5.0
"""How long after the last message more is waited for."""


class MissingMessages:
    """Counts what a full read returns, against how many messages must be there.

    Messages may be acknowledged before anybody can read them: Kafka's with acks=0 or 1 can be read once every replica
    in sync has them. So the end that a read is told first may lie before messages that are there.
    """

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self._since: float | None = None

    def take(self, messages: int) -> None:
        """Take a batch."""
        self._missing -= messages
        self._since = None

    def may_arrive(self) -> bool:
        """Whether to look for more at the end: some are missing, and ARRIVAL_WAIT_S have not passed without any."""
        if self._missing <= 0:
            return False
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return now - self._since < ARRIVAL_WAIT_S
