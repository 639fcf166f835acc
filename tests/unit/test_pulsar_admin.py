import json
import zlib
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from bench.errors import ClusterError
from bench.model import Cluster, Node, Topic, TopicState
from bench.systems.pulsar import admin, readiness, topic_admin, topics
from bench.systems.pulsar.admin import PulsarAdmin
from bench.systems.pulsar.rest_client import RestClient, hosts
from bench.systems.pulsar.topic_admin import ledger_metadata
from bench.systems.pulsar.topics import Quorums
from bench.systems.pulsar.zookeeper_topics import ledger_ids

TOPIC = Topic("trial-0007", 12, {"quorums": "3-2-2"})
LEDGER = (
    "LedgerMetadata{formatVersion=3, ensembleSize=3, writeQuorumSize=2, ackQuorumSize=1, state=OPEN, "
    "digestType=CRC32C, password=OMITTED, ensembles={0=[10.99.2.24:3181, 10.99.2.23:3181, 10.99.2.21:3181], "
    "268=[10.99.2.24:3181, 10.99.2.22:3181, 10.99.2.21:3181]}, customMetadata={component=base64:bWFu}}"
)


def test_a_topics_quorums_are_in_force_before_its_first_ledger() -> None:
    persistence = topics.policies(TOPIC)["persistence"]

    assert persistence == {
        "bookkeeperEnsemble": 3,
        "bookkeeperWriteQuorum": 2,
        "bookkeeperAckQuorum": 2,
        "managedLedgerMaxMarkDeleteRate": 1.0,
    }


def test_a_topic_without_quorums_leaves_them_to_the_broker() -> None:
    assert "persistence" not in topics.policies(Topic("t", 1, {"deduplicationEnabled": True}))


def test_policies_keep_their_rest_names() -> None:
    policies = topics.policies(Topic("t", 1, {"deduplicationEnabled": True, "message_ttl_in_seconds": 5}))

    assert (policies["deduplicationEnabled"], policies["message_ttl_in_seconds"]) == (True, 5)


def test_every_partition_falls_into_a_bundle_of_its_own() -> None:
    ranges = [topics.bundle_of(TOPIC, number) for number in range(12)]

    assert len(set(ranges)) == 12
    for number, one in enumerate(ranges):
        low, high = (int(bound, 16) for bound in one.split("_"))
        spot = zlib.crc32(f"persistent://public/trial-0007/trial-0007-partition-{number}".encode())
        assert low <= spot < high or high == spot == 0xFFFFFFFF


def test_bundles_cover_all_hashes() -> None:
    told = topics.bundles(TOPIC)

    assert told["numBundles"] == 12
    boundaries = told["boundaries"]
    assert isinstance(boundaries, list)
    assert (boundaries[0], boundaries[-1], len(set(boundaries))) == ("0x00000000", "0xffffffff", 13)


def test_a_scenario_may_count_bundles_as_pulsar_does() -> None:
    assert topics.bundles(Topic("t", 12, {"bundles": 4})) == {"numBundles": 4}


def test_a_ledger_tells_its_quorums_and_its_last_ensemble() -> None:
    quorums, bookies = ledger_metadata(LEDGER)

    assert quorums == Quorums(3, 2, 1)
    assert bookies == ["10.99.2.24:3181", "10.99.2.22:3181", "10.99.2.21:3181"]


def test_a_topics_ledgers_are_read_out_of_its_znode() -> None:
    """Two LedgerInfo (field 1) with their numbers (field 1: 7, 300), one with entries (field 2) too; then a version."""
    content = bytes([0x0A, 0x04, 0x08, 0x07, 0x10, 0x05, 0x0A, 0x03, 0x08, 0xAC, 0x02, 0x10, 0x01])

    assert list(ledger_ids(content)) == [7, 300]


@pytest.mark.parametrize("content", [b"\x0a", b"\x0a\x02\x08\x80", b"\x0d\x01\x00\x00\x00"])
def test_a_znode_that_cannot_be_read_is_an_error(content: bytes) -> None:
    with pytest.raises(ClusterError, match="Reading a topic's ledgers"):
        list(ledger_ids(content))


def test_metadata_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ClusterError, match="no quorums in 'nothing'"):
        ledger_metadata("nothing")


class Broker(BaseHTTPRequestHandler):
    """Answers as brokers do: JSON, bare text that calls itself JSON, a reason, nothing."""

    def do_GET(self) -> None:
        status, content = {
            "/json": (200, json.dumps({"a": 1})),
            "/version": (200, "4.0.8"),
            "/refused": (412, json.dumps({"reason": "Namespace has no cluster"})),
            "/absent": (404, "gone"),
        }[self.path]
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def brokers() -> Iterator[list[Node]]:
    """A broker that is down, and one that is up."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Broker)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield [
        Node(name, "broker", address, (), Path(), Path(), (6650, server.server_port), 0)
        for name, address in (("broker-1", "127.0.0.2"), ("broker-2", "127.0.0.1"))
    ]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(("path", "answer"), [("json", {"a": 1}), ("version", "4.0.8")])
def test_the_next_broker_answers_where_one_is_down(brokers: list[Node], path: str, answer: object) -> None:
    assert RestClient(hosts(brokers)).ask("Asking", "GET", path) == answer


def test_a_refusal_is_told_with_the_brokers_reason(brokers: list[Node]) -> None:
    expected = "Asking: broker-2 answered GET /refused with 412: Namespace has no cluster"

    with pytest.raises(ClusterError, match=expected):
        RestClient(hosts(brokers)).ask("Asking", "GET", "refused")


def test_what_is_not_there_may_be_fine(brokers: list[Node]) -> None:
    assert RestClient(hosts(brokers)).ask("Deleting", "GET", "absent", absent_is_fine=True) is None


def test_no_broker_at_all_is_an_error_that_names_them(brokers: list[Node]) -> None:
    with pytest.raises(ClusterError, match=r"none answered: broker-1 \(ConnectError: .*refused\)"):
        RestClient(hosts(brokers[:1])).ask("Asking", "GET", "json")


def test_parts_of_the_cluster_are_found_among_several_of_a_role(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        Node(f"{role}-{number}", role, f"10.0.{place}.{number}", (), Path(), Path(), (1, 2), 0)
        for place, role in enumerate(("zookeeper", "bookie", "broker"))
        for number in (1, 2, 3)
    ]
    modes = {"zookeeper-1": "Mode: follower\n", "zookeeper-2": "", "zookeeper-3": "Mode: leader\n"}
    monkeypatch.setattr(
        readiness, "four_letter_word", lambda node, word: modes[node.name] if word == "srvr" else ""
    )
    asked: Any = PulsarAdmin(Cluster("pulsar", "4.0.8", {"broker": 3}), nodes)
    asked._recovery = Told("Auditor: 10.0.1.2/10.0.1.2:3181")

    assert asked.find("zookeeper leader", PAIR) == ["zookeeper-3"]
    assert asked.find("auditor", PAIR) == ["bookie-2"]
    modes["zookeeper-3"] = "Mode: follower\n"
    assert asked.find("zookeeper leader", PAIR) == []


PAIR = Topic("pair", 2)
UP, FROZEN = "10.0.0.1", "10.0.0.2"


class Told:
    """A REST interface as an administrator sees it: keeps what it was asked, refuses paths with `refused` in them."""

    def __init__(self, answer: object = None, refused: str | None = None, times: int = 99) -> None:
        self.asked: list[str] = []
        self._answer = answer
        self._refused = refused
        self._times = times

    def ask(self, doing: str, _method: str, path: str, *, absent_is_fine: bool = False) -> object:
        self.asked.append(path)
        if self._refused is not None and self._refused in path and self._times:
            self._times -= 1
            raise ClusterError(f"{doing}: none answered")
        return self._answer


def administrator(owners: Sequence[str | None], recovery: Told, rest: Told | None = None) -> Any:
    """One whose ZooKeeper knows these owners of two partitions, which have the ledgers 10, 20 and 11, 21."""
    nodes = [
        Node(f"broker-{number}", "broker", address, (), Path(), Path(), (6650, 8080), 0)
        for number, address in enumerate((UP, FROZEN), 1)
    ]
    asked: Any = PulsarAdmin(Cluster("pulsar", "4.0.8", {"broker": 2}), nodes)
    asked._zookeeper = SimpleNamespace(
        owner=lambda _, number: owners[number], ledgers=lambda _, number: [10 + number, 20 + number]
    )
    asked._single = {UP: Told({}), FROZEN: Told(refused="")}
    asked._recovery = recovery
    asked._rest_client = rest
    asked._topics = topic_admin.TopicAdmin(asked._rest_client, asked._name)
    return asked


@pytest.mark.parametrize(
    ("owners", "available"),
    [((UP, UP), True), ((UP, None), False), ((UP, FROZEN), False)],
    ids=["served", "nobody's", "frozen"],
)
def test_a_topic_is_served_once_the_owner_of_each_partition_says_so(
    owners: Sequence[str | None], available: bool
) -> None:
    assert administrator(owners, Told()).state(PAIR) == TopicState(available, False, None)


@pytest.mark.parametrize("first", [None, FROZEN])
def test_the_ledgers_of_every_partition_are_looked_at_though_the_first_is_not_served(
    first: str | None,
) -> None:
    recovery = Told([11])

    assert administrator((first, UP), recovery).state(PAIR) == TopicState(False, True, None)


@pytest.mark.parametrize(
    ("recovery", "missing"),
    [
        (Told(["21"]), True),
        (Told([7, 10]), True),
        (Told([7]), False),
        (Told([]), False),
        (Told(None), False),
        (Told(refused=""), None),
    ],
    ids=["last ledger", "first ledger", "of another topic", "empty", "no list", "silent"],
)
def test_copies_are_missing_while_a_ledger_of_the_topic_is_on_autorecoverys_list(
    recovery: Told, missing: bool | None
) -> None:
    assert administrator((UP, UP), recovery).state(PAIR) == TopicState(True, missing, None)


def test_nobody_can_tell_of_copies_before_zookeeper_told_of_ledgers() -> None:
    def silent(*_: object) -> list[int]:
        raise ClusterError("no ZooKeeper server answered")

    asked = administrator((UP, UP), Told([10]))
    told = asked._zookeeper.ledgers
    asked._zookeeper.ledgers = silent
    assert asked.state(PAIR) == TopicState(False, None, None)

    asked._zookeeper.ledgers = told
    asked.state(PAIR)
    asked._zookeeper.ledgers = silent
    assert asked.state(PAIR) == TopicState(False, True, None)


@pytest.mark.parametrize("wait_s", [60.0, 0.0], ids=["one wait", "waits in vain"])
@pytest.mark.parametrize(
    "refused", ["lookup/v2/topic/persistent/public/pair/pair-partition-1", "1/internalStats"]
)
def test_a_topic_is_settled_once_every_partition_has_an_owner_and_a_ledger(
    monkeypatch: pytest.MonkeyPatch, refused: str, wait_s: float
) -> None:
    monkeypatch.setattr(topic_admin, "_THERE_S", wait_s)
    monkeypatch.setattr(topic_admin, "_TURN_S", 0.0)
    late = Told({"httpUrl": f"http://{UP}:8080"}, refused, times=2)

    administrator((), Told(), late).await_settled(PAIR)

    assert sum(refused in path for path in late.asked) == 3
    assert len(set(late.asked)) == 2 * PAIR.partitions


def test_a_topic_that_does_not_settle_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_admin, "_THERE_S", 0.0)
    monkeypatch.setattr(admin, "SETTLES_S", 0.0)
    never = Told({"httpUrl": f"http://{UP}:8080"}, "1/internalStats")

    with pytest.raises(ClusterError, match="Loading partition 1 of pair: none answered"):
        administrator((), Told(), never).await_settled(PAIR)
