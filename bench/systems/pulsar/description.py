"""What the suite knows of Pulsar beside how to run it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bench import numbers
from bench.guarantee import Guarantee
from bench.sizing.published_rules import RuleSize
from bench.sizing.requirement import NodeType, Requirement
from bench.sizing.workload import READ, TAKEN_IN, Term
from bench.systems.description import (
    CaseSettings,
    Colours,
    Description,
    FsyncWait,
    GlossaryTerm,
    Installation,
    MissingCopies,
    Nodes,
    PublishedImage,
    Role,
    Timer,
)
from bench.systems.pulsar import promise, published_rules
from bench.systems.pulsar.group_types import GROUP_TYPES
from bench.systems.pulsar.nodes import BOOKIE, BROKER, ZOOKEEPER

if TYPE_CHECKING:
    from bench.systems.protocols import System
    from bench.systems.servers import Servers

_BROKER_DEDUPLICATION, _TOPIC_DEDUPLICATION = "brokerDeduplicationEnabled", "deduplicationEnabled"
_LOOKS = "managedLedgerNewEntriesCheckDelayInMillis"


class PulsarDescription(Description):
    """See description.Description."""

    title: ClassVar[str] = "Pulsar"
    about: ClassVar[str] = (
        "Apache Pulsar. `topic` takes quorums (E-Qw-Qa); the others the servers' and the client's own names."
    )
    colours: ClassVar[Colours | None] = Colours("#d9730d", "#7f3f00", "#eda04a")
    marker: ClassVar[str] = "D"
    roles: ClassVar[tuple[Role, ...]] = (
        Role(
            ZOOKEEPER,
            count=1,
            purpose="How many coordinate the cluster.",
            settings="zookeeper.conf of each ZooKeeper; a list is swept.",
        ),
        Role(
            BOOKIE,
            count=4,
            purpose="How many bookies, which keep the messages.",
            settings="bookkeeper.conf of each bookie; a list is swept.",
            keeps_messages=True,
            work=(Term("stored", of_copies=1),),
            missing_copies=MissingCopies("ledgers that lack a copy", add_up=False),
        ),
        Role(
            BROKER,
            count=2,
            purpose="How many brokers, which serve topics.",
            settings="broker.conf of each broker; a list is swept.",
            takes_sends=True,
            work=(TAKEN_IN, Term("sent to bookies", of_copies=1), READ),
        ),
    )
    """A bookie is not asked for what a broker still has in its cache."""
    common_settings: ClassVar[Mapping[str, str]] = {
        "topic": "Settings of the topic: `quorums` (E-Qw-Qa), `bundles`, policies.",
        "processor": "An application between two topics: when it settles (`acknowledge`: before, after, deduplicated), "
        "`batch`, `work`.",
    }
    group_types: ClassVar[tuple[str, ...]] = GROUP_TYPES
    start_s: ClassVar[float] = 35.0
    writes_per_copy: ClassVar[int] = 2
    """A bookie writes to its journal and to its entry log."""
    installation: ClassVar[Installation | None] = Installation(
        {ZOOKEEPER: 1, BOOKIE: 1, BROKER: 1}, {"quorums": "1-1-1"}
    )
    image: ClassVar[PublishedImage | None] = PublishedImage("apachepulsar/pulsar", "/pulsar/lib/*")
    address_key: ClassVar[str] = "service_url"
    admin_key: ClassVar[str] = "admin_url"
    has_tenants: ClassVar[bool] = True
    libraries: ClassVar[tuple[str, ...]] = ("pulsar-client",)
    producer_settings: ClassVar[tuple[str, ...]] = ("batching_enabled", "compression_type")
    naming_settings: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("topic", "quorums"),
        ("cluster_settings", BOOKIE, "journalSyncData"),
        ("cluster_settings", BROKER, _BROKER_DEDUPLICATION),
    )
    guarantee_settings: ClassVar[tuple[str, ...]] = ("quorums", "journalSyncData")
    shipped: ClassVar[Mapping[str, str]] = {"journalSyncData": "true"}
    deviations: ClassVar[tuple[tuple[str, str], ...]] = (
        ("journalWriteData", "false"),
        (_BROKER_DEDUPLICATION, "true"),
    )
    self_explaining: ClassVar[frozenset[str]] = frozenset({"quorums"})
    copy_settings: ClassVar[frozenset[str]] = frozenset({"quorums"})
    batch_settings: ClassVar[frozenset[str]] = frozenset(
        {"batching_enabled", "batching_max_publish_delay_ms"}
    )
    fsync_setting: ClassVar[str] = "bookie.journalSyncData=true"
    terms: ClassVar[tuple[GlossaryTerm, ...]] = (
        GlossaryTerm(
            "bookie", r"\bbookies?\b", "A Pulsar storage server; a Pulsar broker itself keeps no messages."
        ),
        GlossaryTerm(
            "E-Qw-Qa",
            r"\b\d-\d-\d\b|\bquorums?\b",
            "Pulsar's copies: over E bookies, Qw copies of each message, acknowledged once Qa have it.",
        ),
        GlossaryTerm(
            "journalSyncData",
            r"\bjournalSyncData\b|\bsynced journal\b",
            "Whether a bookie calls fsync on its journal before it acknowledges.",
        ),
    )
    request_timer: ClassVar[Timer] = Timer(too_short_ns=1_000_000)
    """Brokers add up whole milliseconds, cut off."""
    fsync_timer: ClassVar[Timer] = Timer(too_short_ns=1_000_000)
    """So do bookies."""
    fsync_wait: ClassVar[FsyncWait] = FsyncWait.JOURNAL
    segment: ClassVar[str] = "ledger"

    def promise(self, case_settings: CaseSettings, nodes: Nodes) -> Guarantee | None:
        """See Description. Whether writes go on is known only with the number of bookies."""
        return promise.promise(case_settings, nodes.get(BOOKIE))

    def copies(self, case_settings: CaseSettings, nodes: Nodes) -> int:  # noqa: ARG002
        """See Description."""
        _, write, _ = case_settings.get("quorums", "1-1-1").split("-")
        return int(write)

    def deduplicates(self, case_settings: CaseSettings, producer: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """See Description."""
        return "true" in (case_settings.get(_BROKER_DEDUPLICATION), case_settings.get(_TOPIC_DEDUPLICATION))

    def session_timeouts(self, roles: Collection[str]) -> Sequence[str]:  # noqa: ARG002
        """See Description."""
        return ("metadataStoreSessionTimeoutMillis", "zkTimeout")

    def delivery_remark(self, effective: Sequence[Mapping[str, Any]]) -> str:
        """See Description: for how long a broker does not look for new messages."""
        waits = (
            (trial_settings.get("roles") or {}).get(BROKER, {}).get(_LOOKS) for trial_settings in effective
        )
        delays = sorted({int(ms) for ms in waits if ms} - {0})
        if not delays:
            return ""
        delay = " or ".join(numbers.duration(ms * 1e6) for ms in delays)
        return (
            f"A Pulsar broker that has given a consumer all that there is looks for more after {delay} ({_LOOKS}): "
            "where messages come one by one, up to so much of their end-to-end time is that."
        )

    def position(self, segment: int, entry: int) -> str:
        """See Description."""
        return f"ledger {segment}, entry {entry}"

    def published_rules(self, requirement: Requirement, nodes: Mapping[str, NodeType]) -> list[RuleSize]:
        """See Description."""
        return published_rules.published_rules(requirement, nodes[BOOKIE])

    def connect(self, servers: Servers, folder: Path) -> System:  # noqa: ARG002
        """See Description."""
        from bench.systems.pulsar.system import Pulsar  # noqa: PLC0415 - loads the C++ client

        return Pulsar(servers)
