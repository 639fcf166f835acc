import json
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bench.errors import ClusterError
from bench.model import Node, Topic
from bench.systems.pulsar import topics
from bench.systems.pulsar.admin import ledger_metadata
from bench.systems.pulsar.registered import ledger_ids
from bench.systems.pulsar.rest import Rest
from bench.systems.pulsar.topics import Quorums

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
        Node(name, "broker", address, (), Path(), Path(), (server.server_port,), 0)
        for name, address in (("broker-1", "127.0.0.2"), ("broker-2", "127.0.0.1"))
    ]
    server.shutdown()
    server.server_close()
    thread.join()


def asked(brokers: list[Node]) -> Rest:
    return Rest(brokers, port=brokers[0].ports[0])


@pytest.mark.parametrize(("path", "answer"), [("json", {"a": 1}), ("version", "4.0.8")])
def test_the_next_broker_answers_where_one_is_down(brokers: list[Node], path: str, answer: object) -> None:
    assert asked(brokers).ask("Asking", "GET", path) == answer


def test_a_refusal_is_told_with_the_brokers_reason(brokers: list[Node]) -> None:
    expected = "Asking: broker-2 answered GET /refused with 412: Namespace has no cluster"

    with pytest.raises(ClusterError, match=expected):
        asked(brokers).ask("Asking", "GET", "refused")


def test_what_is_not_there_may_be_fine(brokers: list[Node]) -> None:
    assert asked(brokers).ask("Deleting", "GET", "absent", absent_is_fine=True) is None


def test_no_broker_at_all_is_an_error_that_names_them(brokers: list[Node]) -> None:
    with pytest.raises(ClusterError, match=r"none answered: broker-1 \(ConnectError\)"):
        asked(brokers[:1]).ask("Asking", "GET", "json")
