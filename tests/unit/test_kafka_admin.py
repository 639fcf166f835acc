import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import ClusterError
from bench.model import Cluster, Node, Topic, TopicState
from bench.systems.kafka import admin
from bench.systems.kafka.admin import KafkaAdmin, spread
from bench.systems.kafka.live_settings import active_controller, node_settings
from bench.systems.kafka.nodes import data_folder, node_id
from bench.systems.kafka.reassign import without
from bench.systems.servers import Servers

SERVERS = Servers(home=Path, archive=Path)


@given(brokers=st.integers(1, 9), partitions=st.integers(1, 70), copies=st.integers(1, 9))
def test_leaders_and_copies_are_spread_evenly(brokers: int, partitions: int, copies: int) -> None:
    replicas = min(brokers, copies)
    assigned = spread(range(1, brokers + 1), partitions, replicas)

    leaders = Counter(one[0] for one in assigned)
    assert max(leaders.values()) - min(leaders.get(broker, 0) for broker in range(1, brokers + 1)) <= 1
    assert all(len(set(one)) == len(one) == replicas for one in assigned)


def test_followers_of_one_leader_take_turns() -> None:
    assert spread([1, 2, 3, 4], 12, 2)[::4] == [[1, 2], [1, 3], [1, 4]]


def test_a_drained_brokers_replicas_go_to_who_has_fewest_by_then() -> None:
    """1 leads two, follows one; 4 has none, so it gets two, then 3 and 4 have two and 4 leads more."""
    kept = {("a", 0): [1, 2], ("a", 1): [1, 3], ("a", 2): [2, 1], ("b", 0): [2, 3]}

    wanted = without(1, kept, [1, 2, 3, 4])

    assert wanted == {("a", 0): [4, 2], ("a", 1): [4, 3], ("a", 2): [2, 3]}


def test_a_broker_whose_replicas_have_no_other_place_is_not_drained() -> None:
    with pytest.raises(ClusterError, match="partition 0 of a has a replica on every other broker already"):
        without(1, {("a", 0): [1, 2]}, [1, 2])


def test_more_replicas_than_live_brokers_are_refused() -> None:
    with pytest.raises(ClusterError, match="3 replicas need as many live brokers, and there are 2"):
        spread([1, 2], 1, 3)


@pytest.mark.parametrize(
    ("elections", "expected"),
    [
        ([(5, 0), (7, 1), (7, 1)], ["controller-2"]),  # the first has missed two elections
        (
            [(7, None), (7, 2), (6, 0)],
            ["controller-3"],
        ),  # it votes in this one, and has not heard how it ended
        ([(8, None), (7, 1), (7, 1)], []),  # an election goes on
        ([None, (7, 2), None], ["controller-3"]),  # two have no disk any more
        ([None, None, None], []),
    ],
)
def test_the_active_controller_is_whom_the_last_election_chose(
    tmp_path: Path, elections: list[tuple[int, int | None] | None], expected: list[str]
) -> None:
    """Of each controller: the epoch, and which of the three it takes for the leader."""
    nodes = [
        Node(f"controller-{number}", "controller", "", (), tmp_path / str(number), tmp_path, (), 0)
        for number in (1, 2, 3)
    ]
    for node, election in zip(nodes, elections, strict=True):
        if election is not None:
            epoch, leader = election
            file = data_folder(node.directory) / "__cluster_metadata-0" / "quorum-state"
            file.parent.mkdir(parents=True)
            number = -1 if leader is None else node_id(nodes[leader])
            file.write_text(json.dumps({"leaderId": number, "leaderEpoch": epoch}))

    assert active_controller(nodes) == expected


def text(value: str | None) -> bytes:
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def answer(error: int, reason: str | None, settings: dict[str, str | None]) -> bytes:
    """Write a DescribeConfigs response, version 1."""
    body = struct.pack(">iiih", 1, 0, 1, error) + text(reason) + b"\x04" + text("1001")
    body += struct.pack(">i", len(settings))
    for name, value in settings.items():
        body += text(name) + text(value) + b"\0\x05\0" + struct.pack(">i", 0)
    return struct.pack(">i", len(body)) + body


@pytest.fixture
def controller(request: pytest.FixtureRequest) -> Iterator[Node]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server, request.param))
        thread.start()
        port = server.getsockname()[1]
        yield Node("controller-1", "controller", "127.0.0.1", (), Path(), Path(), (port,), 0)
        thread.join()


def serve(server: socket.socket, reply: bytes) -> None:
    """Answer in two pieces, so that the reader has to wait for the second."""
    connection, _ = server.accept()
    with connection:
        size = struct.unpack(">i", connection.recv(4))[0]
        assert connection.recv(size).endswith(text("1001") + struct.pack(">i", -1) + b"\0")
        for start, end in pairwise((0, 3, len(reply))):
            connection.sendall(reply[start:end])


@pytest.mark.parametrize(
    "controller", [answer(0, None, {"a.b": "1", "nothing": None})], indirect=True, ids=["two settings"]
)
def test_a_controllers_settings_are_read_from_it(controller: Node) -> None:
    assert node_settings(controller) == {"a.b": "1", "nothing": None}


@pytest.mark.parametrize("controller", [answer(42, "no such node", {})], indirect=True, ids=["refused"])
def test_a_refusal_carries_the_reason(controller: Node) -> None:
    with pytest.raises(ClusterError, match="controller-1's settings back: Kafka error 42, no such node"):
        node_settings(controller)


@pytest.mark.parametrize("controller", [b"\0\0"], indirect=True, ids=["closed"])
def test_a_connection_that_ends_early_is_an_error(controller: Node) -> None:
    with pytest.raises(ClusterError, match="it closed the connection"):
        node_settings(controller)


TOPIC = Topic("t", 1, {"replicas": 3})
BROKERS = [
    Node(f"broker-{number}", "broker", f"10.0.0.{number}", (), Path(), Path(), (9092,), 0)
    for number in (1, 2, 3)
]


@dataclass
class Broker:
    """A broker, as its client sees it: who leads partition 0, who is in sync, and the epoch that it leads in itself."""

    leader: int
    in_sync: Sequence[int] = (1, 2, 3)
    epoch: int | None = None
    refuses: int = KafkaError.NOT_LEADER_FOR_PARTITION
    offset: int | None = None
    waited: list[float] = field(default_factory=list)
    answers_from: int = 0

    def list_topics(self, topic: str, timeout: float) -> Any:
        self.waited.append(timeout)
        if len(self.waited) <= self.answers_from:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        known = SimpleNamespace(leader=self.leader, replicas=[2, 1, 3], isrs=list(self.in_sync))
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions={0: known})})

    def list_offsets(self, asked: Mapping[TopicPartition, Any], request_timeout: float) -> Any:
        told: Future[Any] = Future()
        if self.epoch is None:
            told.set_exception(KafkaException(KafkaError(self.refuses)))
        else:
            told.set_result(SimpleNamespace(leader_epoch=self.epoch, offset=self.offset or 100 + self.epoch))
        return dict.fromkeys(asked, told)


def silent() -> Broker:
    return Broker(leader=0, answers_from=9)


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An administrator of three brokers that say this of the topic."""

    def asking(*brokers: Broker) -> KafkaAdmin:
        clients = {f"10.0.0.{number}:9092": broker for number, broker in enumerate(brokers, 1)}
        monkeypatch.setattr(admin, "admin_client", clients.__getitem__)
        monkeypatch.setattr(admin, "_listens", lambda _node, _within_s: True)
        return KafkaAdmin(SERVERS, Cluster("kafka", "4.3.1", {"broker": 3}), BROKERS)

    return asking


def found(asked: KafkaAdmin) -> dict[str, list[str]]:
    return {part: asked.find(part, TOPIC) for part in ("leader", "follower", "followers", "replicas")}


def test_parts_are_by_the_word_of_the_leader(asking: Any) -> None:
    two = Broker(2, in_sync=(2, 3), epoch=0)

    assert found(asking(Broker(2), two, Broker(2))) == {
        "leader": ["broker-2"],
        "follower": ["broker-3"],
        "followers": ["broker-1", "broker-3"],
        "replicas": ["broker-2", "broker-1", "broker-3"],
    }


@pytest.mark.parametrize("cut_off", [Broker(2, epoch=4), Broker(2, in_sync=(2,), epoch=4)])
def test_one_that_is_cut_off_and_believes_that_it_leads_is_no_leader(asking: Any, cut_off: Broker) -> None:
    asked = asking(Broker(3), cut_off, Broker(3, in_sync=(3, 1), epoch=5))

    assert found(asked) == {
        "leader": ["broker-3"],
        "follower": ["broker-1"],
        "followers": ["broker-2", "broker-1"],
        "replicas": ["broker-2", "broker-1", "broker-3"],
    }
    assert asked.layout(TOPIC) == [
        {
            "partition": 0,
            "leader": "broker-3",
            "in_sync": ["broker-3", "broker-1"],
            "epoch": 5,
            "high_watermark": 105,
        }
    ]


def test_a_leader_that_is_frozen_leads_by_the_word_of_most(asking: Any) -> None:
    asked = asking(Broker(2), silent(), Broker(2, in_sync=(2, 3)))

    assert asked.find("leader", TOPIC) == ["broker-2"]
    assert asked.find("followers", TOPIC) == ["broker-1", "broker-3"]
    assert asked.layout(TOPIC) == []


def test_one_that_leads_and_does_not_tell_its_epoch_is_a_leader_in_no_layout(asking: Any) -> None:
    asked = asking(Broker(2), Broker(2), Broker(2))

    assert asked.find("leader", TOPIC) == ["broker-2"]
    assert asked.layout(TOPIC) == []


@pytest.mark.parametrize("old", [silent(), Broker(2, epoch=4)])
def test_one_that_was_elected_and_knows_no_high_watermark_yet_leads(asking: Any, old: Broker) -> None:
    """Kafka 4.3 with two replicas that must both be in sync and one dead: as long as that is so."""
    waits = Broker(3, in_sync=(3,), refuses=KafkaError.OFFSET_NOT_AVAILABLE)

    assert asking(Broker(3), old, waits).layout(TOPIC) == [
        {"partition": 0, "leader": "broker-3", "in_sync": ["broker-3"], "epoch": None, "high_watermark": None}
    ]


def test_an_elected_one_that_is_cut_off_since_is_not_who_leads(asking: Any) -> None:
    cut_off = Broker(3, in_sync=(3,), refuses=KafkaError.OFFSET_NOT_AVAILABLE)

    (found,) = asking(Broker(1, in_sync=(1, 2), epoch=6), Broker(1, in_sync=(1, 2)), cut_off).layout(TOPIC)
    assert (found["leader"], found["epoch"]) == ("broker-1", 6)


def test_while_brokers_disagree_whether_anybody_leads_nothing_is_told(asking: Any) -> None:
    assert asking(silent(), Broker(-1), Broker(1)).layout(TOPIC) == []


def test_what_the_client_gives_without_an_answer_is_none(asking: Any) -> None:
    assert asking(Broker(2), Broker(2, epoch=-1, offset=-1001), Broker(2)).layout(TOPIC) == []


def test_nobody_leads_where_every_broker_that_answers_says_so(asking: Any) -> None:
    asked = asking(Broker(-1), silent(), Broker(-1, in_sync=(3,)))

    assert asked.find("leader", TOPIC) == []
    assert asked.find("follower", TOPIC) == []
    assert asked.find("replicas", TOPIC) == ["broker-2", "broker-1", "broker-3"]
    assert asked.layout(TOPIC) == [
        {"partition": 0, "leader": None, "in_sync": [], "epoch": -1, "high_watermark": None}
    ]


def test_a_partition_that_is_not_there_has_no_leader(asking: Any) -> None:
    assert asking(Broker(2), Broker(2, epoch=0), Broker(2)).find("leader of 1", TOPIC) == []


def test_brokers_that_are_slow_get_their_time_where_nobody_answers_at_once(asking: Any) -> None:
    slow = Broker(1, epoch=0, answers_from=1)

    assert asking(slow, silent(), silent()).find("leader of 0", TOPIC) == ["broker-1"]
    assert slow.waited == [1.0, 30.0]


def test_a_cluster_that_says_nothing_is_an_error(asking: Any) -> None:
    with pytest.raises(ClusterError, match="Looking for the leader of t: no broker answered"):
        asking(silent(), silent(), silent()).find("leader", TOPIC)


@pytest.mark.parametrize(
    ("brokers", "state"),
    [
        ([Broker(2), Broker(2), Broker(2)], TopicState(True, False, 3)),
        ([Broker(2), Broker(2, in_sync=(2, 3)), Broker(-1)], TopicState(True, True, 2)),
        ([Broker(-1), silent(), Broker(-1, in_sync=(3,))], TopicState(False, True, 1)),
        ([silent(), silent(), silent()], TopicState(False, None, None)),
    ],
    ids=["healthy", "disagree", "headless", "silent"],
)
def test_a_topic_is_served_if_anybody_knows_its_leaders_and_copies_count_by_who_knows_fewest(
    asking: Any, brokers: list[Broker], state: TopicState
) -> None:
    assert asking(*brokers).state(TOPIC) == state


def test_a_topic_is_served_where_one_broker_knows_the_leaders_of_all_its_partitions(
    asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"broker-1": [(2, 3), (-1, 2)], "broker-2": [(-1, 3), (3, 3)], "broker-3": [(-1, 3), (-1, 3)]}
    monkeypatch.setattr(admin, "_leaders_and_isrs", lambda node, _: said[node.name])
    asked = asking()
    assert asked.state(TOPIC) == TopicState(False, True, 2)

    said["broker-3"] = [(2, 3), (3, 3)]
    assert asked.state(TOPIC) == TopicState(True, True, 2)


@pytest.mark.parametrize(
    ("last", "missing"),
    [
        (Broker(2, in_sync=(2, 3)), "replicas not in sync of partition 0"),
        (Broker(-1), "no leader for partition 0"),
        (silent(), "no broker answered"),
    ],
    ids=["behind", "headless", "silent"],
)
def test_a_topic_is_not_settled_before_the_last_broker_says_so(
    asking: Any, monkeypatch: pytest.MonkeyPatch, last: Broker, missing: str
) -> None:
    monkeypatch.setattr(admin, "SETTLES_S", 0.0)

    with pytest.raises(ClusterError, match=missing):
        asking(Broker(2), Broker(2), last).await_settled(TOPIC)


def test_a_broker_that_does_not_answer_yet_is_asked_until_it_does(asking: Any) -> None:
    late = Broker(2, answers_from=2)

    asking(Broker(2), Broker(2), late).await_settled(TOPIC)

    assert len(late.waited) == 3
