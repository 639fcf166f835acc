import runpy
from dataclasses import replace
from typing import Any

import pytest

from bench.model import Case, Cluster, Load, Pacing, Settings, text
from bench.systems.kafka import config, settings
from bench.systems.properties import unknown, wrong_values

SOUND = Case(
    system="kafka",
    name="kafka",
    swept={},
    cluster=Cluster("kafka", "4.3.1", {"controller": 1, "broker": 4}, {"broker": {"num.io.threads": 4}}),
    partitions=12,
    topic={"replicas": 3, "min.insync.replicas": 2, "flush.messages": 1},
    producer={"acks": "all", "linger.ms": 0, "retries": 0},
    consumer={"fetch.wait.max.ms": 10},
    load=Load(1, 1000, Pacing(), 1, 1, 1.0, 1.0, None),
)


def with_cluster(**changes: Any) -> Case:
    return replace(SOUND, cluster=replace(SOUND.cluster, **changes))


def test_a_sound_case_has_no_complaints() -> None:
    assert settings.check(SOUND) == []
    assert unknown(settings.owner_settings(SOUND)) == []


@pytest.mark.parametrize(
    ("case", "owner", "name", "nearest"),
    [
        (replace(SOUND, producer={"linger": 5}), "producer", "linger", "linger.ms"),
        (replace(SOUND, producer={"fetch.min.byte": 5}), "producer", "fetch.min.byte", None),
        (replace(SOUND, consumer={"fetch.min.byte": 5}), "consumer", "fetch.min.byte", "fetch.min.bytes"),
        (
            replace(SOUND, topic={"min.isync.replicas": 1}),
            "topic",
            "min.isync.replicas",
            "min.insync.replicas",
        ),
        (
            with_cluster(settings={"broker": {"num.io.thread": 1}}),
            "broker",
            "num.io.thread",
            "num.io.threads",
        ),
        (with_cluster(settings={"controller": {"flush.messages": 1}}), "controller", "flush.messages", None),
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
        (replace(SOUND, topic={"replicas": 5}), "5 replicas need as many brokers, and the cluster has 4"),
        (
            replace(SOUND, topic={"replicas": 4}, faults=({"drain": "broker-1"},)),
            "4 replicas need as many brokers, and a drained one leaves 3: add one",
        ),
        (replace(SOUND, faults=({"drain": {"node": "broker-1", "rate": "5MB/s"}},)), None),
        (replace(SOUND, topic={"replicas": 0}), "replicas is a whole number from 1 on, not 0"),
        (replace(SOUND, topic={"replicas": "two"}), "replicas is a whole number"),
        (replace(SOUND, topic={"replicas": 1, "min.insync.replicas": 2}), "can't be reached with 1 replica:"),
        (replace(SOUND, topic={"min.insync.replicas": 4}), "can't be reached with 3 replicas"),
        (replace(SOUND, topic={"min.insync.replicas": 0}), "min.insync.replicas is a whole number from 1 on"),
        (replace(SOUND, partitions=0), "at least one partition"),
        (with_cluster(nodes={"broker": 4}), "1 to 10 nodes of the role controller, not 0"),
        (with_cluster(nodes={"controller": 1, "broker": 201}), "1 to 200 nodes of the role broker"),
        (with_cluster(heap_mib={"brokr": 512}), "no role brokr"),
        (with_cluster(version="2.8.2"), "too old"),
        (with_cluster(version="latest"), "no version"),
        (with_cluster(settings={"broker": {"min.insync.replicas": 9}}), None),
        (with_cluster(settings={"broker": {"listeners": "X://:1"}}), "listeners can't be set for a broker"),
        (replace(SOUND, producer={"bootstrap.servers": "x"}), "bootstrap.servers can't be set"),
        (replace(SOUND, producer={"acks": 1, "enable.idempotence": True}), "client refuses these producer"),
        (replace(SOUND, producer={"acks": 5000}), "client refuses these producer settings"),
        (replace(SOUND, consumer={"isolation.level": "none"}), "client refuses these consumer settings"),
        (replace(SOUND, producer={"acks": 1, "request.required.acks": 1}), "one property under two names"),
        (replace(SOUND, load=replace(SOUND.load, message_bytes=2_000_000)), "message.max.bytes=1000000"),
        (
            replace(SOUND, load=replace(SOUND.load, message_bytes=5000), topic={"max.message.bytes": 5000}),
            "max.message.bytes=5000",
        ),
        (
            replace(SOUND, topic={"max.message.bytes": "1MB"}),
            "max.message.bytes of the topic is a whole number",
        ),
        (replace(SOUND, topic={"retention.ms": "7d"}), "retention.ms of the topic is a whole number"),
        (replace(SOUND, topic={"retention.ms": 1000}), "may delete messages before the full read"),
        (replace(SOUND, topic={"cleanup.policy": "compact"}), "deletes messages before the full read"),
        (replace(SOUND, topic={"flush.messages": "sometimes"}), "flush.messages of the topic is a whole"),
        (
            replace(SOUND, topic={"unclean.leader.election.enable": "perhaps"}),
            "is true or false, not perhaps",
        ),
        (with_cluster(settings={"broker": {"num.io.threads": "many"}}), "num.io.threads of the broker is a"),
        (replace(SOUND, producer={"message.max.bytes": "1MB"}), "client refuses these producer settings"),
        (replace(SOUND, producer={"acks": 2}), "acks is 0, 1 or all, not 2"),
        (
            replace(SOUND, producer={"partitioner": "random"}, load=replace(SOUND.load, keys=10)),
            "leave the producer's partitioner out",
        ),
        (with_cluster(nodes={"zookeeper": 1, "broker": 4}), "knows no ZooKeeper any more"),
        (
            with_cluster(version="2.4.1", nodes={"zookeeper": 1, "broker": 4}),
            "with ZooKeeper are run from 2.8 on",
        ),
        (
            with_cluster(nodes={"zookeeper": 1, "controller": 1, "broker": 4}),
            "controllers or ZooKeeper, not both",
        ),
        (with_cluster(settings={"features": {"eligible.leader.replicas.version": 1}}), None),
        (
            with_cluster(settings={"features": {"eligible.leader.replicas.version": "on"}}),
            "eligible.leader.replicas.version of the features is a whole number",
        ),
        (
            with_cluster(version="3.9.2", settings={"features": {"eligible.leader.replicas.version": 1}}),
            "has no features that can be set",
        ),
    ],
)
def test_what_cannot_be_is_said_in_full_sentences(case: Case, complaint: str | None) -> None:
    found = settings.check(case)

    assert complaint is None or any(complaint in sentence for sentence in found)
    assert all(sentence.endswith(".") and not sentence.endswith("..") for sentence in found)


@pytest.mark.parametrize(
    "topic",
    [{"retention.ms": -1}, {"retention.ms": 86_400_000}, {"flush.messages": "never"}, {"flush.ms": "5"}],
)
def test_what_keeps_messages_and_what_is_a_value_is_taken(topic: Settings) -> None:
    assert settings.check(replace(SOUND, topic=topic)) == []


def test_a_topic_without_a_number_of_copies_gets_three_or_one_per_broker() -> None:
    two_brokers = replace(
        with_cluster(nodes={"controller": 1, "broker": 2}), topic={"min.insync.replicas": 3}
    )

    assert "min.insync.replicas=3 can't be reached with 2 replicas" in settings.check(two_brokers)[0]


def test_the_brokers_own_minimum_counts_where_the_topic_says_none() -> None:
    case = replace(with_cluster(settings={"broker": {"min.insync.replicas": 3}}), topic={"replicas": 2})

    assert "min.insync.replicas=3" in settings.check(case)[0]


@pytest.mark.parametrize("given", [{"linger.ms": 7}, {"queue.buffering.max.ms": 7}])
def test_a_setting_replaces_a_default_under_any_of_its_names(given: Settings) -> None:
    merged = settings.merge_settings({"linger.ms": 0, "acks": "all"}, given)

    assert merged == {"acks": "all", **given}
    assert settings.lookup(merged, "linger.ms") == 7


def test_listed_client_properties_are_those_of_the_installed_client() -> None:
    listing = runpy.run_path(str(config.FOLDER / "list_client_properties.py"))["listing"]

    assert (config.FOLDER / "client-properties.txt").read_text() == listing()


def test_templates_set_only_properties_that_exist() -> None:
    for role in ("controller", "broker"):
        lines = (config.FOLDER / f"{role}.properties").read_text().splitlines()
        given: Settings = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        plain = {name: value for name, value in given.items() if "${" not in text(value)}
        assert given.keys() <= settings.server_properties().keys()
        assert list(wrong_values(role, plain, settings.server_properties())) == []


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"commit": "after"}, None),
        ({"commit": "transaction", "batch": 10, "work": "0.5ms"}, None),
        ({"commit": "later"}, "needs commit, one of before, after, transaction, not later"),
        ({"batch": 10}, "needs commit"),
        ({"commit": "after", "batch": 0}, "batch is a whole number from 1 on, not 0"),
        ({"commit": "after", "batch": 5001}, "5001 messages of 2ms take longer"),
        ({"commit": "after", "work": -1}, "work is -1; a duration is a number with its unit: 500ms"),
    ],
)
def test_a_processor_says_when_it_commits(given: Settings, complaint: str | None) -> None:
    said = settings.check(replace(SOUND, processor=given))

    assert said == [] if complaint is None else complaint in " ".join(said)


def test_a_processors_misspelt_setting_is_shown_with_the_nearest_name() -> None:
    assert unknown(settings.owner_settings(replace(SOUND, processor={"comit": "after"}))) == [
        ("processor", "comit", ["commit"])
    ]


def test_never_is_what_kafka_writes_for_it() -> None:
    given: Settings = {"replicas": 3, "flush.messages": "never", "flush.ms": 5, "cleanup.policy": "never"}

    assert settings.topic_settings(given) == {
        "flush.messages": 9_223_372_036_854_775_807,
        "flush.ms": 5,
        "cleanup.policy": "never",
    }
