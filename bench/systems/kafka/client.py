"""Kafka's producer and live consumer, through confluent-kafka (librdkafka)."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle
from typing import TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from bench.errors import LoadError
from bench.model import Outcome, Scalar, Settings, Topic, text
from bench.systems.kafka import topics
from bench.systems.kafka.outcomes import certain_refusals
from bench.systems.kafka.records import KafkaMessage, consume, convert_message, leave, poll
from bench.systems.kafka.settings import PARTITIONER, client_config, client_properties, lookup, merge_settings
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage, SendResult

_SYNC: Settings = {
    # librdkafka's default of 5 ms would stand in every latency of a producer with one message in flight. With more
    # it is what lets them share requests: without it 10,000 in flight carry 2,000 messages a second.
    "linger.ms": 0,
}
_PRODUCER: Settings = {
    # Two defaults of librdkafka, stated because they decide what an acknowledgement means.
    "acks": "all",
    "enable.idempotence": False,
}
_QUEUE_MESSAGES = 100_000
_REPORTED_DEFAULTS = (
    "linger.ms",
    "retries",
    "retry.backoff.ms",
    "retry.backoff.max.ms",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "max.in.flight",
    "request.timeout.ms",
    "message.timeout.ms",
    "socket.timeout.ms",
    "socket.nagle.disable",
    "batch.size",
    "batch.num.messages",
    "compression.type",
    "message.max.bytes",
    "queue.buffering.max.kbytes",
)
"""Producer properties whose defaults belong beside a measurement."""
_ANY_PARTITION = -1
_STICKY = "sticky.partitioning.linger.ms"
_SECRETS = ("password", "secret", "key.pem", "jaas", "oauthbearer.config")

_LIVE: Settings = {
    "group.id": "bench-live",
    "enable.auto.commit": False,
    # Where its place is gone, as after an unclean election, it goes on at the end: librdkafka's default, stated.
    "auto.offset.reset": "latest",
    # Answers go out as soon as there is a byte: librdkafka's defaults, stated: end-to-end hangs on them.
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 500,
}
Report: TypeAlias = Callable[[Callable[[SendResult], None], KafkaError | None, Message], None]

_SHORT_S = 0.19
"""confluent-kafka serves longer waits in pieces of 200 ms and, unlike librdkafka, does not end them early."""
_BATCH = 2000
_LATE_S = 15.0
"""librdkafka tells of a send's end that much after its time-out at most: its broker may be gone (measured: 1 s)."""


class KafkaProducers:
    """See protocols.Producers. Each has a client of its own, thus connections of its own.

    A broker serves the requests of one connection one after the other. So producers that shared one would wait for
    each other's replication (measured with acks=all: a third of the throughput at 100 producers).
    """

    def __init__(self, endpoint: str, topic: Topic, settings: Settings, count: int, window: int) -> None:
        """Connect; raises ClusterError when a partition has no leader or no broker answers within 30 s."""
        queue = {"queue.buffering.max.messages": max(_QUEUE_MESSAGES, window)}
        self._config = merge_settings({**_PRODUCER, **(_SYNC if window == 1 else {}), **queue}, settings)
        config = client_config(endpoint, self._config)
        over = _reporter(certain_refusals(self._config))
        chosen_by_client = PARTITIONER in settings
        self.clients = [
            KafkaProducer(
                Producer(config),
                topic,
                [(None, _ANY_PARTITION)] if chosen_by_client else _places(topic, number % topic.partitions),
                over,
            )
            for number in range(count)
        ]

    def effective(self) -> Settings:
        """See protocols.Producers: what was set, and librdkafka's defaults for what matters beside it."""
        properties = client_properties()
        defaults: dict[str, Scalar] = {name: properties[name].default for name in _REPORTED_DEFAULTS}
        if text(lookup(self._config, "enable.idempotence")) == "true":
            defaults["max.in.flight"] = 5  # librdkafka lowers it by itself
        if PARTITIONER in self._config:
            defaults[_STICKY] = properties[_STICKY].default
        settings = merge_settings(defaults, self._config)
        return {name: value for name, value in settings.items() if not any(word in name for word in _SECRETS)}

    def patience_s(self) -> float:
        """See protocols.Producers."""
        return float(lookup(self.effective(), "message.timeout.ms") or math.inf) / 1000 + _LATE_S

    def close(self, timeout_s: float) -> None:
        """See protocols.Producers."""
        deadline = time.monotonic() + timeout_s
        for producer in self.clients:
            producer.close(max(0.0, deadline - time.monotonic()))


class KafkaProducer:
    """See protocols.Producer. Sends go to the places in turn, each a key and a partition.

    `poll` with less than 1 ms does not wait at all (librdkafka counts milliseconds): whoever needs that poll
    again. What an error means for the message: see outcomes.py.
    """

    __slots__ = ("_over", "_places", "_poll", "_produce", "_producer", "_refused", "_topic")

    def __init__(
        self, producer: Producer, topic: Topic, places: Sequence[tuple[bytes | None, int]], over: Report
    ) -> None:
        """Look the topic up."""
        self._producer = producer
        self._topic = topic.name
        self._places = cycle(places)
        self._refused: deque[tuple[Callable[[SendResult], None], SendResult]] = deque()
        self._over = over
        self._produce = producer.produce
        self._poll = producer.poll
        # Without the look-up the first send would wait about a second for librdkafka's own.
        topics.await_topic(producer, topic)

    def send(self, payload: bytes, done: Callable[[SendResult], None]) -> None:
        """See protocols.Producer."""
        key, partition = next(self._places)
        try:
            self._produce(self._topic, payload, key, partition, partial(self._over, done))
        except BufferError:
            self._refused.append((done, _refusal("_QUEUE_FULL", partition)))
        except KafkaException as error:
            self._refused.append((done, _refusal(error.args[0].name(), partition)))

    def poll(self, timeout_s: float) -> None:
        """See protocols.Producer."""
        if self._refused:
            self._end_refused()
            timeout_s = 0.0
        if timeout_s <= _SHORT_S:
            self._poll(timeout_s)
        else:
            self._poll_long(timeout_s)

    def _end_refused(self) -> None:
        """End what was refused so far; a `done` may send again and be refused again."""
        for _ in range(len(self._refused)):
            done, refusal = self._refused.popleft()
            done(refusal)

    def _poll_long(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while timeout_s > 0 and not self._poll(min(timeout_s, _SHORT_S)):
            timeout_s = deadline - time.monotonic()

    def close(self, timeout_s: float) -> None:
        """Wait for open sends and end them, then leave."""
        self._end_refused()
        if self._producer.flush(timeout_s):
            self._producer.purge()
        while len(self._producer):
            self._poll(_SHORT_S)
        self._end_refused()
        self._producer.close()


def _places(topic: Topic, first: int) -> list[tuple[bytes | None, int]]:
    """Return key and partition of messages in turn: a key's partition is its number modulo the partitions.

    Without keys they begin with the partition `first`: producers of other numbers begin elsewhere.
    """
    if topic.keys:
        return [(str(key).encode(), key % topic.partitions) for key in range(topic.keys)]
    return [(None, partition) for partition in (*range(first, topic.partitions), *range(first))]


def _refusal(name: str, partition: int) -> SendResult:
    """Say that the client itself did not take a message: it never left."""
    return SendResult(int(Outcome.FAIL), name, partition, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)


def _reporter(certain: frozenset[str]) -> Report:
    """Return what turns a delivery report into a `SendResult`; it runs once a message, so its names are local."""
    new, nowhere = tuple.__new__, NOT_GIVEN
    ok, fail, unknown = int(Outcome.OK), int(Outcome.FAIL), int(Outcome.UNKNOWN)

    def over(done: Callable[[SendResult], None], error: KafkaError | None, message: Message) -> None:
        if error is None:
            offset = message.offset()  # None with acks=0: the broker does not tell
            entry = nowhere if offset is None else offset
            done(new(SendResult, (ok, None, message.partition(), nowhere, entry, nowhere)))
            return
        name = error.name()
        outcome = fail if name in certain else unknown
        done(new(SendResult, (outcome, name, message.partition(), nowhere, nowhere, nowhere)))

    return over


class KafkaConsumer:
    """See protocols.Consumer. Partitions are assigned, so no group has to find itself first."""

    def __init__(self, endpoint: str, topic: Topic, settings: Settings) -> None:
        """Connect at the end that every partition has now; raises ClusterError or LoadError."""
        self._consumer = Consumer(client_config(endpoint, merge_settings(_LIVE, settings)))
        topics.await_topic(self._consumer, topic)
        ends = topics.ends(self._consumer, topic, topics.LOOK_UP_S)
        self._consumer.assign([TopicPartition(topic.name, number, end) for number, (_, end) in ends.items()])

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer.

        Waits for one message only and then takes what is there: a wait for a batch would stand in end-to-end.
        Errors that the client mends by itself (a leader moved, a broker is gone) are no messages.
        """
        first = poll(self._consumer, timeout_s)
        now = time.monotonic_ns()
        if first is None:
            return ()
        further_messages = consume(self._consumer, _BATCH, 0)
        later = time.monotonic_ns()
        batch = [convert_message(message, now) for message in sound([first])]
        batch += [convert_message(message, later) for message in sound(further_messages)]
        return batch

    def close(self) -> None:
        """See protocols.Consumer."""
        leave(self._consumer)


class GroupConsumer(KafkaConsumer):
    """See protocols.Consumer, with a group. Partitions are assigned; offsets are committed to the group."""

    def __init__(self, endpoint: str, topic: Topic, settings: Settings, group: str) -> None:
        """Connect where the group has got to; raises ClusterError or LoadError."""
        group_settings = {"group.id": group, "auto.offset.reset": "earliest"}
        self._consumer = Consumer(client_config(endpoint, merge_settings(_LIVE, settings) | group_settings))
        topics.await_topic(self._consumer, topic)
        self._topic = topic.name
        ends = topics.ends(self._consumer, topic, topics.LOOK_UP_S)
        partitions = [TopicPartition(topic.name, number) for number in ends]
        try:
            committed = self._consumer.committed(partitions, topics.LOOK_UP_S)
            self._next = {
                place.partition: place.offset if place.offset >= 0 else ends[place.partition][0]
                for place in committed
            }
            self._commit()
        except KafkaException as error:
            raise LoadError(f"The group {group} can't begin: {error.args[0].str()}.") from error
        self._consumer.assign(self._places())

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer."""
        batch = super().receive(timeout_s)
        for message in batch:
            self._next[message.partition] = message.entry + 1
        return batch

    def close(self) -> None:
        """See protocols.Consumer. Raises LoadError where the group's place could not be stored."""
        try:
            self._commit()
        except KafkaException as error:
            raise LoadError(f"The group's place can't be stored: {error.args[0].str()}.") from error
        finally:
            super().close()

    def _commit(self) -> None:
        """Store how far the group has got. Raises KafkaException."""
        for place in self._consumer.commit(offsets=self._places(), asynchronous=False):
            if place.error is not None:
                raise KafkaException(place.error)

    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(self._topic, number, offset) for number, offset in self._next.items()]


def sound(polled: Sequence[KafkaMessage]) -> Iterator[KafkaMessage]:
    """Give the messages of what was polled. Raises LoadError for an error that the client cannot mend by itself."""
    for message in polled:
        error = message.error()
        if error is None:
            yield message
        elif error.fatal() or error.name() == "TOPIC_AUTHORIZATION_FAILED":
            raise LoadError(f"The consumer can't go on: {error.name()}, {error.str()}")
