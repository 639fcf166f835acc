"""Against a stand-in for the C++ client; a real cluster: tests/contract."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Thread
from typing import Any

import pulsar
import pytest

from bench.errors import LoadError
from bench.model import Outcome, Topic
from bench.systems.native_queue import Empty, SimpleQueue, first_of
from bench.systems.protocols import NOT_GIVEN, Producer, ReceivedMessage, SendResult
from bench.systems.pulsar import client, full_read
from bench.systems.pulsar.client import PulsarConsumer, PulsarProducers

TOPIC = Topic("t", 2)


def at(partition: int, entry: int) -> Any:
    return pulsar.MessageId(partition, 7, entry, -1)


class Message:
    def __init__(self, partition: int, entry: int) -> None:
        self._where = (partition, entry)

    def data(self) -> bytes:
        return b"%d" % self._where[1]

    def message_id(self) -> Any:
        return at(*self._where)


class StandIn:
    """A client, and all that it makes. `ack` is what its own thread would call; `stored` is what readers find."""

    def __init__(self) -> None:
        self.acks: list[Callable[[Any, Any], None]] = []
        self.given: dict[str, Any] = {}
        self.names: list[Any] = []
        self.refuse: Exception | None = None
        self.stored: dict[int, list[Message]] = {0: [], 1: []}
        self.waits: list[int] = []
        self.acknowledged: list[tuple[int, int]] = []
        self.has_more = False
        self._client = self

    def create_producer(self, _: str, **given: Any) -> "StandIn":
        self.given = given
        self.names.append(given.get("producer_name"))
        return self

    def send(self, _: bytes) -> Any:
        if self.refuse:
            raise self.refuse
        return at(1, 5)

    def send_async(self, _: bytes, ack: Callable[[Any, Any], None]) -> None:
        if self.refuse:
            raise self.refuse
        self.acks.append(ack)

    def subscribe(self, _: str, **given: Any) -> "StandIn":
        self.given = given
        return self

    def receive(self, wait_ms: int) -> Message:
        self.waits.append(wait_ms)
        if not self.stored[0]:
            raise pulsar.Timeout
        return self.stored[0].pop(0)

    def acknowledge_cumulative(self, message: Message) -> None:
        place = message.message_id()
        self.acknowledged.append((place.partition(), place.entry_id()))

    def create_reader(self, name: str, *_: object, **__: object) -> "Reader":
        if self.refuse:
            raise self.refuse
        return Reader(self, int(name[-1]))

    def close_async(self, over: Callable[[Any], None]) -> None:
        for ack in self.acks:
            ack(pulsar.Result.AlreadyClosed, at(-1, -1))
        over(pulsar.Result.Ok)


class Reader:
    def __init__(self, owner: StandIn, partition: int) -> None:
        self._owner = owner
        self._stored = owner.stored[partition]

    def read_next(self, _: int) -> Message:
        if not self._stored:
            raise pulsar.Timeout
        return self._stored.pop(0)

    def has_message_available(self) -> bool:
        return bool(self._stored) or self._owner.has_more


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    one = StandIn()
    monkeypatch.setattr(client, "connect", lambda *_: one)
    monkeypatch.setattr(full_read, "connect", lambda *_: one)
    return one


@pytest.fixture
def producers(stand_in: StandIn) -> PulsarProducers:
    return PulsarProducers("pulsar://x", TOPIC, {}, 1, 3)


@pytest.fixture
def producer(producers: PulsarProducers) -> Producer:
    return producers.clients[0]


def test_a_send_ends_in_the_poll_after_its_ack(producer: Producer, stand_in: StandIn) -> None:
    ends: list[SendResult] = []
    producer.send(b"x", ends.append)

    producer.poll(0)
    before = list(ends)
    stand_in.acks.pop()(pulsar.Result.Ok, at(1, 5))
    after_ack = list(ends)
    producer.poll(0)

    assert before == after_ack == []
    assert ends == [SendResult(Outcome.OK, None, 1, 7, 5, NOT_GIVEN)]


def test_acks_come_in_any_order_and_find_their_send(producer: Producer, stand_in: StandIn) -> None:
    ends: list[tuple[str, int]] = []
    producer.send(b"a", lambda done: ends.append(("a", done.entry)))
    producer.send(b"b", lambda done: ends.append(("b", done.entry)))

    stand_in.acks[1](pulsar.Result.Ok, at(0, 2))
    stand_in.acks[0](pulsar.Result.Ok, at(0, 1))
    producer.poll(0)

    assert ends == [("b", 2), ("a", 1)]


def test_a_poll_ends_as_soon_as_another_thread_tells_of_an_ack(producer: Producer, stand_in: StandIn) -> None:
    ends: list[SendResult] = []
    producer.send(b"x", ends.append)
    thread = Thread(target=lambda: stand_in.acks[0](pulsar.Result.Ok, at(0, 1)))

    begun = time.monotonic()
    thread.start()
    producer.poll(20)
    thread.join()

    assert len(ends) == 1
    assert time.monotonic() - begun < 10


def test_a_done_that_sends_does_not_keep_the_poll_going(producer: Producer, stand_in: StandIn) -> None:
    stand_in.refuse = pulsar.ProducerQueueIsFull()
    ends: list[SendResult] = []

    def again(done: SendResult) -> None:
        ends.append(done)
        producer.send(b"x", again)

    producer.send(b"x", again)
    producer.poll(0)

    assert len(ends) == 1


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (pulsar.Result.MessageTooBig, Outcome.FAIL),
        (pulsar.Result.TopicTerminated, Outcome.FAIL),
        (pulsar.Result.Timeout, Outcome.UNKNOWN),
        (pulsar.Result.ProducerFenced, Outcome.UNKNOWN),
        (pulsar.Result.BrokerPersistenceError, Outcome.UNKNOWN),
        (pulsar.Result.UnknownError, Outcome.UNKNOWN),
    ],
)
def test_only_a_certain_refusal_is_a_failure(
    producer: Producer, stand_in: StandIn, result: Any, outcome: Outcome
) -> None:
    ends: list[SendResult] = []
    producer.send(b"x", ends.append)

    stand_in.acks[0](result, at(-1, -1))
    producer.poll(0)

    assert ends == [SendResult(outcome, result.name, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)]


def test_a_refusal_at_once_also_ends_in_a_poll(producer: Producer, stand_in: StandIn) -> None:
    stand_in.refuse = pulsar.ProducerQueueIsFull()
    ends: list[SendResult] = []

    producer.send(b"x", ends.append)
    before = list(ends)
    producer.poll(0)

    assert before == []
    assert (ends[0].outcome, ends[0].error) == (Outcome.FAIL, "ProducerQueueIsFull")


def test_what_is_open_at_the_close_is_unknown(producers: PulsarProducers) -> None:
    ends: list[SendResult] = []
    producers.clients[0].send(b"x", ends.append)

    producers.close(0)

    assert [(done.outcome, done.error) for done in ends] == [(Outcome.UNKNOWN, "AlreadyClosed")]


def test_the_clients_queues_hold_a_large_window(stand_in: StandIn) -> None:
    PulsarProducers("pulsar://x", TOPIC, {}, 1, 10_000)

    assert stand_in.given == {
        "max_pending_messages": 10_000,
        "max_pending_messages_across_partitions": 20_000,
    }


def test_a_sync_send_ends_in_its_own_call(stand_in: StandIn) -> None:
    (producer,) = PulsarProducers("pulsar://x", TOPIC, {}, 1, 1).clients
    ends: list[SendResult] = []

    producer.send(b"x", ends.append)
    stand_in.refuse = pulsar.Timeout()
    producer.send(b"x", ends.append)
    stand_in.refuse = pulsar.MessageTooBig()
    producer.send(b"x", ends.append)

    assert ends[0] == SendResult(Outcome.OK, None, 1, 7, 5, NOT_GIVEN)
    assert [(done.outcome, done.error) for done in ends[1:]] == [
        (Outcome.UNKNOWN, "Timeout"),
        (Outcome.FAIL, "MessageTooBig"),
    ]


def test_each_producer_has_a_name_of_its_own(stand_in: StandIn) -> None:
    PulsarProducers("pulsar://x", TOPIC, {"producer_name": "p"}, 3, 1)

    assert stand_in.names == ["p-0", "p-1", "p-2"]


def test_queues_that_the_case_sets_are_left_alone(stand_in: StandIn) -> None:
    PulsarProducers("pulsar://x", TOPIC, {"max_pending_messages_across_partitions": 50}, 1, 3000)

    assert stand_in.given == {"max_pending_messages_across_partitions": 50}


def test_who_cannot_connect_says_why(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise pulsar.ConnectError("no route")

    monkeypatch.setattr(stand_in, "create_producer", refuse)

    with pytest.raises(
        LoadError, match=r"Connecting a producer to t at pulsar://x: ConnectError \(no route\)"
    ):
        PulsarProducers("pulsar://x", TOPIC, {}, 1, 1)


def test_a_consumer_waits_for_the_first_message_only(stand_in: StandIn) -> None:
    stand_in.stored[0] = [Message(0, 1), Message(1, 2)]

    received = PulsarConsumer("pulsar://x", TOPIC, {}).receive(0.1234)

    assert [(one.payload, one.partition, one.entry) for one in received] == [(b"1", 0, 1), (b"2", 1, 2)]
    assert stand_in.waits == [124, 0, 0]
    assert stand_in.acknowledged == []


def test_what_has_come_is_settled_now_and_then_by_the_last_of_each_partition(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = PulsarConsumer("pulsar://x", TOPIC, {})
    stand_in.stored[0] = [Message(0, 1), Message(1, 2)]
    consumer.receive(0)
    stand_in.stored[0] = [Message(0, 3)]
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + client._SETTLE_S)

    consumer.receive(0)
    consumer.receive(0)

    assert stand_in.acknowledged == [(0, 3), (1, 2)]


def test_messages_are_kept_where_they_cannot_be_acknowledged(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Message) -> None:
        raise pulsar.NotConnected

    monkeypatch.setattr(client, "_SETTLE_S", 0.0)
    monkeypatch.setattr(stand_in, "acknowledge_cumulative", refuse)
    stand_in.stored[0] = [Message(0, 1)]

    assert len(PulsarConsumer("pulsar://x", TOPIC, {}).receive(0)) == 1


def read_all(deadline_s: float = 5.0, expected: int = 0) -> Iterator[list[ReceivedMessage]]:
    return (list(batch) for batch in full_read.read_all("pulsar://x", TOPIC, {}, deadline_s, expected))


def test_a_full_read_returns_every_partition_to_its_end(stand_in: StandIn) -> None:
    stand_in.stored = {0: [Message(0, 1), Message(0, 2)], 1: [Message(1, 3)]}

    found = [(one.partition, one.entry) for batch in read_all() for one in batch]

    assert found == [(0, 1), (0, 2), (1, 3)]


def test_what_comes_after_the_end_was_reached_is_read_too(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.stored = {0: [Message(0, 1)], 1: []}
    late = [Message(1, 9)]

    def sleep(seconds: float) -> None:
        if late and seconds == full_read._SURE_S:
            stand_in.stored[1].append(late.pop())

    monkeypatch.setattr(time, "sleep", sleep)

    assert [one.entry for batch in read_all() for one in batch] == [1, 9]


def test_while_messages_are_missing_more_is_waited_for_at_the_end(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.stored = {0: [Message(0, 1)], 1: []}
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if looks.count(full_read._SURE_S) == 3 and seconds == full_read._SURE_S:
            stand_in.stored[1].append(Message(1, 9))

    monkeypatch.setattr(time, "sleep", sleep)

    assert [one.entry for batch in read_all(expected=2) for one in batch] == [1, 9]


def test_what_never_comes_ends_a_full_read_all_the_same(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.systems.missing_messages.ARRIVAL_WAIT_S", 0.2)
    stand_in.stored = {0: [Message(0, 1)], 1: []}

    assert [one.entry for batch in read_all(expected=2) for one in batch] == [1]


def test_what_the_client_reads_again_is_returned_once(stand_in: StandIn) -> None:
    stand_in.stored = {0: [Message(0, entry) for entry in (1, 2, 1, 2, 3)], 1: []}

    assert [one.entry for batch in read_all() for one in batch] == [1, 2, 3]


def test_a_partition_that_does_not_go_on_is_named_with_its_position(stand_in: StandIn) -> None:
    stand_in.stored = {0: [Message(0, 4)], 1: []}
    stand_in.has_more = True

    expected = "partition 0 was read to ledger 7, entry 4, nothing of partition 1 was read"
    with pytest.raises(LoadError, match=expected):
        list(read_all(deadline_s=0.05))


def test_a_partition_that_cannot_be_reached_is_named_with_the_reason(stand_in: StandIn) -> None:
    stand_in.refuse = pulsar.ConnectError()

    with pytest.raises(LoadError, match=r"nothing of partition 0 was read \(connecting: ConnectError\)"):
        list(read_all(deadline_s=0.02))


def test_a_wait_of_next_to_nothing_ends() -> None:
    queue: SimpleQueue[int] = SimpleQueue()

    for _ in range(200):
        queue.put(1)
        assert first_of(queue, 1e-6) == 1
        with suppress(Empty):
            first_of(queue, 1e-6)
