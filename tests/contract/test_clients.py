"""What every system's clients do alike (bench/systems/protocols.py), written once."""

import json
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

import httpx
import pytest

from bench.errors import ClusterError, LoadError, TopicExistsError
from bench.load.processor import Process, write
from bench.model import Cluster, Outcome, Settings, Topic
from bench.systems.endpoint import Endpoint as ExternalEndpoint
from bench.systems.external_access import ExternalAccess
from bench.systems.layout import partition_layout
from bench.systems.memory import members as memory_members
from bench.systems.protocols import (
    NOT_GIVEN,
    Admin,
    Consumer,
    CopyCounter,
    Parts,
    Producer,
    Producers,
    ReceivedMessage,
    SendResult,
    System,
)
from bench.systems.pulsar import client as pulsar_client
from bench.systems.pulsar.group_types import KEY_SHARED
from bench.systems.pulsar.topics import TTL
from bench.systems.registry import describe
from bench.systems.server_metrics import COUNTERS, GAUGES, Scrape
from bench.telemetry.scraping import MetricsScraper

DEADLINE_S = 60.0
GROUP_TYPES = {
    "memory": memory_members.TYPES,
    "kafka": describe("kafka").group_types,
    "pulsar": describe("pulsar").group_types,
    "nats": describe("nats").group_types,
}
KEY_ORDERED = {
    "memory": memory_members.TYPES[0],
    "kafka": "classic",
    "pulsar": KEY_SHARED,
    "nats": "one_at_a_time",
}
"""A type of group that keeps the order of each key."""
TOO_LARGE = bytes(8 << 20)
EXTERNAL = "contract-external-"


class Endpoint(Protocol):
    @property
    def system(self) -> System: ...

    @property
    def endpoint(self) -> str: ...


class LiveSystem(Protocol):
    system: System
    endpoint: str
    admin: Admin
    nodes: list[str]
    scrapes: Mapping[str, Scrape]
    copy_counters: Mapping[str, CopyCounter]
    parts: Parts

    def topic(self, partitions: int) -> Topic: ...


def only_of(name: str, live_system: LiveSystem) -> None:
    """Skip a test of what one system alone has."""
    if live_system.system.name != name:
        pytest.skip(f"of {describe(name).title} alone")


class Sends:
    """Sends numbered messages and keeps what `done` said of each."""

    def __init__(self, producers: Producers) -> None:
        self.producers = producers
        (self.producer,) = producers.clients
        self.done: dict[int, list[SendResult]] = defaultdict(list)
        self.sent = 0

    @property
    def ended(self) -> int:
        return len(self.done)

    def send(self, payload: bytes | None = None) -> int:
        number, self.sent = self.sent, self.sent + 1
        self.producer.send(payload or b"%d" % number, lambda done: self.done[number].append(done))  # noqa: PLW0108 - only then is it ended
        return number

    def wait(self, ended: int) -> None:
        until(lambda: self.ended >= ended, lambda: self.producer.poll(0.1))


def until(reached: Callable[[], bool], turn: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not reached():
        assert time.monotonic() < deadline, "not in time"
        turn()


@contextmanager
def sending(
    live: Endpoint, topic: Topic, window: int = 1, settings: Settings | None = None
) -> Iterator[Sends]:
    producers = live.system.producers(live.endpoint, topic, settings or {}, 1, window)
    try:
        yield Sends(producers)
    finally:
        producers.close(10)


def send_sync(live: Endpoint, topic: Topic, count: int) -> Sends:
    with sending(live, topic) as sends:
        for number in range(count):
            sends.send()
            sends.wait(number + 1)
    return sends


def send_windowed(live: Endpoint, topic: Topic, count: int, window: int) -> Sends:
    with sending(live, topic, window) as sends:
        while sends.sent < count:
            while sends.sent < count and sends.sent - sends.ended < window:
                sends.send()
            sends.producer.poll(0.1)
        sends.wait(count)
    return sends


def read_all(live: Endpoint, topic: Topic) -> list[ReceivedMessage]:
    return list(chain.from_iterable(live.system.read_all(live.endpoint, topic, {}, DEADLINE_S, 0)))


def receive(consumer: Consumer, count: int) -> list[ReceivedMessage]:
    received: list[ReceivedMessage] = []
    until(lambda: len(received) >= count, lambda: received.extend(consumer.receive(0.2)))
    return received


def numbers_by_partition(received: Iterable[ReceivedMessage]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for message in received:
        found[message.partition].append(int(message.payload))
    return dict(found)


def sent_by_partition(sends: Sends) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for number, (done,) in sorted(sends.done.items()):
        found[done.partition].append(number)
    return dict(found)


def position(place: SendResult | ReceivedMessage) -> tuple[int, int, int, int]:
    return place.partition, place.ledger, place.entry, place.batch_index


def assert_positions_rise(received: Sequence[ReceivedMessage]) -> None:
    by_partition: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    for message in received:
        by_partition[message.partition].append(position(message))
    for positions in by_partition.values():
        assert all(one < other for one, other in pairwise(positions))


def test_every_send_ends_once_with_its_position(live_system: LiveSystem) -> None:
    topic = live_system.topic(3)

    sends = send_sync(live_system, topic, 30)

    assert sorted(sends.done) == list(range(30))
    told = [done for (done,) in sends.done.values()]
    assert {(done.outcome, done.error) for done in told} == {(Outcome.OK, None)}
    assert {done.partition for done in told} == {0, 1, 2}
    assert all(done.entry != NOT_GIVEN for done in told)
    assert len({position(done) for done in told}) == 30


def test_the_full_read_gives_all_in_order_where_the_acks_said(live_system: LiveSystem) -> None:
    topic = live_system.topic(3)
    sends = send_sync(live_system, topic, 300)

    received = read_all(live_system, topic)

    assert len(received) == 300
    assert numbers_by_partition(received) == sent_by_partition(sends)
    assert_positions_rise(received)
    assert {position(message) for message in received} == {position(done) for (done,) in sends.done.values()}


@pytest.mark.parametrize("window", [1, 4])
def test_producers_send_side_by_side_from_a_thread_each(live_system: LiveSystem, window: int) -> None:
    topic = live_system.topic(2)
    producers = live_system.system.producers(live_system.endpoint, topic, {}, 5, window)
    told: list[list[SendResult]] = [[] for _ in producers.clients]

    def work(number: int, producer: Producer) -> None:
        for sent in range(1, 101):
            producer.send(b"%d" % (number * 1000 + sent), told[number].append)
            until(lambda: len(told[number]) > sent - window, lambda: producer.poll(0.1))  # noqa: B023 - called at once
        until(lambda: len(told[number]) == 100, lambda: producer.poll(0.1))

    threads = [Thread(target=work, args=(number, one)) for number, one in enumerate(producers.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producers.close(10)

    assert {done.outcome for of_one in told for done in of_one} == {Outcome.OK}
    received = read_all(live_system, topic)
    assert_positions_rise(received)
    assert sorted(position(message) for message in received) == sorted(
        position(done) for of_one in told for done in of_one
    )
    for number in range(5):
        for of_partition in numbers_by_partition(received).values():
            mine = [value for value in of_partition if value // 1000 == number]
            assert mine == sorted(mine)


def test_a_kafka_client_with_a_partitioner_chooses_the_partition_itself(live_system: LiveSystem) -> None:
    only_of("kafka", live_system)
    topic = live_system.topic(3)

    with sending(live_system, topic, settings={"partitioner": "consistent_random"}) as sends:
        for number in range(50):
            sends.send()
            sends.wait(number + 1)

    partitions = [done.partition for (done,) in sends.done.values()]
    assert set(partitions) <= {0, 1, 2}
    assert partitions != [number % 3 for number in range(50)], "in turn is the suite's order"
    assert numbers_by_partition(read_all(live_system, topic)) == sent_by_partition(sends)


@pytest.mark.parametrize("window", [2, 100])
def test_a_window_of_sends_stays_in_order(live_system: LiveSystem, window: int) -> None:
    topic = live_system.topic(3)

    sends = send_windowed(live_system, topic, 2000, window)
    received = read_all(live_system, topic)

    assert all(len(told) == 1 and told[0].outcome == Outcome.OK for told in sends.done.values())
    assert numbers_by_partition(received) == sent_by_partition(sends)
    assert_positions_rise(received)


def test_a_group_begins_at_the_earliest_message_and_goes_on_where_it_had_got_to(
    live_system: LiveSystem,
) -> None:
    topic = live_system.topic(3)
    first = send_sync(live_system, topic, 30)

    with closing(live_system.system.consumer(live_system.endpoint, topic, {}, "readers")) as consumer:
        received = receive(consumer, 30)
        assert not consumer.receive(0.5)
    assert numbers_by_partition(received) == sent_by_partition(first)

    with sending(live_system, topic) as more:
        for number in range(9):
            more.send(b"%d" % (100 + number))
            more.wait(number + 1)
    with closing(live_system.system.consumer(live_system.endpoint, topic, {}, "readers")) as consumer:
        rest = receive(consumer, 9)
        assert not consumer.receive(0.5)
    assert sorted(int(message.payload) for message in rest) == list(range(100, 109))


def test_a_group_that_only_began_has_all_that_came_after_it(live_system: LiveSystem) -> None:
    topic = live_system.topic(2)
    live_system.system.consumer(live_system.endpoint, topic, {}, "stopped").close()

    sends = send_sync(live_system, topic, 10)

    with closing(live_system.system.consumer(live_system.endpoint, topic, {}, "stopped")) as consumer:
        assert numbers_by_partition(receive(consumer, 10)) == sent_by_partition(sends)


@pytest.mark.parametrize("place", range(4))
def test_members_of_a_group_have_each_message_once(live_system: LiveSystem, place: int) -> None:
    kinds = GROUP_TYPES[live_system.system.name]
    if place >= len(kinds):
        pytest.skip("there are fewer types of group")
    topic = replace(live_system.topic(4), keys=10)
    sends = send_sync(live_system, topic, 40)
    join = partial(live_system.system.member, live_system.endpoint, topic, {}, kinds[place])
    received: list[ReceivedMessage] = []

    with ExitStack() as stack:
        count = 1 if kinds[place] == "Exclusive" else 2
        members = [stack.enter_context(closing(join())) for _ in range(count)]
        deadline = time.monotonic() + DEADLINE_S
        while len(received) < 40 and time.monotonic() < deadline:
            received += [message for member in members for message in member.receive(0.2)]
        received += [message for member in members for message in member.receive(1.0)]

    assert len(received) == 40
    assert {part: sorted(those) for part, those in numbers_by_partition(received).items()} == {
        part: sorted(those) for part, those in sent_by_partition(sends).items()
    }


def test_messages_of_a_key_have_one_partition_and_come_in_order_to_a_group(live_system: LiveSystem) -> None:
    topic = replace(live_system.topic(4), keys=5)
    send_windowed(live_system, topic, 40, window=10)
    kind = KEY_ORDERED[live_system.system.name]
    join = partial(live_system.system.member, live_system.endpoint, topic, {}, kind)
    first: dict[int, ReceivedMessage] = {}

    with ExitStack() as stack:
        members = [stack.enter_context(closing(join())) for _ in range(2)]

        def turn() -> None:
            for member in members:
                for message in member.receive(0.2):
                    first.setdefault(int(message.payload), message)

        until(lambda: len(first) >= 40, turn)

    assert sorted(first) == list(range(40))
    for key in range(5):
        own = [number for number in first if number % 5 == key]
        assert own == sorted(own)
        assert len({first[number].partition for number in own}) == 1


def test_a_live_consumer_sees_what_is_sent_from_then_on(live_system: LiveSystem) -> None:
    topic = live_system.topic(3)
    send_sync(live_system, topic, 7)

    with closing(live_system.system.consumer(live_system.endpoint, topic, {})) as consumer:
        sends = send_windowed(live_system, topic, 500, 10)
        received = receive(consumer, 500)
        after_ns = time.monotonic_ns()

    assert numbers_by_partition(received) == sent_by_partition(sends)
    assert_positions_rise(received)
    assert all(0 < message.received_ns <= after_ns for message in received)


def test_what_a_pulsar_consumer_has_had_does_not_come_again(
    live_system: LiveSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that takes a partition over gives everything anew that was not acknowledged."""
    if live_system.system.name != "pulsar":
        pytest.skip("a Kafka consumer keeps its place to itself")
    monkeypatch.setattr(pulsar_client, "_SETTLE_S", 0.0)
    topic = live_system.topic(3)

    with closing(live_system.system.consumer(live_system.endpoint, topic, {})) as consumer:
        send_windowed(live_system, topic, 300, 10)
        receive(consumer, 300)
        deadline = time.monotonic() + DEADLINE_S
        while (left := unsettled(live_system.admin, topic)) and time.monotonic() < deadline:
            time.sleep(0.1)

    assert left == 0


def unsettled(admin: Any, topic: Topic) -> int:
    """Count the messages that the topic's only subscription has not settled."""
    told = [admin._topics._internal_stats(topic, number, "")["cursors"] for number in range(topic.partitions)]
    return sum(
        cursor["numberOfEntriesSinceFirstNotAckedMessage"] - 1 for one in told for cursor in one.values()
    )


def test_two_live_consumers_see_everything_each(live_system: LiveSystem) -> None:
    topic = live_system.topic(2)
    open_consumer = live_system.system.consumer

    with (
        closing(open_consumer(live_system.endpoint, topic, {})) as first,
        closing(open_consumer(live_system.endpoint, topic, {})) as second,
    ):
        sends = send_windowed(live_system, topic, 200, 10)
        seen = [numbers_by_partition(receive(consumer, 200)) for consumer in (first, second)]

    assert seen == [sent_by_partition(sends)] * 2


def test_receiving_does_not_wait_for_more_than_one_message(live_system: LiveSystem) -> None:
    topic = live_system.topic(1)

    with closing(live_system.system.consumer(live_system.endpoint, topic, {})) as consumer:
        assert not consumer.receive(0.05)
        send_sync(live_system, topic, 1)
        start = time.monotonic()
        received = receive_once(consumer, 30)
        took = time.monotonic() - start

    assert [message.payload for message in received] == [b"0"]
    assert took < 10


def receive_once(consumer: Consumer, timeout_s: float) -> Sequence[ReceivedMessage]:
    return consumer.receive(timeout_s) or consumer.receive(timeout_s)


def test_polling_without_waiting_returns_at_once(live_system: LiveSystem) -> None:
    topic = live_system.topic(1)

    with sending(live_system, topic) as sends:
        start = time.monotonic()
        for _ in range(100):
            sends.producer.poll(0)
        took = time.monotonic() - start

    assert took < 1


def test_polling_ends_as_soon_as_one_send_is_over(live_system: LiveSystem) -> None:
    topic = live_system.topic(1)

    with sending(live_system, topic) as sends:
        start = time.monotonic()
        sends.send()
        sends.producer.poll(30)
        took = time.monotonic() - start

    assert sends.ended == 1
    assert took < 10


def test_no_send_ends_within_the_call_that_made_it(live_system: LiveSystem) -> None:
    topic = live_system.topic(1)

    with sending(live_system, topic, 10) as sends:
        for payload in (b"small", TOO_LARGE, b"small"):
            sends.send(payload)
            assert not sends.done
        sends.wait(3)


def test_a_message_that_is_too_large_fails_through_done(live_system: LiveSystem) -> None:
    topic = live_system.topic(1)

    with sending(live_system, topic, 10) as sends:
        too_large = sends.send(TOO_LARGE)
        good = sends.send(b"1")
        sends.wait(2)

    (refused,), (acked,) = sends.done[too_large], sends.done[good]
    assert refused.outcome == Outcome.FAIL
    assert refused.error
    assert acked.outcome == Outcome.OK
    assert [message.payload for message in read_all(live_system, topic)] == [b"1"]


def test_closing_ends_every_open_send(live_system: LiveSystem) -> None:
    topic = live_system.topic(1)

    with sending(live_system, topic, 50) as sends:
        for _ in range(50):
            sends.send()

    assert {number: len(told) for number, told in sends.done.items()} == dict.fromkeys(range(50), 1)


def test_an_empty_topic_reads_as_nothing(live_system: LiveSystem) -> None:
    assert read_all(live_system, live_system.topic(2)) == []


def test_effective_settings_are_json(live_system: LiveSystem) -> None:
    topic = live_system.topic(2)

    with sending(live_system, topic) as sends:
        producer = sends.producers.effective()
    cluster = live_system.admin.effective(topic)

    assert json.loads(json.dumps(dict(producer)))
    assert json.loads(json.dumps(cluster)) == cluster
    assert set(cluster) == {"cluster", "topic", "roles"}


def test_a_deleted_topic_comes_back_empty(live_system: LiveSystem) -> None:
    topic = live_system.topic(2)
    send_sync(live_system, topic, 10)

    live_system.admin.delete_topic(topic)
    live_system.admin.create_topic(topic)
    sends = send_sync(live_system, topic, 4)

    assert numbers_by_partition(read_all(live_system, topic)) == sent_by_partition(sends)


def test_every_part_is_played_by_nodes_of_the_cluster(live_system: LiveSystem) -> None:
    topic = live_system.topic(2)
    find, parts = live_system.admin.find, live_system.parts

    for part in [*parts.names, *(f"{part} of 1" for part in parts.of_partition)]:
        found = find(part, topic)
        assert found, part
        assert set(found) <= set(live_system.nodes)
    for part in parts.of_partition:
        assert find(part, topic) == find(f"{part} of 0", topic), part


ELECTED: Mapping[str, Mapping[str, str]] = {
    "memory": {},
    "kafka": {"controller": "controller"},
    "pulsar": {"zookeeper leader": "zookeeper", "auditor": "bookie"},
    "nats": {"meta leader": "server"},
}
"""The parts of a cluster, each with the role of the nodes of which one plays it."""


def test_a_part_of_the_cluster_is_played_by_one_node_of_its_role(live_system: LiveSystem) -> None:
    topic = live_system.topic(1)
    roles = ELECTED[live_system.system.name]

    assert set(live_system.parts.of_cluster) == set(roles)
    for part, role in roles.items():
        (name,) = live_system.admin.find(part, topic)
        assert name.rpartition("-")[0] == role


def played(live: LiveSystem, topic: Topic, partition: int, *parts: str) -> list[list[str]]:
    """Who plays each of these parts of a partition."""
    return [live.admin.find(f"{part} of {partition}", topic) for part in parts]


def test_leader_and_followers_are_those_of_the_topics_metadata(live_system: LiveSystem) -> None:
    only_of("kafka", live_system)
    topic = live_system.topic(2)
    told: Any = live_system.admin.effective(topic)
    leaders = []

    for one in told["topic"]["partitions"]:
        leader, follower, followers, replicas = played(
            live_system, topic, one["partition"], "leader", "follower", "followers", "replicas"
        )
        assert leader == [f"broker-{one['leader']}"]
        assert replicas == [f"broker-{replica}" for replica in one["replicas"]]
        assert len(set(replicas)) == len(replicas) == topic.settings["replicas"]
        assert sorted(leader + followers) == sorted(replicas)
        assert not set(leader) & set(followers)
        assert len(follower) == 1
        assert set(follower) <= {f"broker-{replica}" for replica in one["in_sync"]} & set(followers)
        leaders += leader

    assert len(set(leaders)) == 2  # they take turns, so a partition's number matters


def test_owner_and_bookies_are_those_of_the_look_up_and_the_ledgers_metadata(live_system: LiveSystem) -> None:
    only_of("pulsar", live_system)
    topic = Topic(
        "contract-parts", 2, {"quorums": "2-1-1"}, "synced"
    )  # a write quorum smaller than the ensemble
    live_system.admin.create_topic(topic)
    told: Any = live_system.admin.effective(topic)
    layout: Any = live_system.admin.layout(topic)

    for looked_up, kept in zip(told["topic"]["partitions"], layout, strict=True):
        number = kept["partition"]
        owner, ensemble, written, oldest = played(
            live_system, topic, number, "owner", "ensemble", "write quorum", "oldest bookie"
        )
        first, second, third = played(live_system, topic, number, "bookie 1", "bookie 2", "bookie 3")
        assert owner == [looked_up["owner"]]
        _, by_the_bookies = kept["ledgers"][-1]["segments"][-1]
        assert first + second == ensemble == by_the_bookies
        assert len(set(ensemble)) == 2
        assert third == []
        assert written == first
        _, oldest_segment = kept["ledgers"][0]["segments"][0]
        assert len(oldest) == 1
        assert set(oldest) <= set(oldest_segment)


def test_each_group_of_bookies_keeps_its_own_topics_with_its_own_settings(live_system: LiveSystem) -> None:
    only_of("pulsar", live_system)
    kept: dict[str, set[str]] = {}
    for name, synced in (("synced", "true"), ("unsynced", "false")):
        topic = Topic(f"contract-of-{name}", 4, {"quorums": "2-2-2"}, name)
        live_system.admin.create_topic(topic)
        told: Any = live_system.admin.effective(topic)

        assert told["roles"]["bookie"]["journalSyncData"] == synced
        kept[name] = {bookie for placed in told["topic"]["partitions"] for bookie in placed["ensemble"]}
        assert set(told["cluster"]["bookies"]) == kept[name]

    assert kept == {"synced": {"bookie-1", "bookie-2"}, "unsynced": {"bookie-3", "bookie-4"}}
    with pytest.raises(
        ClusterError, match=r"to lie on bookies of the group 'unsynced', and lies on bookie-1, bookie-2"
    ):
        live_system.admin.effective(Topic("contract-of-synced", 4, {"quorums": "2-2-2"}, "unsynced"))


UNMOVED = {"nats"}
"""Systems whose topics the suite does not move."""


def test_a_topic_that_cannot_be_moved_is_not_rebalanced(live_system: LiveSystem) -> None:
    if live_system.system.name not in UNMOVED:
        pytest.skip("its topics can be moved")

    with pytest.raises(ClusterError, match="not moved"):
        live_system.admin.rebalance(live_system.topic(4), None)


def test_a_topic_is_rebalanced_over_all_nodes_and_takes_sends(live_system: LiveSystem) -> None:
    if live_system.system.name in UNMOVED:
        pytest.skip("its topics are not moved")
    topic = live_system.topic(4)
    first = send_sync(live_system, topic, 20)

    live_system.admin.rebalance(topic, None)

    more = send_sync(live_system, topic, 20)
    assert len(read_all(live_system, topic)) == len(first.done) + len(more.done)
    serving = {partition_layout(one).server for one in live_system.admin.layout(topic)}
    assert serving == {name for name in live_system.nodes if name.startswith("broker")}


def test_a_lifted_expiry_is_no_setting_of_the_topic_any_more(live_system: LiveSystem) -> None:
    if live_system.system.name != "pulsar":
        pytest.skip("what expires there is deleted, for every reader")
    topic = replace(live_system.topic(1), name="contract-expiring", settings={"quorums": "2-2-2", TTL: 3600})
    live_system.admin.create_topic(topic)
    told: Any = live_system.admin.effective(topic)
    assert told["topic"][TTL] == 3600

    live_system.admin.lift_expiry(topic)

    with pytest.raises(ClusterError, match=TTL):
        live_system.admin.effective(topic)


def test_a_topic_of_a_whole_cluster_is_available_with_every_copy(live_system: LiveSystem) -> None:
    state = live_system.admin.state(live_system.topic(2))

    assert state.available
    assert state.copies_missing is False
    assert ("in_sync" in live_system.system.states) == (state.in_sync is not None)


def test_each_copy_is_counted_where_nobody_waits_for_it(live_system: LiveSystem) -> None:
    """Two copies of each message (quorums 2-2-2)."""
    counters = live_system.copy_counters
    if not counters:
        pytest.skip("nothing counts copies")
    topic = live_system.topic(1)
    before = sum(counter.count() or 0 for counter in counters.values())

    send_sync(live_system, topic, 20)

    copies = sum(counter.count() or 0 for counter in counters.values()) - before
    assert copies == 40


def test_the_layout_names_nodes_of_the_cluster_for_every_partition(live_system: LiveSystem) -> None:
    layout = live_system.admin.layout(live_system.topic(2))

    assert [one["partition"] for one in layout] == ([0, 1] if live_system.nodes else [])
    for one in layout:
        assert one.get("leader", one.get("owner")) in live_system.nodes


def test_a_look_up_goes_round_the_nodes_to_avoid_and_names_who_serves(live_system: LiveSystem) -> None:
    if not live_system.nodes:
        pytest.skip("it has no nodes to ask")
    topic = live_system.topic(2)
    brokers = [name for name in live_system.nodes if name.startswith("broker")]
    avoided = brokers[:-1]

    said = live_system.admin.look_up(topic, avoided)

    asked, _, serves = said.removeprefix("Asked through ").partition(": ")
    assert asked in set(live_system.nodes) - set(avoided)
    layout = live_system.admin.layout(topic)
    named = serves.removesuffix(" serves it.").removesuffix(" leads it.").split(", ")
    assert set(named) == {one.get("leader", one.get("owner")) for one in layout}


def test_a_topic_that_is_not_there_is_not_available(live_system: LiveSystem) -> None:
    assert not live_system.admin.state(Topic("contract-never-made", 1)).available


def test_a_whole_cluster_is_settled(live_system: LiveSystem) -> None:
    topic = live_system.topic(2)
    send_sync(live_system, topic, 4)

    live_system.admin.await_settled(topic)


def test_deleting_a_topic_that_is_not_there_is_no_error(live_system: LiveSystem) -> None:
    live_system.admin.delete_topic(Topic("contract-never-made", 1))


SETTLING: dict[str, tuple[str, Sequence[str]]] = {
    "kafka": ("commit", ("before", "after", "transaction")),
    "pulsar": ("acknowledge", ("before", "after", "deduplicated")),
}


def process(live: LiveSystem, source: Topic, target: Topic, settle: Settings, at_least: int) -> int:
    """Let a processor take so many messages, end it in order, return how many it took."""
    taken = 0
    with closing(live.system.process(live.endpoint, source, target, {"work": "0ms", **settle})) as steps:  # type: ignore[type-var]  # systems give generators

        def step() -> None:
            nonlocal taken
            taken += next(steps)

        until(lambda: taken >= at_least, step)
    return taken


def test_a_system_without_a_processor_refuses_one(live_system: LiveSystem) -> None:
    if live_system.system.name in SETTLING:
        pytest.skip("it has a processor")

    with pytest.raises(LoadError, match="no processor"):
        live_system.system.process("", Topic("a", 1), Topic("b", 1), {})


@pytest.mark.parametrize("way", [0, 1, 2])
def test_a_processor_writes_every_message_on_and_the_next_goes_on_where_it_settled(
    live_system: LiveSystem, way: int
) -> None:
    if live_system.system.name not in SETTLING:
        pytest.skip("it has no processor")
    how, ways = SETTLING[live_system.system.name]
    source, target = live_system.topic(2), live_system.topic(2)
    send_sync(live_system, source, 20)
    settle: Settings = {how: ways[way], "batch": 3}

    first = process(live_system, source, target, settle, 6)
    assert 6 <= first < 20
    assert live_system.admin.backlog(source) == 20 - first
    assert first + process(live_system, source, target, settle, 20 - first) == 20
    assert live_system.admin.backlog(source) == 0

    read = chain.from_iterable(live_system.system.read_all(live_system.endpoint, target, {}, 30, 20))
    assert sorted(int(one.payload) for one in read) == list(range(20))


_ONE_BATCH = """
import os, signal, sys
from pathlib import Path
from pydantic import TypeAdapter
from bench.load.processor import Process
from bench.systems.registry import client_side

command = TypeAdapter(Process).validate_json(Path(sys.argv[1]).read_bytes())
system = client_side(command.system, command.endpoint)
for taken in system.process(command.endpoint, command.source, command.target, command.settings):
    if taken:
        print(taken, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("way", [0, 1, 2])
def test_what_a_processor_settled_stays_so_though_it_is_killed_right_after(
    live_system: LiveSystem, way: int, tmp_path: Path
) -> None:
    if live_system.system.name not in SETTLING:
        pytest.skip("it has no processor")
    how, ways = SETTLING[live_system.system.name]
    source, target = live_system.topic(1), live_system.topic(1)
    send_sync(live_system, source, 20)
    settings: Settings = {how: ways[way], "batch": 7, "work": "0ms"}
    command = Process(
        system=live_system.system.name,
        endpoint=live_system.endpoint,
        source=source,
        target=target,
        settings=settings,
    )
    write(command, tmp_path / "process.json")

    one = [sys.executable, "-c", _ONE_BATCH, str(tmp_path / "process.json")]
    killed = subprocess.run(one, stdout=subprocess.PIPE, timeout=60, check=False, text=True)

    assert killed.returncode == -signal.SIGKILL
    assert live_system.admin.backlog(source) == 20 - int(killed.stdout)


def shown(live: LiveSystem) -> dict[str, dict[str, float]]:
    """What every server tells of itself now, under the common names."""
    answers = {name: httpx.get(scrape.url).raise_for_status().text for name, scrape in live.scrapes.items()}
    return {name: dict(MetricsScraper(live.scrapes[name]).read(answer)) for name, answer in answers.items()}


def test_every_server_tells_of_itself_under_the_common_names(live_system: LiveSystem) -> None:
    assert set(live_system.scrapes) == set(live_system.nodes)

    for figures in shown(live_system).values():
        assert set(figures) <= {*COUNTERS, *GAUGES}
        if live_system.system.name == "nats":  # no JVM
            assert figures["bytes_in"] >= 0
        else:
            assert figures["heap_bytes"] > 2**20
            assert figures["gc_s"] >= 0


def test_what_servers_tell_grows_with_what_is_sent(live_system: LiveSystem) -> None:
    if not live_system.scrapes:
        pytest.skip("it has no servers that show figures")
    topic = live_system.topic(2)
    send_sync(live_system, topic, 10)  # a server may show a figure from its first request on only
    before = shown(live_system)

    with sending(live_system, topic) as sends:
        for number in range(100):
            sends.send(bytes(1000))
            sends.wait(number + 1)

    after = shown(live_system)
    grown = {
        name: sum(after[node].get(name, 0) - before[node].get(name, 0) for node in after) for name in COUNTERS
    }
    takers = 2 if live_system.system.name == "pulsar" else 1  # the broker, and both bookies after it
    assert grown["bytes_in"] >= 100 * 1000 * takers
    assert grown["requests"] >= 100 * takers
    assert 0 <= grown["request_s"] < DEADLINE_S  # in whole milliseconds each: many a one takes less
    if live_system.system.name == "pulsar":  # Kafka as shipped leaves it to the kernel when to write
        assert grown["flushes"] >= 100
        assert 0 <= grown["flush_s"] < DEADLINE_S


def access_to(live_system: LiveSystem) -> tuple[ExternalAccess, str]:
    """Return access to the live system as to somebody else's, and its endpoint."""
    live_system.topic(1)  # the memory system is there once a topic is
    host = re.sub(r"^\w+://", "", live_system.endpoint).partition(",")[0].partition(":")[0]
    admin = f"http://{host}:8080" if describe(live_system.system.name).admin_key else ""
    endpoint = str(ExternalEndpoint(live_system.endpoint, admin))
    access = live_system.system.external(endpoint)
    if access is None:
        pytest.skip("clusters of others cannot be used yet")
    return access, endpoint


def test_a_cluster_says_what_it_is(live_system: LiveSystem) -> None:
    access, _ = access_to(live_system)

    facts = access.facts()

    front = describe(live_system.system.name).front_role
    assert facts.nodes.get(front, 0) == sum(
        node.startswith(f"{front}-") for node in live_system.nodes if front
    )
    assert facts.unreadable == ()
    assert access.wrong_properties() == []
    assert access.why_no_topics(EXTERNAL) is None


def test_topics_are_made_listed_and_deleted_and_take_sends(live_system: LiveSystem) -> None:
    access, endpoint = access_to(live_system)
    facts, name = access.facts(), live_system.system.name
    cluster = Cluster(name, facts.version, facts.nodes, facts.settings, external=endpoint)
    topic = Topic(f"{EXTERNAL}1", 2, access.topic_defaults())

    with closing(access.admin(cluster)) as admin:
        admin.create_topic(topic)
        with pytest.raises(TopicExistsError):
            admin.create_topic(topic)
        effective = admin.effective(topic)
    producers = live_system.system.producers(endpoint, topic, {}, 1, 1)
    outcomes: list[int] = []
    (producer,) = producers.clients
    producer.send(b"hello" * 20, lambda done: outcomes.append(done.outcome))
    while not outcomes:
        producer.poll(0.1)
    producers.close(1.0)
    there = access.topics(EXTERNAL)
    access.delete(topic.name)

    assert outcomes == [0]
    assert {"cluster", "topic", "roles"} <= effective.keys()
    assert there == [topic.name]
    assert access.topics(EXTERNAL) == []
