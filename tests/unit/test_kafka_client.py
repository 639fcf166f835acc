"""Against the brokers that librdkafka carries for tests; real ones: tests/contract."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

from bench.errors import ClusterError, LoadError
from bench.model import Outcome, Settings, Topic
from bench.systems.kafka.client import KafkaConsumer, KafkaProducers
from bench.systems.kafka.full_read import read_all
from bench.systems.kafka.outcomes import certain_refusals
from bench.systems.kafka.settings import client_properties
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage, SendResult

TOPIC = Topic("t", 4)  # the test brokers make every topic with 4 partitions


@pytest.fixture
def brokers() -> Iterator[confluent_kafka.Producer]:
    holder = confluent_kafka.Producer({"test.mock.num.brokers": 2, "log_level": 0})
    yield holder
    holder.close()


@pytest.fixture
def endpoint(brokers: confluent_kafka.Producer) -> str:
    metadata = brokers.list_topics(TOPIC.name, timeout=10)
    return ",".join(f"{broker.host}:{broker.port}" for broker in metadata.brokers.values())


def send(producers: KafkaProducers, *payloads: bytes) -> list[SendResult]:
    (producer,) = producers.clients
    over: list[SendResult] = []
    for payload in payloads:
        producer.send(payload, over.append)
    deadline = time.monotonic() + 30
    while len(over) < len(payloads) and time.monotonic() < deadline:
        producer.poll(1.0)
    return over


def test_sends_take_partitions_in_turn_and_end_with_their_offset(endpoint: str) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=8)

    over = send(producers, *(b"%d" % number for number in range(8)))

    assert {done.outcome for done in over} == {Outcome.OK}
    assert sorted((done.partition, done.entry) for done in over) == [(p, o) for p in range(4) for o in (0, 1)]
    assert {(done.error, done.ledger, done.batch_index) for done in over} == {(None, NOT_GIVEN, NOT_GIVEN)}
    producers.close(5)


def test_without_acks_there_is_no_offset(endpoint: str) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {"acks": 0}, count=1, window=1)

    assert send(producers, b"x") == [SendResult(Outcome.OK, None, 0, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)]
    producers.close(5)


def test_what_the_client_refuses_at_once_ends_in_a_later_poll(endpoint: str) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=1)
    over: list[SendResult] = []

    producers.clients[0].send(bytes(2_000_000), over.append)
    assert over == []
    producers.clients[0].poll(0)

    assert over == [SendResult(Outcome.FAIL, "MSG_SIZE_TOO_LARGE", 0, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)]
    producers.close(5)


def test_a_full_queue_is_a_refusal(endpoint: str) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {"queue.buffering.max.messages": 1}, count=1, window=9)

    over = send(producers, b"first", b"second")

    assert sorted((done.outcome, done.error) for done in over if done.error) == [
        (Outcome.FAIL, "_QUEUE_FULL")
    ]
    producers.close(5)


def test_a_wait_ends_with_the_first_send_that_is_over(endpoint: str) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=1)
    over: list[SendResult] = []
    begun = time.monotonic()

    producers.clients[0].send(b"x", over.append)
    producers.clients[0].poll(60.0)

    assert len(over) == 1
    assert time.monotonic() - begun < 30
    producers.close(5)


def test_closing_ends_every_open_send_as_unknown(brokers: confluent_kafka.Producer, endpoint: str) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {"linger.ms": 60_000}, count=1, window=2)
    over: list[SendResult] = []
    producers.clients[0].send(b"one", over.append)
    producers.clients[0].send(b"two", over.append)

    brokers.close()  # else closing sends them, and now and then they are acknowledged in time
    producers.close(0)

    assert [done.outcome for done in over] == [Outcome.UNKNOWN] * 2


def test_effective_settings_hold_what_was_set_and_the_defaults_that_matter(endpoint: str) -> None:
    producers = KafkaProducers(
        endpoint,
        TOPIC,
        {"acks": 1, "queue.buffering.max.ms": 3, "sasl.password": "x"},
        count=1,
        window=200_000,
    )

    told = producers.effective()

    assert (told["acks"], told["queue.buffering.max.ms"], told["retries"]) == (1, 3, "2147483647")
    assert told["queue.buffering.max.messages"] == 200_000
    assert "linger.ms" not in told
    assert not any("password" in name for name in told)
    producers.close(5)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the client library itself is given, by producer."""
    seen: list[dict[str, Any]] = []

    def make(config: dict[str, Any]) -> confluent_kafka.Producer:
        seen.append(config)
        return confluent_kafka.Producer(config)

    monkeypatch.setattr("bench.systems.kafka.client.Producer", make)
    return seen


def test_a_producer_with_one_send_in_flight_waits_for_all_copies_and_never_lingers(
    endpoint: str, given: list[dict[str, Any]]
) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=1)

    names = ("acks", "linger.ms", "enable.idempotence")
    told = producers.effective()
    assert [told[name] for name in names] == ["all", 0, False]
    assert [given[0][name] for name in names] == ["all", "0", "false"]
    producers.close(5)


def test_with_more_in_flight_the_clients_own_linger_lets_sends_share_requests(
    endpoint: str, given: list[dict[str, Any]]
) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=2)

    told = producers.effective()
    assert (told["acks"], told["linger.ms"]) == ("all", client_properties()["linger.ms"].default)
    assert told["linger.ms"] != "0"
    assert "linger.ms" not in given[0]
    producers.close(5)


def test_idempotence_lowers_what_may_be_in_flight(endpoint: str) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {"enable.idempotence": True}, count=1, window=1)

    assert producers.effective()["max.in.flight"] == 5
    producers.close(5)


@pytest.mark.parametrize(
    ("producer", "error", "certain"),
    [
        ({}, "MSG_SIZE_TOO_LARGE", True),
        ({}, "NOT_ENOUGH_REPLICAS", False),
        ({"retries": 3}, "NOT_ENOUGH_REPLICAS", False),
        ({"retries": 0}, "NOT_ENOUGH_REPLICAS", True),
        ({"message.send.max.retries": 0}, "NOT_ENOUGH_REPLICAS", True),
        ({"retries": 0}, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", False),
        ({"retries": 0}, "REQUEST_TIMED_OUT", False),
        ({"retries": 0}, "_MSG_TIMED_OUT", False),
        ({"retries": 0}, "_PURGE_INFLIGHT", False),
        ({"retries": 0}, "NETWORK_EXCEPTION", False),
    ],
)
def test_a_refusal_is_certain_only_where_no_attempt_can_have_been_written(
    producer: Settings, error: str, certain: bool
) -> None:
    assert (error in certain_refusals(producer)) is certain


def test_every_certain_error_is_one_that_the_client_knows() -> None:
    known = {confluent_kafka.KafkaError(code).name() for code in range(-200, 200)}

    assert certain_refusals({"retries": 0}) <= known


def test_a_live_consumer_sees_what_is_sent_after_it_was_made(endpoint: str) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=1)
    send(producers, b"before")
    consumer = KafkaConsumer(endpoint, TOPIC, {})

    sent_ns = time.monotonic_ns()
    send(producers, *(b"%d" % number for number in range(100)))
    got: list[ReceivedMessage] = []
    deadline = time.monotonic() + 30
    while len(got) < 100 and time.monotonic() < deadline:
        got += consumer.receive(1.0)

    assert sorted(int(one.payload) for one in got) == list(range(100))
    assert all(one.received_ns >= sent_ns for one in got)
    consumer.close()
    producers.close(5)


def test_receiving_nothing_takes_no_longer_than_asked(endpoint: str) -> None:
    consumer = KafkaConsumer(endpoint, TOPIC, {})

    assert consumer.receive(0.01) == ()
    consumer.close()


def test_a_full_read_returns_everything_with_its_place(endpoint: str) -> None:
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=1000)
    over = send(producers, *(b"%d" % number for number in range(1000)))

    read = [
        one for batch in read_all(endpoint, TOPIC, {"fetch.min.bytes": 10**6}, 30.0, 1000) for one in batch
    ]

    assert sorted(int(one.payload) for one in read) == list(range(1000))
    assert {(one.partition, one.entry) for one in read} == {(done.partition, done.entry) for done in over}
    producers.close(5)


def test_a_full_read_goes_as_far_as_it_can_where_no_end_is_told(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader whose high watermark is behind tells no end, and hands out what is below it."""
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=1000)
    send(producers, *(b"%d" % number for number in range(1000)))
    monkeypatch.setattr("bench.systems.kafka.topics.bounds", lambda *_: "not caught up")
    read: list[int] = []

    def all_there_is() -> None:
        for batch in read_all(endpoint, TOPIC, {}, 1.0, 0):
            read.extend(int(one.payload) for one in batch)

    with pytest.raises(LoadError, match=r"its leader did not tell its end \(not caught up\)"):
        all_there_is()

    assert sorted(read) == list(range(1000))
    producers.close(5)


def test_a_full_read_of_an_empty_topic_ends(endpoint: str) -> None:
    assert list(read_all(endpoint, TOPIC, {}, 30.0, 0)) == []


def test_what_can_be_read_only_once_the_end_was_told_is_read_too(endpoint: str) -> None:
    """As where a follower in sync still copies what acks=1 has acknowledged."""
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=1000)
    send(producers, *(b"%d" % number for number in range(10)))
    later = threading.Timer(1.0, send, (producers, *(b"%d" % number for number in range(10, 20))))
    later.start()

    read = [one for batch in read_all(endpoint, TOPIC, {}, 30.0, 20) for one in batch]

    assert sorted(int(one.payload) for one in read) == list(range(20))
    later.join()
    producers.close(5)


def test_what_never_comes_ends_a_full_read_all_the_same(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.systems.missing_messages.ARRIVAL_WAIT_S", 0.7)
    producers = KafkaProducers(endpoint, TOPIC, {}, count=1, window=1000)
    send(producers, b"1", b"2")

    read = [one for batch in read_all(endpoint, TOPIC, {}, 30.0, 3) for one in batch]

    assert sorted(int(one.payload) for one in read) == [1, 2]
    producers.close(5)


def test_a_topic_with_other_partitions_than_asked_for_is_no_topic_to_measure(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.systems.kafka.topics.LOOK_UP_S", 0.2)

    with pytest.raises(ClusterError, match="it has 4 partitions, not 5"):
        KafkaProducers(endpoint, Topic("t", 5), {}, count=1, window=1)


def test_a_full_read_without_brokers_names_the_partition() -> None:
    with pytest.raises(
        LoadError, match="partition 0 was read to offset 0, and its leader did not tell its end"
    ):
        list(read_all("127.0.0.1:1", TOPIC, {"log_level": 0}, 0.2, 0))
