"""The memory system as the suite sees it: the wiring of this package, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.errors import LoadError
from bench.model import Case, Cluster, Node, Settings, Topic
from bench.systems.memory import client, settings
from bench.systems.memory.admin import MemoryAdmin
from bench.systems.memory.external_access import ExternalMemory
from bench.systems.memory.members import MemoryMember
from bench.systems.properties import unknown
from bench.systems.protocols import Admin, Consumer, Parts, Producers, ReceivedMessage


class Memory:
    """Implements protocols.System without any server; topics live below `folder`, best on a tmpfs."""

    name = "memory"
    states: Sequence[str] = ()

    def __init__(self, folder: Path) -> None:
        """Keep topics in this folder; its path is the endpoint."""
        self._folder = folder

    def shared_cluster(self, clusters: Sequence[Cluster]) -> None:
        """See protocols.System: brokers that differ are other clusters."""

    def nodes(self, cluster: Cluster, folder: Path) -> list[Node]:  # noqa: ARG002 - see protocols.System
        """See protocols.System: there are none."""
        return []

    def data_folder(self, node: Node) -> Path:
        """See protocols.System: there are no nodes."""
        return node.directory

    def prepare(self, cluster: Cluster, nodes: Sequence[Node]) -> None:
        """See protocols.System: nothing to prepare."""

    def await_ready(self, cluster: Cluster, nodes: Sequence[Node], alive: Callable[[], None]) -> None:
        """See protocols.System: always ready."""

    def start_order(self, nodes: Sequence[Node]) -> list[list[Node]]:  # noqa: ARG002
        """See protocols.System."""
        return []

    def stop_order(self, nodes: Sequence[Node]) -> list[list[Node]]:  # noqa: ARG002
        """See protocols.System."""
        return []

    def endpoint(self, nodes: Sequence[Node]) -> str:  # noqa: ARG002
        """See protocols.System: the folder's path."""
        return str(self._folder)

    def hints(self, nodes: Sequence[Node]) -> list[str]:  # noqa: ARG002
        """See protocols.System."""
        return [f"ls -l {self._folder}/*"]

    def scrape(self, node: Node) -> None:
        """See protocols.System: there are no nodes."""

    def copy_counter(self, node: Node) -> None:
        """See protocols.System: there are no nodes."""

    def pause_s(self, case: Case) -> float:  # noqa: ARG002
        """See protocols.System: there is none."""
        return 0.0

    def parts(self, case: Case) -> Parts:  # noqa: ARG002
        """See protocols.System: there are no nodes."""
        return Parts()

    def admin(self, cluster: Cluster, nodes: Sequence[Node]) -> Admin:  # noqa: ARG002
        """See protocols.System."""
        return MemoryAdmin(self._folder)

    def producers(
        self,
        endpoint: str,
        topic: Topic,
        case_producer: Settings,
        count: int,
        window: int,  # noqa: ARG002 - any window fits
    ) -> Producers:
        """See protocols.System."""
        return client.MemoryProducers(Path(endpoint) / topic.name, topic, case_producer, count)

    def consumer(
        self,
        endpoint: str,
        topic: Topic,
        case_consumer: Settings,  # noqa: ARG002
        group: str = "",
    ) -> Consumer:
        """See protocols.System."""
        return client.MemoryConsumer(Path(endpoint) / topic.name, topic, group)

    def member(
        self,
        endpoint: str,
        topic: Topic,
        case_consumer: Settings,  # noqa: ARG002
        kind: str,  # noqa: ARG002 - there is one
    ) -> Consumer:
        """See protocols.System."""
        return MemoryMember(Path(endpoint) / topic.name, topic)

    def read_all(
        self,
        endpoint: str,
        topic: Topic,
        case_consumer: Settings,  # noqa: ARG002
        deadline_s: float,  # noqa: ARG002 - files are never slow
        expected: int,  # noqa: ARG002 - what is acknowledged is there to be read
    ) -> Iterator[Sequence[ReceivedMessage]]:
        """See protocols.System."""
        return client.read_all(Path(endpoint) / topic.name, topic)

    def external(self, endpoint: str) -> ExternalMemory:
        """See protocols.System."""
        return ExternalMemory(endpoint)

    def process(self, endpoint: str, source: Topic, target: Topic, settings: Settings) -> Iterator[int]:  # noqa: ARG002
        """See protocols.System: `settings` refuses a processor, which needs a node."""
        raise LoadError("The memory system has no processor.")

    def check(self, case: Case) -> list[str]:
        """See protocols.System."""
        return settings.check(case)

    def unknown_settings(self, case: Case) -> list[tuple[str, str, list[str]]]:
        """See protocols.System."""
        return unknown(settings.owner_settings(case))
