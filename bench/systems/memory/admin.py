"""An operator of the in-memory system: makes and removes folders."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from bench.errors import ClusterError
from bench.model import Topic, TopicState
from bench.systems.draining import DrainResult
from bench.systems.memory import store


class MemoryAdmin:
    """Implements protocols.Admin below one folder."""

    def __init__(self, folder: Path) -> None:
        """Administer the topics of this folder; it is made when the first topic is."""
        self._folder = folder

    def create_topic(self, topic: Topic) -> None:
        """See protocols.Admin. Raises TopicExistsError when the topic exists."""
        store.create(self._folder / topic.name, topic.partitions)

    def delete_topic(self, topic: Topic) -> None:
        """See protocols.Admin."""
        folder = self._folder / topic.name
        if folder.exists():
            shutil.rmtree(folder)

    def effective(self, topic: Topic) -> dict[str, object]:
        """See protocols.Admin."""
        kind = "files in a folder: no server, no network, no replication"
        return {
            "cluster": {"kind": kind, "folder": str(self._folder)},
            "topic": {"name": topic.name, "partitions": topic.partitions},
            "roles": {},
        }

    def find(self, part: str, topic: Topic) -> list[str]:  # noqa: ARG002
        """See protocols.Admin: there are no nodes."""
        return []

    def layout(self, topic: Topic) -> list[dict[str, object]]:  # noqa: ARG002
        """See protocols.Admin: there are no nodes."""
        return []

    def state(self, topic: Topic) -> TopicState:
        """See protocols.Admin."""
        return TopicState((self._folder / topic.name).exists(), copies_missing=False, in_sync=None)

    def backlog(self, topic: Topic) -> int:  # noqa: ARG002
        """See protocols.Admin: there is no processor."""
        return 0

    def look_up(self, topic: Topic, avoiding: Sequence[str]) -> str:  # noqa: ARG002
        """See protocols.Admin: there are no nodes."""
        return "There is no server to ask."

    def await_settled(self, topic: Topic) -> None:
        """See protocols.Admin: there is one copy only."""

    def rebalance(self, topic: Topic, bytes_per_s: float | None) -> str:  # noqa: ARG002
        """See protocols.Admin: there are no nodes."""
        return "There is nobody to share with."

    def drain(self, node: str, topic: Topic, bytes_per_s: float | None) -> DrainResult:  # noqa: ARG002
        """See protocols.Admin. Raises ClusterError: there are no nodes."""
        raise ClusterError(f"Draining {node}: the in-memory system has no nodes.")

    def lift_expiry(self, topic: Topic) -> None:
        """See protocols.Admin: nothing expires."""

    def close(self) -> None:
        """See protocols.Admin: nothing to release."""
