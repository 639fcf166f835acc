"""Topics of the memory system below a folder that somebody else made."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from bench.errors import ClusterError
from bench.model import Cluster, Settings
from bench.systems import endpoint as endpoints
from bench.systems.external_access import ClusterFacts
from bench.systems.memory.admin import MemoryAdmin


class ExternalMemory:
    """See external_access.ExternalAccess."""

    parts: Sequence[str] = ()
    tells_copies = False
    group_types_with_settings: Collection[str] = ()

    def __init__(self, endpoint: str) -> None:
        """Take the folder, which has to be there."""
        connection = endpoints.parse(endpoint)
        self._folder, self._client = Path(connection.address), connection.client

    def wrong_properties(self) -> list[tuple[str, str]]:
        """See external_access.ExternalAccess: there are none."""
        return [(name, "the memory system has no such property") for name in self._client]

    def facts(self) -> ClusterFacts:
        """See external_access.ExternalAccess."""
        if not self._folder.is_dir():
            raise ClusterError(f"Connecting to {self._folder}: there is no such folder.")
        return ClusterFacts(version="1")

    def why_no_topics(self, prefix: str) -> None:
        """See external_access.ExternalAccess."""

    def topic_defaults(self) -> Settings:
        """See external_access.ExternalAccess: there are none."""
        return {}

    def admin(self, cluster: Cluster) -> MemoryAdmin:  # noqa: ARG002
        """See external_access.ExternalAccess."""
        return MemoryAdmin(self._folder)

    def topics(self, prefix: str) -> list[str]:
        """See external_access.ExternalAccess."""
        return sorted(entry.name for entry in self._folder.glob(f"{prefix}*"))

    def delete(self, name: str) -> None:
        """See external_access.ExternalAccess."""
        shutil.rmtree(self._folder / name)
