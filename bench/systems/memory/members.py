"""Members of a group of the memory system: one of them gets each message. They live in one process."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from bench.model import NANOS, Topic
from bench.systems.memory.store import End, PartitionReader
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage

SHARED = "shared"
TYPES = (SHARED,)
_TURN_S = 0.0005
_groups: dict[Path, _Group] = {}
_lock = threading.Lock()


class MemoryMember:
    """Implements protocols.Consumer for one member."""

    def __init__(self, folder: Path, topic: Topic) -> None:
        """Join the group of the topic in this folder, which begins at the earliest message."""
        with _lock:
            self._group = _groups.setdefault(folder, _Group(folder, topic.partitions))
            self._group.members += 1
        self._folder = folder

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer. Looks every half millisecond."""
        deadline_ns = time.monotonic_ns() + round(timeout_s * NANOS)
        while (received := self._group.take()) is None and time.monotonic_ns() < deadline_ns:
            time.sleep(_TURN_S)
        return () if received is None else (received,)

    def close(self) -> None:
        """See protocols.Consumer. The group goes with its last member."""
        with _lock:
            self._group.members -= 1
            if not self._group.members:
                _groups.pop(self._folder, None)
                self._group.close()


class _Group:
    """What the members of a group share: readers of all partitions, and what they have read ahead."""

    def __init__(self, folder: Path, partitions: int) -> None:
        self.members = 0
        self._readers = [PartitionReader(folder, number, End(0, 0)) for number in range(partitions)]
        self._ahead: deque[tuple[int, int, bytes]] = deque()
        self._taking = threading.Lock()

    def take(self) -> ReceivedMessage | None:
        """Return a message that no member has had; None where there is none now."""
        with self._taking:
            if not self._ahead:
                for partition, reader in enumerate(self._readers):
                    self._ahead += [(partition, entry, payload) for entry, payload in reader.read()]
            if not self._ahead:
                return None
            partition, entry, payload = self._ahead.popleft()
        return ReceivedMessage(payload, time.monotonic_ns(), partition, NOT_GIVEN, entry, NOT_GIVEN)

    def close(self) -> None:
        """Close the files."""
        for reader in self._readers:
            reader.close()
