"""JetStream's producer and live consumer, through nats-py."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import DeliverPolicy

from bench.model import Outcome, Settings, Topic
from bench.systems.native_queue import Empty, SimpleQueue, first_of
from bench.systems.nats.connection import (
    CALL_S,
    CONNECT_S,
    RECONNECT,
    RECONNECT_S,
    EventLoop,
    client_loop,
    connect,
    repeat,
)
from bench.systems.nats.outcomes import is_refusal, name_of
from bench.systems.nats.settings import TIMEOUT, TIMEOUT_S
from bench.systems.nats.streams import names
from bench.systems.open_sends import OpenSends
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage, SendResult

_LATE_S = 5.0
"""The client tells of a send's end that much after its time-out at most."""
_BATCH = 2000
_PENDING_BYTES = 512 * 2**20
"""What may wait in the client's own queue of a subscription: above it nats-py drops messages."""


class NatsProducers:
    """See protocols.Producers. Each has a connection of its own; one thread runs all of them."""

    def __init__(self, endpoint: str, topic: Topic, settings: Settings, count: int) -> None:
        """Connect. Raises LoadError where no server answers."""
        self._settings: dict[str, Any] = {TIMEOUT: TIMEOUT_S, RECONNECT: RECONNECT_S, **settings}
        reconnect_s = float(self._settings[RECONNECT])
        with client_loop(f"Connecting a producer to {topic.name} at {endpoint}") as self._loop:
            self._connections = [
                self._loop.call(connect(endpoint, reconnect_s), CONNECT_S) for _ in range(count)
            ]
        self.clients = [
            NatsProducer(self._loop, connection, topic, number, float(self._settings[TIMEOUT]))
            for number, connection in enumerate(self._connections)
        ]

    def effective(self) -> Settings:
        """See protocols.Producers."""
        return dict(self._settings)

    def patience_s(self) -> float:
        """See protocols.Producers."""
        return float(self._settings[TIMEOUT]) + _LATE_S

    def close(self, timeout_s: float) -> None:
        """See protocols.Producers: what is still open then is unknown (CancelledError)."""
        deadline = time.monotonic() + timeout_s
        for producer in self.clients:
            producer.drain(deadline)
        with suppress(TimeoutError):
            self._loop.call(_close_connections(self._connections), CALL_S)
        self._loop.close()
        for producer in self.clients:
            producer.end_all()


class NatsProducer(OpenSends):
    """See protocols.Producer. Sends go to the partitions in turn; with keys, each key to that of its number."""

    __slots__ = ("_jetstream", "_loop", "_partitions", "_subjects", "_timeout_s")

    closed = "CancelledError"

    def __init__(
        self, loop: EventLoop, connection: Client, topic: Topic, number: int, timeout_s: float
    ) -> None:
        """Begin with another partition than the producers of other numbers."""
        super().__init__()
        self._loop = loop.loop
        self._jetstream = connection.jetstream()
        self._subjects = names(topic)
        self._partitions = itertools.cycle(_partitions(topic, number))
        self._timeout_s = timeout_s

    def send(self, payload: bytes, done: Callable[[SendResult], None]) -> None:
        """See protocols.Producer."""
        number = next(self._numbers)
        self._open[number] = done
        self._loop.call_soon_threadsafe(self._start, number, next(self._partitions), payload)

    def _start(self, number: int, partition: int, payload: bytes) -> None:
        publish = self._jetstream.publish(self._subjects[partition], payload, timeout=self._timeout_s)
        self._loop.create_task(publish).add_done_callback(
            lambda task: self._over.put((number, partition, task))
        )

    def _end(self, number: int, partition: int, task: asyncio.Task[Any]) -> None:
        self._open.pop(number)(_send_result(partition, task))


def _partitions(topic: Topic, number: int) -> list[int]:
    """Return the partitions of messages in turn: a key's is its number modulo the partitions."""
    if topic.keys:
        return [key % topic.partitions for key in range(topic.keys)]
    first = number % topic.partitions
    return [*range(first, topic.partitions), *range(first)]


def _send_result(partition: int, task: asyncio.Task[Any]) -> SendResult:
    error: BaseException | None = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is None:
        return SendResult(int(Outcome.OK), None, partition, NOT_GIVEN, task.result().seq, NOT_GIVEN)
    outcome = Outcome.FAIL if is_refusal(error) else Outcome.UNKNOWN
    return SendResult(int(outcome), name_of(error), partition, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)


async def _close_connections(connections: Sequence[Client]) -> None:
    """Close connections; what waits for an answer is told of it as cancelled."""
    await asyncio.gather(*(connection.close() for connection in connections), return_exceptions=True)


class Subscriptions:
    """Ordered consumers of all of a topic's streams, whose messages come into one queue.

    Such a consumer gives each message once, in order: where one is missing, or its server is gone, the client makes
    another that goes on behind the last one.
    """

    def __init__(
        self, endpoint: str, topic: Topic, policy: DeliverPolicy, doing: str, gone: Collection[int] = ()
    ) -> None:
        """Connect and subscribe, but to no partition whose stream is `gone`. Raises LoadError.

        Streams that do not answer are asked again for half a minute: their servers may just be back.
        """
        self._messages: SimpleQueue[ReceivedMessage] = SimpleQueue()
        with client_loop(doing) as self.loop:
            self._connection = self.loop.call(connect(endpoint), CONNECT_S)
            self.jetstream = self._connection.jetstream()
            self.loop.call(self._subscribe(self.jetstream, topic, policy, gone), 2 * CONNECT_S)

    async def _subscribe(
        self, jetstream: JetStreamContext, topic: Topic, policy: DeliverPolicy, gone: Collection[int]
    ) -> None:
        for partition, name in enumerate(names(topic)):
            if partition in gone:
                continue
            subscribe = partial(
                jetstream.subscribe,
                name,
                stream=name,
                cb=self._taker(partition),
                ordered_consumer=True,
                deliver_policy=policy,
                pending_msgs_limit=-1,
                pending_bytes_limit=_PENDING_BYTES,
            )
            await repeat(subscribe)

    def _taker(self, partition: int) -> Callable[[Msg], Any]:
        put, nowhere = self._messages.put, NOT_GIVEN

        async def take(message: Msg) -> None:
            now = time.monotonic_ns()
            put(ReceivedMessage(message.data, now, partition, nowhere, sequence(message), nowhere))

        return take

    def receive(self, timeout_s: float) -> list[ReceivedMessage]:
        """Return what has come; wait for the first at most so long."""
        try:
            first = first_of(self._messages, timeout_s)
        except Empty:
            return []
        return [first, *_waiting_messages(self._messages)]

    def close(self) -> None:
        """Leave; the servers drop consumers that nobody asks for."""
        with suppress(TimeoutError):
            self.loop.call(_close_connections([self._connection]), CALL_S)
        self.loop.close()


def _waiting_messages(queue: SimpleQueue[ReceivedMessage]) -> Iterator[ReceivedMessage]:
    for _ in range(min(queue.qsize(), _BATCH)):
        yield queue.get_nowait()


def sequence(message: Msg) -> int:
    """Return a message's place in its stream."""
    return int(message.metadata.sequence.stream)


class NatsConsumer:
    """See protocols.Consumer."""

    def __init__(self, endpoint: str, topic: Topic) -> None:
        """Subscribe at the end of every stream."""
        self._subscriptions = Subscriptions(
            endpoint, topic, DeliverPolicy.NEW, f"Connecting a consumer of {topic.name}"
        )

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer."""
        return self._subscriptions.receive(timeout_s)

    def close(self) -> None:
        """See protocols.Consumer."""
        self._subscriptions.close()
