"""What the suite knows of the system in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bench.systems.description import Colours, Description

if TYPE_CHECKING:
    from bench.systems.protocols import System
    from bench.systems.servers import Servers


class MemoryDescription(Description):
    """See description.Description: no server, so no role and no promise."""

    title: ClassVar[str] = "Memory"
    about: ClassVar[str] = "The in-memory system, for trying things out."
    colours: ClassVar[Colours | None] = Colours("#4d7c57", "#23452b", "#84b491")
    marker: ClassVar[str] = "s"
    address_key: ClassVar[str] = "folder"

    def connect(self, servers: Servers, folder: Path) -> System:  # noqa: ARG002
        """See Description."""
        from bench.systems.memory.system import Memory  # noqa: PLC0415 - the twins load theirs late, too

        return Memory(folder)
