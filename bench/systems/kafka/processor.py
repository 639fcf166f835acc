"""An application that reads a topic as a consumer group and writes another: see bench/systems/processing.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from bench.errors import LoadError
from bench.model import Settings, Topic
from bench.systems import processing
from bench.systems.kafka import topics
from bench.systems.kafka.records import KafkaMessage, consume, leave
from bench.systems.kafka.settings import COMMIT, TRANSACTION, client_config
from bench.systems.processing import PROCESSOR, SETTLE_AFTER, SETTLE_BEFORE

_READING: Settings = {
    # A static member: killed and started again it goes on at once, and need not wait until the group misses it.
    "group.instance.id": PROCESSOR,
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
}
_WRITING: Settings = {"acks": "all", "enable.idempotence": True, "linger.ms": 0}
"""What it writes is neither lost nor doubled by the writing, so that all loss and doubling is the settling's."""
_WAIT_S = 0.2
_REQUEST_S = 30.0


def process(endpoint: str, source: Topic, target: Topic, settings: Settings) -> Iterator[int]:
    """See protocols.System."""
    parameters = processing.read(settings, COMMIT)
    transactional = {"transactional.id": PROCESSOR} if parameters.settle == TRANSACTION else {}
    producer = Producer(client_config(endpoint, {**_WRITING, **transactional}))
    if transactional:
        producer.init_transactions(_REQUEST_S)  # ends what one that was killed has left open
    consumer = Consumer(client_config(endpoint, {"group.id": topics.group(source), **_READING}))
    try:
        consumer.subscribe([source.name])
        forward = _forwarder(producer, target, parameters.work_s)
        in_this_order = _ORDERS[parameters.settle]
        while True:
            batch = _sound(consume(consumer, parameters.batch, _WAIT_S))
            if batch:
                in_this_order(consumer, producer, batch, forward)
            yield len(batch)
    finally:
        leave(consumer)


Forward = Callable[[Sequence[KafkaMessage]], None]


def _commit_first(consumer: Consumer, _: Producer, batch: Sequence[KafkaMessage], forward: Forward) -> None:
    consumer.commit(offsets=_next_offsets(batch), asynchronous=False)
    forward(batch)


def _commit_last(consumer: Consumer, _: Producer, batch: Sequence[KafkaMessage], forward: Forward) -> None:
    forward(batch)
    consumer.commit(offsets=_next_offsets(batch), asynchronous=False)


def _commit_together(
    consumer: Consumer, producer: Producer, batch: Sequence[KafkaMessage], forward: Forward
) -> None:
    producer.begin_transaction()
    forward(batch)
    producer.send_offsets_to_transaction(_next_offsets(batch), consumer.consumer_group_metadata(), _REQUEST_S)
    producer.commit_transaction(_REQUEST_S)


_ORDERS = {SETTLE_BEFORE: _commit_first, SETTLE_AFTER: _commit_last, TRANSACTION: _commit_together}


def _forwarder(producer: Producer, target: Topic, work_s: float) -> Forward:
    """Return what works on a batch and writes it, each message to the partition of its number."""
    failed: list[str] = []

    def note_failure(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error.name())

    def forward(batch: Sequence[KafkaMessage]) -> None:
        for message in batch:
            time.sleep(work_s)
            producer.produce(
                target.name, message.value(), partition=message.partition(), on_delivery=note_failure
            )
            producer.poll(0)
        left = producer.flush(_REQUEST_S)
        if left:  # else a later failure would find their places settled
            raise LoadError(
                f"The processor wrote to {target.name}, and {left} messages were not answered for in {_REQUEST_S:g} s."
            )
        if failed:
            raise LoadError(f"The processor could not write to {target.name}: {failed[0]}.")

    return forward


def _next_offsets(batch: Sequence[KafkaMessage]) -> list[TopicPartition]:
    """Return for each partition the offset to go on from."""
    ends = {(message.topic(), message.partition()): message.offset() + 1 for message in batch}
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in ends.items()]


def _sound(polled: Sequence[KafkaMessage]) -> list[KafkaMessage]:
    """Leave out what is no message: errors that the client mends by itself."""
    for message in polled:
        error = message.error()
        if error is not None and error.fatal():
            raise LoadError(f"The processor can't go on: {error.name()}, {error.str()}.")
    return [message for message in polled if message.error() is None]
