"""What the suite knows of Kafka beside how to run it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bench.guarantee import Configuration, Guarantee
from bench.model import text
from bench.sizing.published_rules import RuleSize
from bench.sizing.requirement import NodeType, Requirement
from bench.sizing.workload import READ, TAKEN_IN, Term
from bench.systems.description import (
    CaseSettings,
    Colours,
    Description,
    GlossaryTerm,
    Installation,
    MissingCopies,
    Nodes,
    PublishedImage,
    Role,
    Timer,
)
from bench.systems.kafka import promise, published_rules
from bench.systems.kafka.group_types import GROUP_TYPES
from bench.systems.kafka.nodes import BROKER, CONTROLLER, ZOOKEEPER

if TYPE_CHECKING:
    from bench.systems.protocols import System
    from bench.systems.servers import Servers

_IDEMPOTENCE = "enable.idempotence"


class KafkaDescription(Description):
    """See description.Description."""

    title: ClassVar[str] = "Kafka"
    about: ClassVar[str] = (
        "Apache Kafka. `topic` takes replicas and topic properties; the others Kafka's and librdkafka's own names."
    )
    colours: ClassVar[Colours | None] = Colours("#1d4f91", "#0b2748", "#5f97d3")
    marker: ClassVar[str] = "o"
    roles: ClassVar[tuple[Role, ...]] = (
        Role(
            ZOOKEEPER,
            count=0,
            least=0,
            purpose="How many coordinate the cluster before Kafka 4.0, in place of controllers.",
            settings="zookeeper.properties of each ZooKeeper; a list is swept.",
        ),
        Role(
            CONTROLLER,
            count=1,
            least=0,
            purpose="How many KRaft controllers; 0 with ZooKeeper.",
            settings="server.properties of each controller; a list is swept.",
        ),
        Role(
            BROKER,
            count=4,
            purpose="How many brokers, which keep the messages.",
            settings="server.properties of each broker; a list is swept.",
            keeps_messages=True,
            takes_sends=True,
            work=(TAKEN_IN, Term("copied", of_copies=1, fixed=-1), READ),
            missing_copies=MissingCopies("partitions that lack a replica in sync", add_up=True),
        ),
    )
    """A broker that leads a partition holds the first copy itself."""
    other_settings: ClassVar[Mapping[str, str]] = {
        "features": "Levels of the cluster's features, such as eligible.leader.replicas.version; a list is swept."
    }
    common_settings: ClassVar[Mapping[str, str]] = {
        "topic": "Settings of the topic: `replicas` (without it one a broker, at most 3), topic properties.",
        "processor": "An application between two topics: when it settles (`commit`: before, after, transaction), "
        "`batch`, `work`.",
    }
    group_types: ClassVar[tuple[str, ...]] = GROUP_TYPES
    start_s: ClassVar[float] = 20.0
    writes_per_copy: ClassVar[int] = 1
    installation: ClassVar[Installation | None] = Installation({CONTROLLER: 1, BROKER: 1}, {"replicas": 1})
    image: ClassVar[PublishedImage | None] = PublishedImage("apache/kafka", "/opt/kafka/libs/*")
    address_key: ClassVar[str] = "bootstrap.servers"
    libraries: ClassVar[tuple[str, ...]] = ("librdkafka", "confluent-kafka")
    producer_settings: ClassVar[tuple[str, ...]] = (_IDEMPOTENCE, "linger.ms", "compression.type")
    naming_settings: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("producer", "acks"),
        ("producer", _IDEMPOTENCE),
        ("topic", "replicas"),
        ("topic", "min.insync.replicas"),
        ("topic", "flush.messages"),
        ("cluster_settings", BROKER, "log.flush.interval.messages"),
    )
    guarantee_settings: ClassVar[tuple[str, ...]] = ("replicas", "min.insync.replicas", "acks")
    shipped: ClassVar[Mapping[str, str]] = {"min.insync.replicas": "1", "acks": "all"}
    deviations: ClassVar[tuple[tuple[str, str], ...]] = (
        ("flush.messages", "1"),
        ("log.flush.interval.messages", "1"),
        ("unclean.leader.election.enable", "true"),
        (_IDEMPOTENCE, "true"),
    )
    copy_settings: ClassVar[frozenset[str]] = frozenset({"replicas", "min.insync.replicas"})
    batch_settings: ClassVar[frozenset[str]] = frozenset({"linger.ms", "batch.num.messages"})
    fsync_setting: ClassVar[str] = "topic.flush.messages=1"
    resends_remark: ClassVar[str] = (
        "Kafka's producer runs without idempotence here (librdkafka's default), so a message that is sent again can be "
        "stored again or out of order. Java's producer has it on."
    )
    terms: ClassVar[tuple[GlossaryTerm, ...]] = (
        GlossaryTerm(
            "acks",
            r"\backs=|\backs\b",
            "Whom a Kafka producer waits for: 0 nobody, 1 the partition's leader, all the in-sync replicas.",
        ),
        GlossaryTerm(
            "min.insync.replicas",
            r"\bmin\.insync\.replicas\b|\bin.sync\b",
            "How many replicas of a Kafka partition must be in sync for acks=all to take a write, which then "
            "waits for all that are.",
        ),
    )
    request_timer: ClassVar[Timer] = Timer(too_long_ns=500_000)
    """Brokers count requests in whole milliseconds, rounded."""
    spare_of_partition: ClassVar[bool] = True

    def promise(self, case_settings: CaseSettings, nodes: Nodes) -> Guarantee | None:
        """See Description. How many copies there are is known only with `replicas` or the number of brokers."""
        return promise.promise(case_settings, promise.replicas(nodes[BROKER]) if BROKER in nodes else None)

    def copies(self, case_settings: CaseSettings, nodes: Nodes) -> int:
        """See Description."""
        return int(case_settings.get("replicas", promise.replicas(nodes.get(BROKER, 1))))

    def copies_in_turn(self, case_settings: CaseSettings) -> int:
        """See Description. Followers, for which acks=all waits, fetch what the leader has."""
        return 2 if promise.acks(case_settings) in {"all", "-1"} else 1

    def waits(self, case_settings: CaseSettings) -> bool:
        """See Description."""
        return promise.acks(case_settings) != "0"

    def synced_logs(self, case_settings: CaseSettings, partitions: int, nodes: Nodes) -> int | None:
        """See Description. Replicas are dealt out evenly, and each has a log of its own."""
        brokers = nodes.get(BROKER, 1)
        return max(1, math.ceil(partitions * self.copies(case_settings, nodes) / brokers))

    def deduplicates(self, case_settings: CaseSettings, producer: Mapping[str, Any]) -> bool:
        """See Description."""
        return text(producer.get(_IDEMPOTENCE, case_settings.get(_IDEMPOTENCE, ""))) == "true"

    def resends(self, producer: Mapping[str, Any]) -> bool:
        """See Description: it waits for all replicas, as Java's does by default, and has idempotence off."""
        waits_for_all = text(producer.get("acks", "")) in {"all", "-1"}
        return waits_for_all and text(producer.get(_IDEMPOTENCE, "")) == "false"

    def session_timeouts(self, roles: Collection[str]) -> Sequence[str]:
        """See Description."""
        return ("zookeeper.session.timeout.ms" if ZOOKEEPER in roles else "broker.session.timeout.ms",)

    def duplicates_remark(self, effective: Sequence[Mapping[str, Any]]) -> str:
        """See Description."""
        producers = (
            (trial_settings.get("producer") or {}).get(_IDEMPOTENCE, "true") for trial_settings in effective
        )
        off = any(text(producer) == "false" for producer in producers)
        return "Kafka's producer without idempotence where the case does not name it" if off else ""

    def fsync_remark(self, configuration: Configuration) -> str:
        """See Description."""
        if "flush.messages" not in (configuration.get("topic") or {}):
            return ""
        return (
            "With flush.messages=1 Kafka also syncs its two index files, which change every 4 KiB: a message of 1 kB "
            "waits for 1.5 fsyncs on average (docs/method/load.md)."
        )

    def published_rules(self, requirement: Requirement, nodes: Mapping[str, NodeType]) -> list[RuleSize]:
        """See Description."""
        return published_rules.published_rules(requirement, nodes[BROKER])

    def build_profiles(self, version: str) -> Sequence[str]:
        """See Description. Logging changed with 4.0, and each way wants its own jars."""
        return ["-Preload4j"] if re.match(r"[0-3]\.", version) else []

    def client_versions(self) -> dict[str, str]:
        """See Description."""
        import confluent_kafka  # noqa: PLC0415 - only where Kafka is measured

        return {
            "librdkafka": confluent_kafka.libversion()[0],
            "confluent-kafka": metadata.version("confluent-kafka"),
        }

    def connect(self, servers: Servers, folder: Path) -> System:  # noqa: ARG002
        """See Description."""
        from bench.systems.kafka.system import Kafka  # noqa: PLC0415 - loads librdkafka

        return Kafka(servers)
