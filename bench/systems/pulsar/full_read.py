"""The whole topic, read back from its earliest message to its end: what loss is judged by.

A reader for each partition: unlike a subscription it writes nothing, so it also works where nothing can be
written any more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pulsar

from bench.errors import LoadError
from bench.model import Settings, Topic
from bench.systems.missing_messages import MissingMessages
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage
from bench.systems.pulsar import topics
from bench.systems.pulsar.connection import Client, connect, disconnect
from bench.systems.pulsar.records import convert_message

_QUEUE = 5000
"""How many messages a reader asks for ahead (the client's default is 1,000)."""
_BATCH = 5000
_ASK_S = 5
"""How long an answer may take; the client's default, 30 s, would be waited for each partition without owner."""
_TURN_S = 0.005
_SURE_S = 0.1
"""How long after the last partition said that it was at its end something more would have come."""
_CLOSE_S = 2.0
_BEGINNING = (NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)
"""Before the first (ledger, entry, batch index)."""
_HOPELESS = (pulsar.AuthenticationError, pulsar.AuthorizationError, pulsar.TopicNotFound)


def read_all(
    endpoint: str, topic: Topic, settings: Settings, deadline_s: float, expected: int
) -> Iterator[Sequence[ReceivedMessage]]:
    """See protocols.System. Of what the case sets for the consumer, only the client's own properties hold."""
    client = connect(endpoint, {"operation_timeout_seconds": _ASK_S, **settings})
    partitions = [_PartitionRead(client, topic, number) for number in range(topic.partitions)]
    try:
        for batch in _read(partitions, deadline_s, missing := MissingMessages(expected)):
            missing.take(len(batch))
            yield batch
    finally:
        disconnect(client, _CLOSE_S)


def _read(
    partitions: Sequence[_PartitionRead], deadline_s: float, missing: MissingMessages
) -> Iterator[Sequence[ReceivedMessage]]:
    """Read until all partitions are at their end, and still are a moment later, or so long as more is awaited."""
    left = list(partitions)
    while left or missing.may_arrive():
        yield from _to_the_end(left, deadline_s)
        time.sleep(_SURE_S)
        for partition in partitions:
            if batch := partition.take():
                left.append(partition)
                yield batch


def _to_the_end(left: list[_PartitionRead], deadline_s: float) -> Iterator[Sequence[ReceivedMessage]]:
    """Read until no partition is left. Raises LoadError once `deadline_s` passed without a message or a connection."""
    deadline = time.monotonic() + deadline_s
    while left:
        came = False
        for partition in tuple(left):
            if batch := partition.take():
                came = True
                yield batch
            elif partition.has_connected():
                came = True
            elif partition.is_at_end():
                left.remove(partition)
            elif not came and time.monotonic() > deadline:
                raise LoadError(
                    f"Reading the topic back: nothing came for {deadline_s:g} s, and "
                    f"{', '.join(partition.position() for partition in left)}."
                )
        if came:
            deadline = time.monotonic() + deadline_s
        else:
            time.sleep(_TURN_S)


class _PartitionRead:
    """One partition on its way to its end."""

    def __init__(self, client: Client, topic: Topic, number: int) -> None:
        self._client = client
        self._name = topics.partition_name(topic, number)
        self._number = number
        self._reader: Any = None
        self._last = _BEGINNING
        self._trouble = ""
        self._fresh = False

    def has_connected(self) -> bool:
        """Whether it has a connection since this was asked last: to many partitions that takes long."""
        fresh, self._fresh = self._fresh, False
        return fresh

    def take(self) -> list[ReceivedMessage]:
        """Return the messages that are there, each once, without waiting; connects first.

        After a reconnect the client may read again what it has given; what is stored twice has two positions.
        """
        batch: list[ReceivedMessage] = []
        if self._reader is None and not self._connect():
            return batch
        read_next, clock, last = self._reader.read_next, time.monotonic_ns, self._last
        try:
            while len(batch) < _BATCH:
                message = convert_message(read_next(0), clock())
                place = message[-3:]
                if place > last:
                    batch.append(message)
                    last = place
        except pulsar.Timeout:
            pass
        except pulsar.PulsarException as error:
            self._trouble = f" (reading: {type(error).__name__})"
        if batch:
            self._last, self._trouble = last, ""
        return batch

    def _connect(self) -> bool:
        """Connect; where that fails for now, the next turn tries again, until nothing came for too long."""
        try:
            self._reader = self._client.create_reader(
                self._name, pulsar.MessageId.earliest, receiver_queue_size=_QUEUE
            )
            self._fresh = True
        except _HOPELESS as error:
            raise LoadError(f"Reading {self._name} back: {type(error).__name__}.") from error
        except pulsar.PulsarException as error:
            self._trouble = f" (connecting: {type(error).__name__})"
        return self._reader is not None

    def is_at_end(self) -> bool:
        """Whether the broker says that there is no more."""
        if self._reader is None:
            return False
        try:
            return not self._reader.has_message_available()
        except pulsar.PulsarException as error:
            self._trouble = f" (asking for its end: {type(error).__name__})"
            return False

    def position(self) -> str:
        """Say how far the partition was read, and what the client complains of."""
        if self._last == _BEGINNING:
            return f"nothing of partition {self._number} was read{self._trouble}"
        ledger, entry, _ = self._last
        return f"partition {self._number} was read to ledger {ledger}, entry {entry}{self._trouble}"
