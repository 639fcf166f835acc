"""Pulsar as the suite sees it: the wiring of this package, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.model import Case, Cluster, Node, Settings, Topic
from bench.systems.properties import unknown
from bench.systems.protocols import Admin, Consumer, Parts, Producers, ReceivedMessage
from bench.systems.pulsar import (
    bookie_groups,
    config,
    full_read,
    hints,
    metrics,
    nodes,
    processor,
    readiness,
    settings,
)
from bench.systems.pulsar.admin import PulsarAdmin
from bench.systems.pulsar.client import PulsarConsumer, PulsarProducers
from bench.systems.pulsar.external_access import ExternalPulsar
from bench.systems.pulsar.journal import Journal
from bench.systems.pulsar.members import Member
from bench.systems.server_metrics import Scrape
from bench.systems.servers import Servers


class Pulsar:
    """See protocols.System."""

    name = "pulsar"
    states: Sequence[str] = ("copies", "topic")

    def __init__(self, servers: Servers) -> None:
        """Take where the servers' jars and archives are."""
        self._servers = servers

    def shared_cluster(self, clusters: Sequence[Cluster]) -> tuple[Cluster, list[str]] | None:
        """See protocols.System."""
        return bookie_groups.shared_cluster(clusters)

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

    def scrape(self, node: Node) -> Scrape:
        """See protocols.System."""
        return metrics.scrape(node)

    def copy_counter(self, node: Node) -> Journal | None:
        """See protocols.System: acknowledgements and readers wait for Qa bookies, not for Qw."""
        return (
            Journal(nodes.journal_folder(node.directory) / "current") if node.role == nodes.BOOKIE else None
        )

    def parts(self, case: Case) -> Parts:
        """See protocols.System. There are as many bookies to name as an ensemble has."""
        quorums = settings.quorums(case)
        numbered = [f"bookie {number + 1}" for number in range(quorums.ensemble if quorums else 0)]
        return Parts(
            of_partition=("owner", "ensemble", "write quorum", *numbered, "oldest bookie"),
            of_cluster=("zookeeper leader", "auditor"),
        )

    def admin(self, cluster: Cluster, nodes: Sequence[Node]) -> Admin:
        """See protocols.System."""
        return PulsarAdmin(cluster, nodes)

    def producers(
        self, endpoint: str, topic: Topic, case_producer: Settings, count: int, window: int
    ) -> Producers:
        """See protocols.System."""
        return PulsarProducers(endpoint, topic, case_producer, count, window)

    def consumer(self, endpoint: str, topic: Topic, case_consumer: Settings, group: str = "") -> Consumer:
        """See protocols.System."""
        return PulsarConsumer(endpoint, topic, case_consumer, group)

    def member(self, endpoint: str, topic: Topic, case_consumer: Settings, kind: str) -> Consumer:
        """See protocols.System."""
        return Member(endpoint, topic, case_consumer, kind)

    def read_all(
        self, endpoint: str, topic: Topic, case_consumer: Settings, deadline_s: float, expected: int
    ) -> Iterator[Sequence[ReceivedMessage]]:
        """See protocols.System."""
        return full_read.read_all(endpoint, topic, case_consumer, deadline_s, expected)

    def pause_s(self, case: Case) -> float:
        """See protocols.System."""
        return settings.pause_s(case)

    def hints(self, nodes: Sequence[Node]) -> list[str]:
        """See protocols.System."""
        return hints.hints(nodes)

    def external(self, endpoint: str) -> ExternalPulsar:
        """See protocols.System."""
        return ExternalPulsar(endpoint)

    def process(self, endpoint: str, source: Topic, target: Topic, settings: Settings) -> Iterator[int]:
        """See protocols.System."""
        return processor.process(endpoint, source, target, settings)

    def check(self, case: Case) -> list[str]:
        """See protocols.System."""
        return settings.check(case)

    def unknown_settings(self, case: Case) -> list[tuple[str, str, list[str]]]:
        """See protocols.System."""
        return unknown(settings.owner_settings(case))
