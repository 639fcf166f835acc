"""A cluster that somebody else runs, as far as a client may use it: its facts, its topics, and nothing of its nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.errors import ClusterError
from bench.model import Cluster, Settings, Topic, TopicState
from bench.systems.draining import DrainResult
from bench.systems.protocols import Admin

CONNECT_S = 15.0
"""How long an external cluster may take to answer the first request."""


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What an external cluster says about itself.

    `version` is empty where it does not say it. `nodes` counts live nodes by role, `settings` are server properties by
    role; both have only what could be read. `unreadable` has a sentence for each thing that could not, with the reason.
    """

    version: str = ""
    nodes: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Settings] = field(default_factory=dict)
    unreadable: Sequence[str] = ()


class ExternalAccess(Protocol):
    """What the suite does to an external cluster. It changes no setting of the cluster.

    `parts` are those that its administrator can find (protocols.Admin.find).
    """

    @property
    def parts(self) -> Sequence[str]:
        """Parts of a topic by whom they are played; see the class."""

    @property
    def tells_copies(self) -> bool:
        """Whether its administrator tells when copies of a topic are missing."""

    @property
    def group_types_with_settings(self) -> Collection[str]:
        """Types of consumer groups (membership.TYPE) that take a setting of the cluster."""

    def wrong_properties(self) -> list[tuple[str, str]]:
        """List (name, what is wrong) of the endpoint's `client` properties. Connects to nothing."""

    def facts(self) -> ClusterFacts:
        """Connect and read. Raises ClusterError or LoadError, with the reason, within 30 s."""

    def why_no_topics(self, prefix: str) -> str | None:
        """Return why topics whose names begin with `prefix` cannot be created; None where they can. Creates nothing."""

    def topic_defaults(self) -> Settings:
        """Return topic settings that a scenario may leave out and that the cluster's own defaults would change."""

    def admin(self, cluster: Cluster) -> Admin:
        """Return an administrator of topics."""

    def topics(self, prefix: str) -> list[str]:
        """Return the names of all topics that begin with `prefix`, sorted. Raises ClusterError."""

    def delete(self, name: str) -> None:
        """Delete one of these topics. Raises ClusterError."""


class ExternalAdmin:
    """Implements what protocols.Admin asks of nodes: an external cluster's nodes are left alone.

    Subclasses create, delete and read topics.
    """

    def find(self, part: str, topic: Topic) -> list[str]:  # noqa: ARG002
        """See protocols.Admin: the nodes are unknown."""
        return []

    def layout(self, topic: Topic) -> list[dict[str, object]]:  # noqa: ARG002
        """See protocols.Admin: the nodes are unknown."""
        return []

    def state(self, topic: Topic) -> TopicState:  # noqa: ARG002
        """See protocols.Admin: the nodes are unknown."""
        return TopicState(available=True, copies_missing=None, in_sync=None)

    def look_up(self, topic: Topic, avoiding: Sequence[str]) -> str:  # noqa: ARG002
        """See protocols.Admin. Raises ClusterError."""
        raise ClusterError(f"Looking up {topic.name}: the nodes of an external cluster are unknown.")

    def backlog(self, topic: Topic) -> int:  # noqa: ARG002
        """See protocols.Admin: there is no processor."""
        return 0

    def await_settled(self, topic: Topic) -> None:
        """See protocols.Admin: nothing was broken."""

    def rebalance(self, topic: Topic, bytes_per_s: float | None) -> str:  # noqa: ARG002
        """See protocols.Admin. Raises ClusterError."""
        raise ClusterError(f"Spreading {topic.name}: nothing is moved on an external cluster.")

    def drain(self, node: str, topic: Topic, bytes_per_s: float | None) -> DrainResult:  # noqa: ARG002
        """See protocols.Admin. Raises ClusterError."""
        raise ClusterError(f"Draining {node}: nothing is moved on an external cluster.")

    def other_messages(self) -> int | None:
        """Return how many messages the topics of others have had so far; None where that cannot be read."""
        return None

    def lift_expiry(self, topic: Topic) -> None:
        """See protocols.Admin: topics are created so that their messages do not expire."""

    def close(self) -> None:
        """See protocols.Admin: nothing to release."""
