from dataclasses import replace
from typing import Any

import pulsar
import pytest

from bench.model import Case, Cluster, Load, Pacing, Settings
from bench.systems.properties import unknown, wrong_values
from bench.systems.pulsar import arguments, config, settings
from bench.systems.pulsar.arguments import ClientKind
from bench.systems.pulsar.nodes import FOLDER, ROLES

SOUND = Case(
    system="pulsar",
    name="pulsar",
    swept={},
    cluster=Cluster(
        "pulsar",
        "4.0.8",
        {"zookeeper": 1, "bookie": 4, "broker": 2},
        {"bookie": {"journalSyncData": False}, "broker": {"bookkeeper_addEntryTimeoutSec": 5}},
    ),
    partitions=12,
    topic={"quorums": "3-3-2", "deduplicationEnabled": True},
    producer={"batching_enabled": True, "compression_type": "LZ4", "io_threads": 2},
    consumer={"receiver_queue_size": 10},
    load=Load(1, 1000, Pacing(), 1, 1, 1.0, 1.0, None),
)


def with_cluster(**changes: Any) -> Case:
    return replace(SOUND, cluster=replace(SOUND.cluster, **changes))


def with_servers(**settings_: Any) -> Case:
    return with_cluster(settings=settings_)


def test_a_sound_case_has_no_complaints() -> None:
    assert settings.check(SOUND) == []
    assert unknown(settings.owner_settings(SOUND)) == []


@pytest.mark.parametrize(
    ("case", "owner", "name", "nearest"),
    [
        (replace(SOUND, producer={"batching": True}), "producer", "batching", None),
        (
            replace(SOUND, producer={"send_timeout_ms": 1}),
            "producer",
            "send_timeout_ms",
            "send_timeout_millis",
        ),
        (
            replace(SOUND, producer={"receiver_queue_size": 1}),
            "producer",
            "receiver_queue_size",
            None,
        ),
        (replace(SOUND, producer={"schema": "x"}), "producer", "schema", None),
        (
            replace(SOUND, consumer={"reciever_queue_size": 1}),
            "consumer",
            "reciever_queue_size",
            "receiver_queue_size",
        ),
        (replace(SOUND, topic={"quorum": "3-3-2"}), "topic", "quorum", "quorums"),
        (
            with_servers(bookie={"journalSync": True}),
            "bookie",
            "journalSync",
            "journalSyncData",
        ),
        (
            with_servers(broker={"managedLedgerDefaultWriteQuorums": 1}),
            "broker",
            "managedLedgerDefaultWriteQuorums",
            "managedLedgerDefaultWriteQuorum",
        ),
        (with_servers(zookeeper={"ticktime": 1}), "zookeeper", "ticktime", "tickTime"),
    ],
)
def test_a_misspelt_setting_is_shown_with_the_nearest_name(
    case: Case, owner: str, name: str, nearest: str | None
) -> None:
    [(found_owner, found_name, near)] = unknown(settings.owner_settings(case))

    assert (found_owner, found_name) == (owner, name)
    assert nearest is None or nearest in near


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        (replace(SOUND, topic={"quorums": "3-3"}), "three whole numbers such as 3-3-2, not 3-3"),
        (replace(SOUND, topic={"quorums": 332}), "three whole numbers"),
        (replace(SOUND, topic={"quorums": "2-2-3"}), "can't wait for 3 copies of 2"),
        (replace(SOUND, topic={"quorums": "2-3-2"}), "3 copies need an ensemble of as many bookies"),
        (replace(SOUND, topic={"quorums": "5-2-2"}), "need 5 bookies, and the cluster has 4"),
        (replace(SOUND, topic={"quorums": "2-2-0"}), "the ack quorum is at least 1"),
        (
            replace(SOUND, topic={"quorums": "4-3-2"}, faults=({"drain": "bookie-1"},)),
            "Quorums 4-3-2 need 4 bookies, and a drained one leaves 3: add one",
        ),
        (
            replace(SOUND, faults=({"drain": {"node": "bookie-1", "rate": "5MB/s"}},)),
            "has no rate that a step could set: leave `rate` out of `drain`",
        ),
        (replace(SOUND, topic={"bundles": 0}), "bundles is a whole number from 1 on, not 0"),
        (replace(SOUND, partitions=0), "at least one partition"),
        (with_cluster(nodes={"bookie": 4, "broker": 1}), "1 to 10 nodes of the role zookeeper, not 0"),
        (with_cluster(heap_mib={"proxy": 512}), "no role proxy"),
        (with_servers(bookie={"bookiePort": 1}), "bookiePort can't be set for a bookie"),
        (with_servers(broker={"clusterName": "x"}), "clusterName can't be set for a broker"),
        (
            with_servers(broker={"metadataStoreSessionTimeoutMillis": 3000}),
            "ZooKeeper grants sessions of 4000 to 40000 ms",
        ),
        (
            with_servers(bookie={"zkTimeout": "6s"}),
            "zkTimeout of the bookie is a number, without a unit, not 6s",
        ),
        (with_servers(bookie={"journalSyncData": "yess"}), "journalSyncData of the bookie is true or false"),
        (with_servers(zookeeper={"tickTime": "2s"}), "tickTime of the zookeeper is a whole number"),
        (
            with_servers(broker={"metadataStoreSessionTimeoutMillis": "6s"}),
            "metadataStoreSessionTimeoutMillis of the broker is a whole number",
        ),
        (with_servers(broker={"maxMessageSize": "5MB"}), "maxMessageSize of the broker is a whole number"),
        (with_servers(bookie={"zkTimeout": 50000}), "zkTimeout=50000 of the bookie would not hold"),
        (replace(SOUND, producer={"compression_type": "GZIP"}), "compression_type is one of LZ4, NONE"),
        (replace(SOUND, producer={"send_timeout_millis": "1s"}), "is of the type int, and '1s' is not"),
        (replace(SOUND, producer={"batching_enabled": 1}), "is of the type bool, and 1 is not"),
        (
            replace(SOUND, producer={"message_router": "by key"}),
            "message_router is 'fewest open', not 'by key'",
        ),
        (replace(SOUND, consumer={"consumer_type": "Solo"}), "consumer_type is one of Exclusive"),
        (
            replace(SOUND, producer={"batching_enabled": True, "chunking_enabled": True}),
            "exclude each other",
        ),
        (replace(SOUND, load=replace(SOUND.load, message_bytes=6_000_000)), "maxMessageSize=5242880"),
    ],
)
def test_what_cannot_be_is_said_in_full_sentences(case: Case, complaint: str) -> None:
    found = settings.check(case)

    assert any(complaint in sentence for sentence in found)
    assert all(sentence.endswith(".") and not sentence.endswith("..") for sentence in found)


def test_shorter_ticks_allow_shorter_sessions() -> None:
    servers = {"zookeeper": {"tickTime": 1000}, "broker": {"metadataStoreSessionTimeoutMillis": 3000}}

    assert settings.check(with_servers(**servers)) == []


def test_without_quorums_the_brokers_own_must_fit() -> None:
    case = replace(with_cluster(nodes={"zookeeper": 1, "bookie": 1, "broker": 1}), topic={})

    assert settings.check(case) == ["Quorums 2-2-2 need 2 bookies, and the cluster has 1."]


def test_templates_set_only_properties_that_exist() -> None:
    for role in ROLES:
        given: Settings = dict(config.read_properties(FOLDER / f"{role}.conf"))
        assert given.keys() <= settings.server_properties(role).keys()
        assert list(wrong_values(role, given, settings.server_properties(role))) == []


def test_clients_take_their_settings_as_arguments() -> None:
    given: Settings = {"compression_type": "ZSTD", "io_threads": 3, "send_timeout_millis": 5}

    assert arguments.of_client(given) == {"io_threads": 3}
    assert arguments.of_kind(ClientKind.PRODUCER, given) == {
        "compression_type": pulsar.CompressionType.ZSTD,
        "send_timeout_millis": 5,
    }


def test_what_is_in_force_includes_the_clients_defaults() -> None:
    told = arguments.in_force(ClientKind.PRODUCER, {"send_timeout_millis": 5})

    assert (told["send_timeout_millis"], told["batching_enabled"], told["compression_type"]) == (
        5,
        False,
        "NONE",
    )


@pytest.mark.parametrize(
    ("given", "topic", "complaint"),
    [
        ({"acknowledge": "after"}, {}, None),
        ({"acknowledge": "deduplicated"}, {}, None),
        ({"acknowledge": "deduplicated"}, {"deduplicationEnabled": False}, "needs deduplicationEnabled=true"),
        ({"acknowledge": "transaction"}, {}, "one of before, after, deduplicated, not transaction"),
    ],
)
def test_a_processor_says_when_it_acknowledges(
    given: Settings, topic: Settings, complaint: str | None
) -> None:
    said = settings.check(replace(SOUND, processor=given, topic={**SOUND.topic, **topic}))

    assert said == [] if complaint is None else complaint in " ".join(said)


def keyed(kind: str, keys: int, **producer: Any) -> Case:
    case = replace(SOUND, load=replace(SOUND.load, keys=keys), consumer_group={"type": kind})
    return replace(case, producer={**SOUND.producer, **producer})


def test_keys_are_dealt_out_by_a_key_shared_subscription() -> None:
    assert settings.check(keyed("Key_Shared", 100)) == []
    assert settings.check(keyed("Key_Shared", 100, batching_type="KeyBased")) == []
    assert settings.check(keyed("Shared", 100, batching_type="Default")) == []


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (keyed("Key_Shared", 0), "set load.keys"),
        (keyed("Key_Shared", 100, batching_type="Default"), "set batching_type to KeyBased"),
        (keyed("Shared", 100, message_router="fewest open"), "leave the producer's message_router out"),
    ],
)
def test_keys_that_cannot_be_dealt_out_are_refused(case: Case, message: str) -> None:
    (refusal,) = settings.check(case)

    assert message in refusal
