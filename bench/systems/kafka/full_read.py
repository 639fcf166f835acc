"""The whole topic, read back from its earliest message to the end it has now: what loss is judged by."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from confluent_kafka import Consumer, KafkaError, TopicPartition

from bench.errors import LoadError
from bench.model import Settings, Topic
from bench.systems.kafka import topics
from bench.systems.kafka.records import Record, consume
from bench.systems.kafka.settings import client_config, merged
from bench.systems.protocols import NOT_GIVEN, Received

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
_ASK_AGAIN_S = 1.0
_FILL_S = 0.1
"""How long a batch may take to fill: here nobody looks at when a message came."""


def read_all(
    endpoint: str, topic: Topic, settings: Settings, deadline_s: float
) -> Iterator[Sequence[Received]]:
    """See protocols.System. What the case sets for the consumer holds, but for what completeness hangs on."""
    consumer = Consumer(client_config(endpoint, merged(_PREFERRED, merged(settings, _NEEDED))))
    try:
        yield from _read(consumer, topic, deadline_s)
    finally:
        consumer.close()


def _read(consumer: Consumer, topic: Topic, deadline_s: float) -> Iterator[Sequence[Received]]:
    """Read every partition from when its leader answers; those without one do not keep the others waiting."""
    silent, left = list(range(topic.partitions)), dict[int, int]()
    deadline, asked = time.monotonic() + deadline_s, -_ASK_AGAIN_S
    while silent or left:
        if silent and time.monotonic() - asked >= _ASK_AGAIN_S:
            silent = _begun(consumer, topic, silent, left)
            asked = time.monotonic()
        if batch := _before_end(consume(consumer, _BATCH, _FILL_S), left):
            yield batch
            deadline = time.monotonic() + deadline_s
        elif (silent or left) and time.monotonic() > deadline:
            raise LoadError(
                f"Reading {topic.name} back: nothing came for {deadline_s:g} s, "
                f"and {_unread(consumer, topic, left, silent)}."
            )


def _begun(consumer: Consumer, topic: Topic, silent: Sequence[int], left: dict[int, int]) -> list[int]:
    """Begin with the partitions whose leaders answer, and note their ends in `left`; return the others."""
    found = {number: topics.bounds(consumer, topic.name, number) for number in silent}
    fresh = [
        TopicPartition(topic.name, number, ends[0]) for number, ends in found.items() if ends is not None
    ]
    if fresh:
        consumer.incremental_assign(fresh)
    left |= {number: ends[1] for number, ends in found.items() if ends is not None and ends[0] < ends[1]}
    return [number for number, ends in found.items() if ends is None]


def _before_end(polled: Sequence[Record], left: dict[int, int]) -> list[Received]:
    """Return the messages before their partition's end; take partitions that reached it out of `left`."""
    new, now, nowhere = tuple.__new__, time.monotonic_ns(), NOT_GIVEN
    batch: list[Received] = []
    for message in polled:
        number = message.partition()
        end = left.get(number, NOT_GIVEN)
        if end == NOT_GIVEN:
            continue
        offset = message.offset()
        error = message.error()
        if error is not None:
            reached = _reached(number, offset, error)
        else:
            reached = offset + 1
            if offset < end:
                batch.append(new(Received, (message.value(), now, number, nowhere, offset, nowhere)))
        if reached >= end:
            del left[number]
    return batch


def _reached(number: int, offset: int, error: KafkaError) -> int:
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


def _unread(consumer: Consumer, topic: Topic, left: dict[int, int], silent: Sequence[int]) -> str:
    positions = consumer.position([TopicPartition(topic.name, number) for number in sorted(left)])
    said = [
        f"partition {one.partition} was read to offset {max(one.offset, 0)} of {left[one.partition]}"
        for one in positions
    ]
    return ", ".join([*said, *(f"the leader of partition {number} did not answer" for number in silent)])
