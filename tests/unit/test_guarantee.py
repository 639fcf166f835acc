from __future__ import annotations

from typing import Any

import pytest

from bench.analysis.guarantee import guarantee


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
                "handed on when it fails is lost, and so is what a power cut finds there"
            ),
        ),
        (
            {"acks": "all", "replicas": 4, "min.insync.replicas": 2},
            (
                "all in-sync replicas, at least 2 of 4, in page cache: survives the loss of any one node, "
                "not a power cut of all nodes"
            ),
        ),
        (
            {"acks": "-1", "replicas": 4, "min.insync.replicas": 4, "flush.messages": 1},
            (
                "all in-sync replicas, at least 4 of 4, on disk: survives the loss of any three nodes, "
                "and a power cut of all nodes"
            ),
        ),
        (
            {"acks": "all", "replicas": 3, "min.insync.replicas": 1},
            (
                "all in-sync replicas, in page cache, but these may be the leader alone (min.insync.replicas=1): "
                "survives the loss of a node only while another replica is in sync, not a power cut of all nodes"
            ),
        ),
        (
            {"acks": "all", "replicas": 1},
            "the only copy, in the leader's page cache: survives neither the loss of that node nor a power cut",
        ),
        (
            {"acks": 1, "replicas": 1, "flush.messages": 1},
            "the only copy, on the leader's disk: survives a power cut, not the loss of that node",
        ),
        (
            {"acks": "all", "replicas": 1, "min.insync.replicas": 2},
            "nothing is acknowledged: min.insync.replicas=2 is more than replicas=1, so every write is refused",
        ),
    ],
)
def test_kafka(settings: dict[str, Any], promise: str) -> None:
    assert guarantee("kafka", settings, {}) == promise


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
                "not a power cut of all nodes"
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
                "one bookie has the only copy in the journal, in page cache: survives neither the loss of that bookie "
                "nor a power cut"
            ),
        ),
    ],
)
def test_pulsar(settings: dict[str, Any], promise: str) -> None:
    assert guarantee("pulsar", settings, {}) == promise


def test_what_is_not_swept_comes_from_the_configuration() -> None:
    configuration = {
        "topic": {"replicas": 3, "min.insync.replicas": 2},
        "producer": {"acks": "1"},
        "cluster_settings": {"broker": {"min.insync.replicas": 1}},
    }
    promise = guarantee("kafka", {"acks": "all"}, configuration)
    assert promise is not None
    assert promise.startswith("all in-sync replicas, at least 2 of 3")


def test_a_swept_setting_may_carry_its_owner() -> None:
    assert guarantee("kafka", {"producer.acks": 0}, {}) == guarantee("kafka", {"acks": 0}, {})


def test_servers_settings_count() -> None:
    configuration = {
        "topic": {"quorums": "3-3-2"},
        "cluster_settings": {"bookie": {"journalSyncData": False}},
    }
    promise = guarantee("pulsar", {}, configuration)
    assert promise is not None
    assert "in page cache" in promise


@pytest.mark.parametrize(("system", "settings"), [("memory", {}), ("pulsar", {}), ("other", {"acks": 1})])
def test_no_promise_is_made_up(system: str, settings: dict[str, Any]) -> None:
    assert guarantee(system, settings, {}) is None
