"""NATS JetStream as the suite sees it: the wiring of this package, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.errors import LoadError
from bench.model import Case, Cluster, Node, Settings, Topic
from bench.systems.nats import config, full_read, hints, members, metrics, nodes, readiness, settings
from bench.systems.nats.admin import NatsAdmin
from bench.systems.nats.client import NatsConsumer, NatsProducers
from bench.systems.properties import unknown
from bench.systems.protocols import Admin, Consumer, Parts, Producers, ReceivedMessage
from bench.systems.server_metrics import Scrape
from bench.systems.servers import Servers


class Nats:
    """See protocols.System."""

    name = "nats"
    states: Sequence[str] = ("in_sync", "copies", "topic")

    def __init__(self, servers: Servers) -> None:
        """Take where the server's program is."""
        self._servers = servers

    def shared_cluster(self, clusters: Sequence[Cluster]) -> None:
        """See protocols.System: servers that differ are other clusters."""

    def nodes(self, cluster: Cluster, folder: Path) -> list[Node]:
        """See protocols.System."""
        return nodes.lay_out(self._servers, cluster, folder)

    def data_folder(self, node: Node) -> Path:
        """See protocols.System."""
        return nodes.data_folder(node.directory)

    def prepare(self, cluster: Cluster, nodes: Sequence[Node]) -> None:
        """See protocols.System."""
        config.prepare(cluster, nodes)

    def await_ready(self, cluster: Cluster, nodes: Sequence[Node], alive: Callable[[], None]) -> None:
        """See protocols.System."""
        readiness.await_ready(cluster.first(nodes), alive)

    def start_order(self, nodes_: Sequence[Node]) -> list[list[Node]]:
        """See protocols.System."""
        return nodes.groups(nodes_)

    def stop_order(self, nodes_: Sequence[Node]) -> list[list[Node]]:
        """See protocols.System."""
        return nodes.groups(nodes_)

    def endpoint(self, nodes_: Sequence[Node]) -> str:
        """See protocols.System."""
        return nodes.endpoint(nodes_)

    def hints(self, nodes: Sequence[Node]) -> list[str]:
        """See protocols.System."""
        return hints.hints(nodes)

    def scrape(self, node: Node) -> Scrape:
        """See protocols.System."""
        return metrics.scrape(node)

    def copy_counter(self, node: Node) -> None:
        """See protocols.System: nobody counts the replicas that are behind."""

    def pause_s(self, case: Case) -> float:  # noqa: ARG002
        """See protocols.System: an ordered consumer looks after 5 s of silence whether it is still there."""
        return 10.0

    def parts(self, case: Case) -> Parts:  # noqa: ARG002
        """See protocols.System."""
        return Parts(
            of_partition=("leader", "follower", "followers", "replicas"), of_cluster=("meta leader",)
        )

    def admin(self, cluster: Cluster, nodes: Sequence[Node]) -> Admin:
        """See protocols.System."""
        return NatsAdmin(cluster, nodes)

    def producers(
        self,
        endpoint: str,
        topic: Topic,
        case_producer: Settings,
        count: int,
        window: int,  # noqa: ARG002 - any window fits
    ) -> Producers:
        """See protocols.System."""
        return NatsProducers(endpoint, topic, case_producer, count)

    def consumer(
        self,
        endpoint: str,
        topic: Topic,
        case_consumer: Settings,  # noqa: ARG002 - there are none
        group: str = "",
    ) -> Consumer:
        """See protocols.System."""
        if group:
            return members.GroupMember(endpoint, topic, group)
        return NatsConsumer(endpoint, topic)

    def member(
        self,
        endpoint: str,
        topic: Topic,
        case_consumer: Settings,  # noqa: ARG002
        kind: str,
    ) -> Consumer:
        """See protocols.System."""
        return members.member(endpoint, topic, kind)

    def read_all(
        self,
        endpoint: str,
        topic: Topic,
        case_consumer: Settings,  # noqa: ARG002
        deadline_s: float,
        expected: int,
    ) -> Iterator[Sequence[ReceivedMessage]]:
        """See protocols.System."""
        return full_read.read_all(endpoint, topic, deadline_s, expected)

    def external(self, endpoint: str) -> None:
        """See protocols.System: none yet."""

    def process(self, endpoint: str, source: Topic, target: Topic, settings: Settings) -> Iterator[int]:  # noqa: ARG002
        """See protocols.System: `settings` refuses a processor."""
        raise LoadError("NATS has no processor.")

    def check(self, case: Case) -> list[str]:
        """See protocols.System."""
        return settings.check(case)

    def unknown_settings(self, case: Case) -> list[tuple[str, str, list[str]]]:
        """See protocols.System."""
        return unknown(settings.owner_settings(case))
