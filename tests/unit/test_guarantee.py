from __future__ import annotations

from typing import Any

import pytest

from bench.guarantee import Guarantee
from bench.systems.registry import describe


def stated(system: str, settings: dict[str, Any], configuration: dict[str, Any] | None = None) -> Guarantee:
    found = describe(system).guarantee(settings, configuration or {})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("settings", "promise"),
    [
        (
            {"acks": 0, "replicas": 4},
            "nothing: the client does not wait for the broker, so any failure may lose messages unnoticed",
        ),
        (
            {"acks": 1, "replicas": 4, "min.insync.replicas": 4},
            (
                "one copy, in the leader's page cache, and the other replicas follow later: what the leader has not "
                "handed on when it fails is lost, and so is what a power cut finds there; "
                "writes go on while a replica in sync is left"
            ),
        ),
        (
            {"acks": "all", "replicas": 4, "min.insync.replicas": 2},
            (
                "all in-sync replicas, at least 2 of 4, in page cache: survives the loss of any one node, "
                "not a power cut of all nodes; writes go on with any two of its nodes gone"
            ),
        ),
        (
            {"acks": "all", "replicas": 2, "min.insync.replicas": 2},
            (
                "all in-sync replicas, at least 2 of 2, in page cache: survives the loss of any one node, "
                "not a power cut of all nodes; writes stop with any one of its nodes gone, and what was "
                "acknowledged last may be unreadable until it is back"
            ),
        ),
        (
            {"acks": "-1", "replicas": 4, "min.insync.replicas": 4, "flush.messages": 1},
            (
                "all in-sync replicas, at least 4 of 4, on disk: survives the loss of any three nodes, "
                "and a power cut of all nodes; writes stop with any one of its nodes gone, and what was "
                "acknowledged last may be unreadable until it is back"
            ),
        ),
        (
            {"acks": "all", "replicas": 3, "min.insync.replicas": 1},
            (
                "all in-sync replicas, in page cache, but these may be the leader alone (min.insync.replicas=1): "
                "survives the loss of a node only while another replica is in sync, not a power cut of all nodes; "
                "writes go on while a replica in sync is left"
            ),
        ),
        (
            {"acks": "all", "replicas": 1},
            (
                "the only copy, in the leader's page cache: survives neither the loss of its node nor a power cut; "
                "writes stop with that node"
            ),
        ),
        (
            {"acks": 1, "replicas": 1, "flush.messages": 1},
            (
                "the only copy, on the leader's disk: survives a power cut, not the loss of its node; "
                "writes stop with that node"
            ),
        ),
        (
            {"acks": "all", "replicas": 1, "min.insync.replicas": 2},
            "nothing is acknowledged: min.insync.replicas=2 is more than replicas=1, so every write is refused",
        ),
    ],
)
def test_kafka(settings: dict[str, Any], promise: str) -> None:
    assert stated("kafka", settings).sentence == promise


@pytest.mark.parametrize(
    ("settings", "promise"),
    [
        (
            {"quorums": "3-2-2"},
            (
                "all 2 bookies of the write quorum have it in the journal, on disk (fdatasync): survives the loss of "
                "any one bookie, and a power cut of all nodes"
            ),
        ),
        (
            {"quorums": "4-3-2", "journalSyncData": False},
            (
                "2 of 3 bookies have it in the journal, in page cache: survives the loss of any one bookie, "
                "not a power cut of all nodes; a bookie that comes back from a power cut has forgotten its last "
                "entries"
            ),
        ),
        (
            {"quorums": "2-2-1", "journalSyncData": True},
            (
                "1 of 2 bookies has it in the journal, on disk (fdatasync): survives the loss of a bookie only once "
                "another copy is written, and a power cut of all nodes"
            ),
        ),
        (
            {"quorums": "1-1-1", "journalSyncData": False},
            (
                "one bookie has the only copy in the journal, in page cache: survives neither the loss of its bookie "
                "nor a power cut"
            ),
        ),
    ],
)
def test_pulsar(settings: dict[str, Any], promise: str) -> None:
    assert stated("pulsar", settings).sentence == promise


@pytest.mark.parametrize(("replicas", "waits"), [(2, True), (3, False)])
def test_reads_wait_where_every_replica_must_be_in_sync(replicas: int, waits: bool) -> None:
    settings = {"acks": "all", "replicas": replicas, "min.insync.replicas": 2}

    assert stated("kafka", settings).reads_wait is waits


@pytest.mark.parametrize(
    ("bookies", "writes"),
    [
        (3, "; writes stop with any one bookie gone, as no other can take its place"),
        (4, "; writes go on with any one bookie gone"),
        (5, "; writes go on with any two bookies gone"),
    ],
)
def test_pulsars_writes_go_on_where_another_bookie_can_take_the_place(bookies: int, writes: str) -> None:
    configuration = {"nodes": {"zookeeper": 1, "bookie": bookies, "broker": 2}}
    promise = stated("pulsar", {"quorums": "3-3-2"}, configuration)

    assert promise.sentence.endswith(
        f"survives the loss of any one bookie, and a power cut of all nodes{writes}"
    )
    assert promise.spare == bookies - 3


MEMORY = {"journalSyncData": False}


@pytest.mark.parametrize(
    ("kafka", "pulsar", "same"),
    [
        ({"acks": "all", "replicas": 3, "min.insync.replicas": 2}, {"quorums": "3-3-2", **MEMORY}, True),
        ({"acks": "all", "replicas": 3, "min.insync.replicas": 2}, {"quorums": "3-3-2"}, False),
        ({"acks": "all", "replicas": 3, "min.insync.replicas": 3}, {"quorums": "3-3-2", **MEMORY}, False),
        ({"acks": "1", "replicas": 1}, {"quorums": "1-1-1", **MEMORY}, True),
        ({"acks": "1", "replicas": 2}, {"quorums": "2-2-1", **MEMORY}, True),
        ({"acks": "all", "replicas": 2}, {"quorums": "2-2-1", **MEMORY}, False),
        ({"acks": "0"}, {"quorums": "1-1-1", **MEMORY}, False),
    ],
)
def test_the_same_promise_is_known_whatever_the_system(
    kafka: dict[str, Any], pulsar: dict[str, Any], same: bool
) -> None:
    assert stated("kafka", kafka).same(stated("pulsar", pulsar)) == same


def test_where_nothing_is_promised_nothing_is_the_same() -> None:
    nothing = stated("kafka", {"acks": 0})

    assert not nothing.same(nothing)
    assert nothing.survives == "nothing"


def test_what_is_not_swept_comes_from_the_configuration() -> None:
    configuration = {
        "topic": {"replicas": 3, "min.insync.replicas": 2},
        "producer": {"acks": "1"},
        "cluster_settings": {"broker": {"min.insync.replicas": 1}},
    }
    promise = stated("kafka", {"acks": "all"}, configuration)
    assert promise.sentence.startswith("all in-sync replicas, at least 2 of 3")


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_a_topic_that_does_not_say_has_the_replicas_that_the_suite_gives_it(
    brokers: int, replicas: int
) -> None:
    """The brokers' default.replication.factor is not asked: the suite makes the topic, with its own number."""
    configuration = {
        "nodes": {"broker": brokers},
        "cluster_settings": {"broker": {"default.replication.factor": 2}},
    }
    settings = {"acks": "all", "flush.messages": 1}
    assert stated("kafka", settings, configuration) == stated("kafka", {**settings, "replicas": replicas})


def test_a_swept_setting_may_carry_its_owner() -> None:
    assert stated("kafka", {"producer.acks": 0}) == stated("kafka", {"acks": 0})


def test_servers_settings_count() -> None:
    configuration = {
        "topic": {"quorums": "3-3-2"},
        "cluster_settings": {"bookie": {"journalSyncData": False}},
    }
    assert "in page cache" in stated("pulsar", {}, configuration).sentence


@pytest.mark.parametrize(("system", "settings"), [("memory", {}), ("pulsar", {}), ("other", {"acks": 1})])
def test_no_promise_is_made_up(system: str, settings: dict[str, Any]) -> None:
    assert describe(system).guarantee(settings, {}) is None


def test_nothing_is_said_of_copies_where_neither_replicas_nor_brokers_are_known() -> None:
    assert describe("kafka").guarantee({}, {"partitions": 12}) is None
    assert stated("kafka", {}, {"nodes": {"broker": 1}}).sentence.startswith("the only copy")
    assert stated("kafka", {"acks": 0}).nodes is None
