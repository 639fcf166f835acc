"""What the suite knows of NATS JetStream beside how to run it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bench.guarantee import Guarantee
from bench.sizing.workload import READ, TAKEN_IN, Term
from bench.systems.description import (
    CaseSettings,
    Colours,
    Description,
    GlossaryTerm,
    Installation,
    Nodes,
    Role,
)
from bench.systems.nats import promise
from bench.systems.nats.group_types import GROUP_TYPES
from bench.systems.nats.nodes import SERVER
from bench.systems.nats.promise import ALWAYS, SYNC_INTERVAL

if TYPE_CHECKING:
    from bench.systems.protocols import System
    from bench.systems.servers import Servers


class NatsDescription(Description):
    """See description.Description."""

    title: ClassVar[str] = "NATS JetStream"
    about: ClassVar[str] = "NATS JetStream. `topic` takes replicas and a stream's own settings."
    colours: ClassVar[Colours | None] = Colours("#2a7f62", "#134534", "#78bfa5")
    marker: ClassVar[str] = "^"
    roles: ClassVar[tuple[Role, ...]] = (
        Role(
            SERVER,
            count=3,
            purpose="How many servers, which keep the messages.",
            settings="Settings of each server; a list is swept.",
            keeps_messages=True,
            takes_sends=True,
            work=(TAKEN_IN, Term("copied", of_copies=1, fixed=-1), READ),
        ),
    )
    common_settings: ClassVar[Mapping[str, str]] = {
        "topic": "Settings of a partition's stream: `replicas` (without it one a server, at most 3), `storage`.",
    }
    group_types: ClassVar[tuple[str, ...]] = GROUP_TYPES
    start_s: ClassVar[float] = 8.0
    writes_per_copy: ClassVar[int] = 2
    """A server writes a message of a replicated stream to the log of its Raft group, and to the stream."""
    installation: ClassVar[Installation | None] = Installation({}, {})
    """Its servers have no classes to archive."""
    libraries: ClassVar[tuple[str, ...]] = ("nats-py",)
    naming_settings: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("topic", "replicas"),
        ("cluster_settings", SERVER, SYNC_INTERVAL),
    )
    guarantee_settings: ClassVar[tuple[str, ...]] = ("replicas", SYNC_INTERVAL)
    copy_settings: ClassVar[frozenset[str]] = frozenset({"replicas"})
    fsync_setting: ClassVar[str] = f"{SERVER}.{SYNC_INTERVAL}={ALWAYS}"
    terms: ClassVar[tuple[GlossaryTerm, ...]] = (
        GlossaryTerm(
            SYNC_INTERVAL,
            rf"\b{SYNC_INTERVAL}\b",
            "How often a NATS server writes its files to disk: every two minutes as shipped, or always, before it "
            "acknowledges.",
        ),
    )
    spare_of_partition: ClassVar[bool] = True

    def promise(self, case_settings: CaseSettings, nodes: Nodes) -> Guarantee | None:
        """See Description. How many copies there are is known only with `replicas` or the number of servers."""
        return promise.promise(case_settings, promise.replicas(nodes[SERVER]) if SERVER in nodes else None)

    def copies(self, case_settings: CaseSettings, nodes: Nodes) -> int:
        """See Description."""
        return int(case_settings.get("replicas", promise.replicas(nodes.get(SERVER, 1))))

    def copies_in_turn(self, case_settings: CaseSettings) -> int:
        """See Description. The leader sends to followers what is in its own log."""
        return 1 if case_settings.get("replicas") == "1" else 2

    def position(self, segment: int, entry: int) -> str:  # noqa: ARG002
        """See Description."""
        return f"sequence {entry}"

    def connect(self, servers: Servers, folder: Path) -> System:  # noqa: ARG002
        """See Description."""
        from bench.systems.nats.system import Nats  # noqa: PLC0415 - loads the client

        return Nats(servers)
