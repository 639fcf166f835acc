"""A workload in the terms on which the use of a server depends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Workload:
    """What producers send and consumers read.

    Messages a second, bytes a message, copies of each, groups of consumers that
    read everything, and messages that go together in one batch, on average.
    """

    messages_per_s: float
    message_bytes: float
    copies: int
    groups: int
    batch: float = 1.0


@dataclass(frozen=True, slots=True)
class Term:
    """A kind of work: each message is handled so often, at a cost a message, a byte and a batch."""

    name: str
    of_copies: int = 0
    of_groups: int = 0
    fixed: int = 0

    def times(self, workload: Workload) -> int:
        """Return how often each message is handled in this way."""
        return self.fixed + self.of_copies * workload.copies + self.of_groups * workload.groups


TAKEN_IN = Term("taken in", fixed=1)
"""Each message is taken in from a producer once."""
READ = Term("read", of_groups=1)
"""Each message is handed to each group of consumers."""
