"""Pulsar's producer and live consumer, through the C++ client and its Python binding."""

from __future__ import annotations

import itertools
import math
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pulsar

from bench.errors import LoadError
from bench.model import Outcome, Scalar, Settings, Topic
from bench.systems.endpoint import parse
from bench.systems.open_sends import OpenSends
from bench.systems.protocols import NOT_GIVEN, Producer, ReceivedMessage, SendResult
from bench.systems.pulsar import arguments, topics
from bench.systems.pulsar.arguments import ClientKind
from bench.systems.pulsar.connection import attempt, connect, disconnect
from bench.systems.pulsar.outcomes import CERTAIN_REFUSALS
from bench.systems.pulsar.records import convert_message, position
from bench.systems.pulsar.router import FewestOpen

_OK = int(Outcome.OK)
_OK_VALUE = pulsar.Result.Ok.value
_new = tuple.__new__
_CLOSE_S = 2.0
_SETTLE_S = 5.0
_LATE_S = 5.0
"""The client tells of a send's end that much after its time-out at most (measured: 0.2 s)."""
_ROOMY = 500
"""Windows up to this fit into the client's default queues, on up to 100 partitions."""
_BATCH = 2000
_NOWHERE = (NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)


class PulsarProducers:
    """See protocols.Producers. They share one client and its connections, as an application's producers do.

    A connection carries the requests of all its producers at a time: nobody waits there for somebody else's.
    """

    def __init__(self, endpoint: str, topic: Topic, settings: Settings, count: int, window: int) -> None:
        """Connect to the owner of every partition. Raises LoadError when one can't be reached."""
        self._settings = _with_keys({**_queues(window, topic.partitions, settings), **settings}, topic)
        doing = f"Connecting a producer to {topic.name} at {parse(endpoint).display_address}"
        self._client = attempt(doing, lambda: connect(endpoint, self._settings))
        create = partial(self._client.create_producer, topics.full_name(topic))
        arguments_of_producers = _arguments(self._settings, count)
        routers = [
            FewestOpen(topic.partitions) if producer_arguments.pop(arguments.ROUTER, None) else None
            for producer_arguments in arguments_of_producers
        ]
        made = [
            attempt(
                doing, partial(create, **producer_arguments, **({arguments.ROUTER: router} if router else {}))
            )
            for producer_arguments, router in zip(arguments_of_producers, routers, strict=True)
        ]
        self._windows = [
            WindowedProducer(producer, router, topic.keys)
            for producer, router in zip(made, routers, strict=True)
            if window > 1
        ]
        self.clients: Sequence[Producer] = self._windows or [
            SyncProducer(producer, topic.keys) for producer in made
        ]

    def effective(self) -> Settings:
        """See protocols.Producers: what was set, and the client's defaults; it can't be asked itself."""
        return arguments.in_force(ClientKind.PRODUCER, self._settings)

    def patience_s(self) -> float:
        """See protocols.Producers."""
        return float(self.effective()["send_timeout_millis"] or math.inf) / 1000 + _LATE_S

    def close(self, timeout_s: float) -> None:
        """See protocols.Producers. Waits for acks first; what is still open then is unknown: AlreadyClosed."""
        deadline = time.monotonic() + timeout_s
        for producer in self._windows:
            producer.drain(deadline)
        disconnect(self._client, max(_CLOSE_S, deadline - time.monotonic()))
        for producer in self._windows:
            producer.end_all()


def _with_keys(settings: Settings, topic: Topic) -> Settings:
    """Let batches hold messages of one key each, where messages have keys: so a subscription can deal keys out."""
    if not topic.keys or "batching_type" in settings:
        return settings
    return {**settings, "batching_type": "KeyBased"}


def _keyed_send(send: Callable[..., Any], keys: int) -> Callable[..., Any]:
    """Give each message that is sent its key, in turn; without keys the client's own call."""
    if not keys:
        return send
    names = itertools.cycle([str(key) for key in range(keys)])

    def send_with_key(*message: Any) -> Any:  # noqa: ANN401 - the client's own
        return send(*message, partition_key=next(names))

    return send_with_key


def _arguments(settings: Settings, count: int) -> list[dict[str, Any]]:
    """Give each producer its arguments; a topic has each name once."""
    common_arguments = arguments.of_kind(ClientKind.PRODUCER, settings)
    name = common_arguments.get("producer_name")
    if name is None or count == 1:
        return [dict(common_arguments) for _ in range(count)]
    return [{**common_arguments, "producer_name": f"{name}-{number}"} for number in range(count)]


class SyncProducer:
    """See protocols.Producer. One send at a time, in the client's own blocking call.

    That call waits without the interpreter lock. With `send_async` the client's only network thread has to take
    that lock for each acknowledgement, and keeps everybody waiting meanwhile (measured: 0.6 of the throughput at
    100 producers).
    """

    __slots__ = ("_send",)

    def __init__(self, producer: Any, keys: int = 0) -> None:  # noqa: ANN401 - pulsar has no types
        """Send through this producer of the client, with so many keys in turn."""
        self._send = _keyed_send(producer.send, keys)

    def send(self, payload: bytes, done: Callable[[SendResult], None]) -> None:
        """See protocols.Producer."""
        try:
            place = self._send(payload)
        except pulsar.PulsarException as error:
            done(_not_ok(type(error).__name__))
        else:
            done(_new(SendResult, (_OK, None, *position(place))))

    def poll(self, timeout_s: float) -> None:
        """See protocols.Producer: there is never anything to wait for."""


class WindowedProducer(OpenSends):
    """See protocols.Producer. Without batching, sends go to the partitions in turn (the client's default).

    The client's thread has to take the interpreter lock to tell how a send ended.
    """

    __slots__ = ("_put", "_router", "_send")

    closed = "AlreadyClosed"

    def __init__(self, producer: Any, router: FewestOpen | None = None, keys: int = 0) -> None:  # noqa: ANN401 - pulsar has no types
        """Send through this producer of the client, with so many keys in turn; it was made with `router`."""
        super().__init__()
        self._router = router
        self._put = self._over.put
        self._send = _keyed_send(producer.send_async, keys)

    def send(self, payload: bytes, done: Callable[[SendResult], None]) -> None:
        """See protocols.Producer."""
        number = next(self._numbers)
        put = self._put
        self._open[number] = done
        try:
            self._send(payload, lambda result, message_id: put((number, result, message_id)))
        except pulsar.PulsarException as error:
            put((number, type(error), None))
        if self._router is not None:
            self._open[number] = self._router.track_send(done)

    def _end(self, number: int, result: Any, message_id: Any) -> None:  # noqa: ANN401 - pulsar has no types
        """Take the client's Result and MessageId; or what it raised at once, and None."""
        done = self._open.pop(number, None)
        if done is not None:
            done(_send_result(result, message_id))


def _queues(window: int, partitions: int, settings: Settings) -> dict[str, Scalar]:
    """Make room for a large window in any one partition, unless the case says something about the queues.

    The client gives each partition the smaller of the first and an equal part of the second.
    """
    partition_limit, total_limit = "max_pending_messages", "max_pending_messages_across_partitions"
    if window <= _ROOMY or partition_limit in settings or total_limit in settings:
        return {}
    return {partition_limit: window, total_limit: window * partitions}


def _send_result(result: Any, message_id: Any) -> SendResult:  # noqa: ANN401 - pulsar has no types
    """Say how a send ended; runs once a message, hence the value (comparing results takes four times as long)."""
    if message_id is None:
        name = result.__name__
    elif result.value == _OK_VALUE:
        return _new(SendResult, (_OK, None, *position(message_id)))
    else:
        name = result.name
    return _not_ok(name)


def _not_ok(name: str) -> SendResult:
    outcome = Outcome.FAIL if name in CERTAIN_REFUSALS else Outcome.UNKNOWN
    return SendResult(int(outcome), name, *_NOWHERE)


class PulsarConsumer:
    """See protocols.Consumer. Without a group each has a subscription of its own, from the end of every partition."""

    def __init__(self, endpoint: str, topic: Topic, settings: Settings, group: str = "") -> None:
        """Subscribe; messages sent from now on are seen. Raises LoadError when a partition can't be reached."""
        doing = f"Connecting a consumer to {topic.name} at {parse(endpoint).display_address}"
        subscription_arguments = {
            "subscription_name": group or f"bench-live-{uuid.uuid4().hex[:8]}",
            **arguments.of_kind(ClientKind.CONSUMER, settings),
        }
        if group:
            subscription_arguments["initial_position"] = pulsar.InitialPosition.Earliest
        self._keeps_place = bool(group)
        self._client = attempt(doing, lambda: connect(endpoint, settings))
        self._consumer = attempt(
            doing, lambda: self._client.subscribe(topics.full_name(topic), **subscription_arguments)
        )
        self._last: dict[int, Any] = {}
        self._settle_at = time.monotonic() + _SETTLE_S

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer.

        Through the client's own wait: a listener would take the interpreter lock for every message in another
        thread, and costs a third more.
        """
        receive, clock = self._consumer.receive, time.monotonic_ns
        wait_ms = math.ceil(timeout_s * 1000)
        batch: list[ReceivedMessage] = []
        try:
            while len(batch) < _BATCH:
                message = receive(wait_ms)
                received_message = convert_message(message, clock())
                batch.append(received_message)
                self._last[received_message.partition] = message
                wait_ms = 0
        except pulsar.Timeout:
            pass
        except pulsar.PulsarException as error:
            raise LoadError(f"The consumer can't go on: {type(error).__name__} ({error}).") from error
        if time.monotonic() >= self._settle_at:
            self._settle()
        return batch

    def _settle(self) -> None:
        """Acknowledge what has come; what can't be now, for want of a connection, comes again.

        Each time brokers write it to bookies. So it is not done for each message, but as often as Kafka's consumers
        commit automatically. A test's Kafka consumer keeps its place to itself.
        """
        self._settle_at = time.monotonic() + _SETTLE_S
        with suppress(pulsar.PulsarException):
            for message in self._last.values():
                self._consumer.acknowledge_cumulative(message)
        if not self._keeps_place:
            self._last.clear()

    def close(self) -> None:
        """See protocols.Consumer. Its subscription stays; one without a group goes with the topic."""
        try:
            if self._keeps_place:
                self._store_place()
        finally:
            disconnect(self._client, _CLOSE_S)

    def _store_place(self) -> None:
        """Acknowledge all that has come. Raises LoadError."""
        try:
            for message in self._last.values():
                self._consumer.acknowledge_cumulative(message)
        except pulsar.PulsarException as error:
            raise LoadError(f"The subscription's place can't be stored: {type(error).__name__}.") from error
