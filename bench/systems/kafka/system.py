"""Kafka as the suite sees it: the wiring of this package, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.model import Case, Cluster, Node, Settings, Topic
from bench.systems.kafka import (
    config,
    full_read,
    hints,
    members,
    metrics,
    nodes,
    processor,
    readiness,
    settings,
)
from bench.systems.kafka.admin import KafkaAdmin
from bench.systems.kafka.client import GroupConsumer, KafkaConsumer, KafkaProducers
from bench.systems.kafka.external_access import ExternalKafka
from bench.systems.properties import unknown
from bench.systems.protocols import Admin, Consumer, Parts, Producers, ReceivedMessage
from bench.systems.server_metrics import Scrape
from bench.systems.servers import Servers


class Kafka:
    """See protocols.System."""

    name = "kafka"
    states: Sequence[str] = ("in_sync", "copies", "topic")

    def __init__(self, servers: Servers) -> None:
        """Take where the servers' jars and archives are."""
        self._servers = servers

    def shared_cluster(self, clusters: Sequence[Cluster]) -> None:
        """See protocols.System: brokers that differ are other clusters."""

    def nodes(self, cluster: Cluster, folder: Path) -> list[Node]:
        """See protocols.System."""
        return nodes.lay_out(self._servers, cluster, folder)

    def data_folder(self, node: Node) -> Path:
        """See protocols.System."""
        return nodes.data_folder(node.directory)

    def prepare(self, cluster: Cluster, nodes: Sequence[Node]) -> None:
        """See protocols.System."""
        config.prepare(self._servers, cluster, nodes)

    def await_ready(self, cluster: Cluster, nodes: Sequence[Node], alive: Callable[[], None]) -> None:  # noqa: ARG002
        """See protocols.System."""
        readiness.await_ready(nodes, alive)

    def start_order(self, nodes_: Sequence[Node]) -> list[list[Node]]:
        """See protocols.System."""
        return nodes.start_order(nodes_)

    def stop_order(self, nodes_: Sequence[Node]) -> list[list[Node]]:
        """See protocols.System."""
        return nodes.stop_order(nodes_)

    def endpoint(self, nodes_: Sequence[Node]) -> str:
        """See protocols.System."""
        return nodes.endpoint(nodes_)

    def hints(self, nodes: Sequence[Node]) -> list[str]:
        """See protocols.System."""
        return hints.hints(nodes)

    def scrape(self, node: Node) -> Scrape | None:
        """See protocols.System."""
        return metrics.scrape(node)

    def copy_counter(self, node: Node) -> None:
        """See protocols.System: readers wait for every replica in sync."""

    def pause_s(self, case: Case) -> float:
        """See protocols.System."""
        return settings.pause_s(case)

    def parts(self, case: Case) -> Parts:  # noqa: ARG002
        """See protocols.System."""
        return Parts(of_partition=("leader", "follower", "followers", "replicas"), of_cluster=("controller",))

    def admin(self, cluster: Cluster, nodes: Sequence[Node]) -> Admin:
        """See protocols.System."""
        return KafkaAdmin(self._servers, cluster, nodes)

    def producers(
        self, endpoint: str, topic: Topic, case_producer: Settings, count: int, window: int
    ) -> Producers:
        """See protocols.System."""
        return KafkaProducers(endpoint, topic, case_producer, count, window)

    def consumer(self, endpoint: str, topic: Topic, case_consumer: Settings, group: str = "") -> Consumer:
        """See protocols.System."""
        if group:
            return GroupConsumer(endpoint, topic, case_consumer, group)
        return KafkaConsumer(endpoint, topic, case_consumer)

    def member(self, endpoint: str, topic: Topic, case_consumer: Settings, kind: str) -> Consumer:
        """See protocols.System."""
        return members.member(endpoint, topic, case_consumer, kind)

    def read_all(
        self, endpoint: str, topic: Topic, case_consumer: Settings, deadline_s: float, expected: int
    ) -> Iterator[Sequence[ReceivedMessage]]:
        """See protocols.System."""
        return full_read.read_all(endpoint, topic, case_consumer, deadline_s, expected)

    def external(self, endpoint: str) -> ExternalKafka:
        """See protocols.System."""
        return ExternalKafka(endpoint)

    def process(self, endpoint: str, source: Topic, target: Topic, settings: Settings) -> Iterator[int]:
        """See protocols.System."""
        return processor.process(endpoint, source, target, settings)

    def check(self, case: Case) -> list[str]:
        """See protocols.System."""
        return settings.check(case)

    def unknown_settings(self, case: Case) -> list[tuple[str, str, list[str]]]:
        """See protocols.System."""
        return unknown(settings.owner_settings(case))
