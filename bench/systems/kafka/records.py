"""What consumers get from librdkafka, typed: messages and events with partition and offset; how they leave."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol, cast

from confluent_kafka import Consumer, KafkaError, ShareConsumer

from bench.systems.protocols import NOT_GIVEN, ReceivedMessage

_LEAVE_S = 10.0


class KafkaMessage(Protocol):
    """A consumed message. confluent-kafka's type also covers those made by hand, where all may be None."""

    def topic(self) -> str: ...
    def value(self) -> bytes: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def error(self) -> KafkaError | None: ...


def consume(consumer: Consumer, most: int, timeout_s: float) -> Sequence[KafkaMessage]:
    """Return up to `most` records; waits `timeout_s` for as many, unless it is 0."""
    return cast("Sequence[KafkaMessage]", consumer.consume(most, timeout_s))


def poll(consumer: Consumer, timeout_s: float) -> KafkaMessage | None:
    """Return the next message; waits for it at most `timeout_s`."""
    return cast("KafkaMessage | None", consumer.poll(timeout_s))


def convert_message(message: KafkaMessage, now_ns: int) -> ReceivedMessage:
    """Return a record as the suite has it, received now."""
    return ReceivedMessage(
        message.value(), now_ns, message.partition(), NOT_GIVEN, message.offset(), NOT_GIVEN
    )


def leave(consumer: Consumer | ShareConsumer) -> None:
    """Close a consumer. One that does not come back within 10 s is left to itself: no later call waits for it.

    Where brokers are gone, librdkafka may wait in there for ever (its issues 4519 and, in Python, 1667).
    """
    closing = threading.Thread(target=consumer.close, name="leave", daemon=True)
    closing.start()
    closing.join(_LEAVE_S)
