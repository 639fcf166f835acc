"""What runs the nodes of a cluster. What it can do to single nodes beside that: abilities.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from bench.backends.supervision import EndListener, RestartListener
from bench.model import Node


class Backend(Protocol):
    """The nodes of one live cluster."""

    @property
    def client(self) -> str:
        """The clients' address, as nodes see it; empty where nobody knows it."""

    def alive(self) -> None:
        """Raise NodeDiedError, with the end of its log, if a started node is gone that nobody ended."""

    def pids(self) -> Mapping[str, int]:
        """Return the process id of each running node by its name, of those that run on this machine."""

    def pause_all(self, nodes: Iterable[Node]) -> None:
        """Stop the processes of nodes, without waiting for each to stand still."""

    def resume_all(self, nodes: Iterable[Node]) -> None:
        """Let the processes of nodes go on."""

    def supervise(
        self, noted: EndListener, back: RestartListener | None = None
    ) -> AbstractContextManager[None]:
        """Start nodes again that end by themselves; `noted` is told of each end, `back` of each return."""
