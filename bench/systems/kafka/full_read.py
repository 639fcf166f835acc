"""The whole topic, read back from its earliest message to its end: what loss is judged by."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from bench.errors import LoadError
from bench.model import Settings, Topic
from bench.systems.kafka import topics
from bench.systems.kafka.records import KafkaMessage, consume, leave
from bench.systems.kafka.settings import client_config, merge_settings
from bench.systems.missing_messages import MissingMessages
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage

_PREFERRED: Settings = {
    # The account counts what is in the log, committed or not, unless the case says otherwise.
    "isolation.level": "read_uncommitted",
}
_NEEDED: Settings = {
    "group.id": "bench-verify",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    # A gap must show: nothing is skipped in silence.
    "auto.offset.reset": "error",
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 100,
    "fetch.message.max.bytes": 8 * 2**20,
    # The default of 1 s would be waited whenever the local queue was full for a moment.
    "fetch.queue.backoff.ms": 5,
}
_HOPELESS = {
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001 - confluent-kafka's way to write librdkafka's own errors
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
}
_BATCH = 5000
_AGAIN_S = 0.1
_LATER_S = 0.5
"""How soon after the end was reached it is asked for again, where messages are missing."""
_FILL_S = 0.1
"""How long a batch may take to fill: here nobody looks at when a message came."""


def read_all(
    endpoint: str, topic: Topic, settings: Settings, deadline_s: float, expected: int
) -> Iterator[Sequence[ReceivedMessage]]:
    """See protocols.System. What the case sets for the consumer holds, but for what completeness hangs on.

    A partition's end is its high watermark: behind its last message only once every replica in sync has that.
    """
    config = client_config(endpoint, merge_settings(_PREFERRED, merge_settings(settings, _NEEDED)))
    consumer = Consumer(config)
    missing, reached = MissingMessages(expected), dict.fromkeys(range(topic.partitions), 0)
    consumer.assign([TopicPartition(topic.name, number, OFFSET_BEGINNING) for number in reached])
    try:
        while True:
            with _Ends(config, topic) as ends:
                for batch in _read(consumer, topic, reached, ends, deadline_s):
                    missing.take(len(batch))
                    yield batch
            if not missing.may_arrive():
                return
            time.sleep(_LATER_S)
    finally:
        leave(consumer)


class _Ends:
    """Asks the leaders for the ends of their partitions, in a thread: one that does not answer keeps nobody waiting.

    `silent` are those of which nothing is known yet, with the reason.
    """

    def __init__(self, config: dict[str, Any], topic: Topic) -> None:
        self.silent = dict.fromkeys(range(topic.partitions), "it was not asked yet")
        self._config = config
        self._topic = topic.name
        self._ends: SimpleQueue[tuple[int, int, int]] = SimpleQueue()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ends", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def new(self) -> list[tuple[int, int, int]]:
        """Return what has been told since: partition, first offset, offset after the last."""
        ends = []
        while not self._ends.empty():
            ends.append(self._ends.get())
            del self.silent[ends[-1][0]]
        return ends

    def _run(self) -> None:
        client = Consumer(self._config)
        left = list(self.silent)
        try:
            while left and not self._over.is_set():
                for number in tuple(left):
                    ends = topics.bounds(client, self._topic, number)
                    if isinstance(ends, str):
                        self.silent[number] = ends
                    else:
                        left.remove(number)
                        self._ends.put((number, *ends))
                    if self._over.is_set():
                        return
                self._over.wait(_AGAIN_S if left else 0)
        finally:
            leave(client)


def _read(
    consumer: Consumer, topic: Topic, reached: dict[int, int], ends: _Ends, deadline_s: float
) -> Iterator[Sequence[ReceivedMessage]]:
    """Read on in every partition to the end that its leader tells, and as far as it goes until one does.

    `reached` tells how far each was read, and is kept up.
    """
    end_offsets: dict[int, int] = {}
    deadline = time.monotonic() + deadline_s
    while left := [number for number, at in reached.items() if at < end_offsets.get(number, at + 1)]:
        if fresh := ends.new():
            end_offsets |= {number: end if first < end else 0 for number, first, end in fresh}
            deadline = time.monotonic() + deadline_s
        if batch := _messages(consume(consumer, _BATCH, _FILL_S), reached):
            yield batch
            deadline = time.monotonic() + deadline_s
        elif not fresh and time.monotonic() > deadline:
            details = [
                _unread(number, reached[number], end_offsets.get(number), ends.silent) for number in left
            ]
            raise LoadError(
                f"Reading {topic.name} back: nothing came for {deadline_s:g} s, and {', '.join(details)}."
            )


def _messages(polled: Sequence[KafkaMessage], reached: dict[int, int]) -> list[ReceivedMessage]:
    """Return the messages; `reached` tells how far each partition was read, and is kept up."""
    new, now, nowhere = tuple.__new__, time.monotonic_ns(), NOT_GIVEN
    batch: list[ReceivedMessage] = []
    for message in polled:
        number = message.partition()
        offset = message.offset()
        error = message.error()
        if error is not None:
            reached[number] = max(reached[number], _reached_offset(number, offset, error))
            continue
        reached[number] = offset + 1
        batch.append(new(ReceivedMessage, (message.value(), now, number, nowhere, offset, nowhere)))
    return batch


def _reached_offset(number: int, offset: int, error: KafkaError) -> int:
    """Return how far an end-of-partition event says that reading has come: the last record may be no message.

    Raises LoadError where the client can't go on; other errors it mends by itself, or the deadline ends it.
    """
    if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - as above
        return offset
    if error.fatal() or error.code() in _HOPELESS:
        raise LoadError(
            f"Reading partition {number} back, at offset {offset}: {error.name()}, {error.str()}."
        )
    return NOT_GIVEN


def _unread(number: int, reached: int, end: int | None, silent: Mapping[int, str]) -> str:
    if end is not None:
        return f"partition {number} was read to offset {reached} of {end}"
    why = silent.get(number, "it was asked just now")
    return f"partition {number} was read to offset {reached}, and its leader did not tell its end ({why})"
