"""Producers and consumers of the in-memory system."""

from __future__ import annotations

import heapq
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gevent.monkey import get_original

from bench.errors import LoadError
from bench.model import NANOS, Outcome, Settings, Topic
from bench.systems.memory.faults import Faults, MessageFault, delay_ns_of, fault_of, identity
from bench.systems.memory.store import End, PartitionReader, PartitionWriter, StoredMessage
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage, SendResult

MAX_MESSAGE_BYTES = 5 << 20
_TURN_S = 0.0005

_OUTCOMES = {
    MessageFault.FAIL: Outcome.FAIL,
    MessageFault.GHOST_FAIL: Outcome.FAIL,
    MessageFault.GHOST_UNKNOWN: Outcome.UNKNOWN,
    MessageFault.UNKNOWN_ABSENT: Outcome.UNKNOWN,
}
_NOT_STORED = {MessageFault.LOSS, MessageFault.FAIL, MessageFault.UNKNOWN_ABSENT}

# The operating system's, also under gevent: a client waits natively (see protocols.Producer.poll).
_sleep: Callable[[float], None] = get_original("time", "sleep")


class MemoryProducers:
    """Implements protocols.Producers; faults see `faults.Faults`."""

    def __init__(self, folder: Path, topic: Topic, settings: Settings, count: int) -> None:
        """Open the topic's partitions, for each producer. Raises ClusterError when it does not exist."""
        self._faults = Faults.of(settings)
        self.clients = [MemoryProducer(folder, topic, self._faults) for _ in range(count)]

    def effective(self) -> Settings:
        """See protocols.Producers."""
        return {
            "kind": "files in a folder: no server, no network, no replication",
            **{name: getattr(self._faults, name) for name in Faults.__slots__},
        }

    def patience_s(self) -> float:
        """See protocols.Producers: nothing is waited for."""
        return 0.0

    def close(self, timeout_s: float) -> None:
        """See protocols.Producers. Swapped messages that nothing followed are stored now."""
        deadline = time.monotonic() + timeout_s
        for producer in self.clients:
            producer.close(deadline - time.monotonic())


class MemoryProducer:
    """Implements protocols.Producer. Messages go to the partitions in turn, those with keys by the key's number."""

    def __init__(self, folder: Path, topic: Topic, faults: Faults) -> None:
        """Open the topic's partitions. Raises ClusterError when it does not exist."""
        self._faults = faults
        self._partitions = [PartitionWriter(folder, number) for number in range(topic.partitions)]
        self._sent, self._keys = 0, topic.keys
        self._pending: list[tuple[int, int, SendResult, Callable[[SendResult], None]]] = []
        self._held: dict[tuple[int, int], bytes] = {}

    def send(self, payload: bytes, done: Callable[[SendResult], None]) -> None:
        """See protocols.Producer."""
        number, self._sent = self._sent, self._sent + 1
        partition = (number % self._keys if self._keys else number) % len(self._partitions)
        producer, sequence = identity(payload) or (NOT_GIVEN, number)
        ending = self._take(payload, partition, producer, sequence)
        visible_ns = time.monotonic_ns() + delay_ns_of(self._faults, producer, sequence)
        heapq.heappush(self._pending, (visible_ns, number, ending, done))

    def poll(self, timeout_s: float) -> None:
        """See protocols.Producer."""
        deadline_ns = time.monotonic_ns() + round(timeout_s * NANOS)
        next_ns = self._pending[0][0] if self._pending else deadline_ns
        wait_ns = min(next_ns, deadline_ns) - time.monotonic_ns()
        if wait_ns > 0:
            _sleep(wait_ns / NANOS)
        now_ns = time.monotonic_ns()
        while self._pending and self._pending[0][0] <= now_ns:
            _, _, ending, done = heapq.heappop(self._pending)
            done(ending)

    def close(self, timeout_s: float) -> None:
        """Wait for open sends and end them, then store swapped messages that nothing followed."""
        deadline_ns = time.monotonic_ns() + round(timeout_s * NANOS)
        while self._pending and (left_ns := deadline_ns - time.monotonic_ns()) > 0:
            self.poll(left_ns / NANOS)
        for _, _, _, done in self._pending:
            done(_send_result(Outcome.UNKNOWN, "Closed", NOT_GIVEN, NOT_GIVEN))
        self._pending.clear()
        for (_, partition), payload in self._held.items():
            self._partitions[partition].append(payload)
        for open_partition in self._partitions:
            open_partition.close()

    def _take(self, payload: bytes, partition: int, producer: int, sequence: int) -> SendResult:
        if len(payload) > MAX_MESSAGE_BYTES:
            return _send_result(Outcome.FAIL, "MessageTooLarge", partition, NOT_GIVEN)
        fault = fault_of(self._faults, producer, sequence)
        outcome = _OUTCOMES.get(fault, Outcome.OK)
        entry = self._store(payload, partition, producer, fault)
        return _send_result(outcome, None if outcome is Outcome.OK else fault.value, partition, entry)

    def _store(self, payload: bytes, partition: int, producer: int, fault: MessageFault) -> int:
        """Store a message as its fault wants it; return its entry, or NOT_GIVEN when there is none (yet)."""
        if fault in _NOT_STORED:
            return NOT_GIVEN
        place = (producer, partition)
        if fault is MessageFault.SWAP and place not in self._held:
            self._held[place] = payload
            return NOT_GIVEN
        files = self._partitions[partition]
        entry = files.append(payload)
        if fault is MessageFault.DUPLICATE:
            files.append(payload)
        held = self._held.pop(place, None)
        if held is not None:
            files.append(held)
        return entry


def _send_result(outcome: Outcome, error: str | None, partition: int, entry: int) -> SendResult:
    return SendResult(outcome, error, partition, NOT_GIVEN, entry, NOT_GIVEN)


class MemoryConsumer:
    """Implements protocols.Consumer: reads on from the end that the partitions have at the start.

    A group's place is a file beside the partitions, with the entry and the offset of each.
    """

    def __init__(self, folder: Path, topic: Topic, group: str = "") -> None:
        """Find the ends, or how far the group has got. Raises ClusterError when the topic does not exist."""
        ends = _ends(folder, topic)
        self._place = folder / f"{group}.group" if group else None
        if self._place is not None:
            ends = _places(self._place) or [End(0, 0)] * topic.partitions
        self._readers = [PartitionReader(folder, number, end) for number, end in enumerate(ends)]
        self._store_place()

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer. Looks every half millisecond."""
        deadline_ns = time.monotonic_ns() + round(timeout_s * NANOS)
        while not (received := self._look()) and time.monotonic_ns() < deadline_ns:
            _sleep(_TURN_S)
        return received

    def close(self) -> None:
        """See protocols.Consumer."""
        self._store_place()
        for reader in self._readers:
            reader.close()

    def _store_place(self) -> None:
        if self._place is not None:
            self._place.write_text(json.dumps([reader.place for reader in self._readers]), encoding="ascii")

    def _look(self) -> list[ReceivedMessage]:
        received: list[ReceivedMessage] = []
        for partition, reader in enumerate(self._readers):
            received += _convert_records(partition, reader.read())
        return received


def _places(file: Path) -> list[End]:
    """Return how far a group has got in each partition; nothing where it is new."""
    return [End(*place) for place in json.loads(file.read_text(encoding="ascii"))] if file.exists() else []


def _ends(folder: Path, topic: Topic) -> list[End]:
    partitions = [PartitionWriter(folder, number) for number in range(topic.partitions)]
    try:
        return [partition.end() for partition in partitions]
    finally:
        for partition in partitions:
            partition.close()


def _convert_records(partition: int, records: Sequence[StoredMessage]) -> list[ReceivedMessage]:
    now_ns = time.monotonic_ns()
    return [
        ReceivedMessage(payload, now_ns, partition, NOT_GIVEN, entry, NOT_GIVEN) for entry, payload in records
    ]


def read_all(folder: Path, topic: Topic) -> Iterator[Sequence[ReceivedMessage]]:
    """See protocols.System.read_all. Files are never slow: a record that is not whole is an error at once."""
    for partition, end in enumerate(_ends(folder, topic)):
        reader = PartitionReader(folder, partition, End(0, 0))
        try:
            yield from _read_to(reader, partition, end)
        finally:
            reader.close()


def _read_to(reader: PartitionReader, partition: int, end: End) -> Iterator[Sequence[ReceivedMessage]]:
    while reader.entry < end.entry:
        first_entry = reader.entry
        records = reader.read()
        yield _convert_records(partition, records[: end.entry - first_entry])
        if not records and reader.at_end:
            raise LoadError(
                f"Partition {partition} ends within entry {reader.entry} of {end.entry}: the file is cut."
            )
