"""The backend of a cluster that somebody else runs: it starts, stops and breaks nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from bench.backends.supervision import Back, Noted
from bench.model import Node


class ExternalBackend:
    """See backend.Backend. It has no node."""

    client = ""

    def alive(self) -> None:
        """See backend.Backend: nobody knows of its nodes."""

    def pids(self) -> Mapping[str, int]:
        """See backend.Backend: there is no process of it here."""
        return {}

    def pause_all(self, nodes: Iterable[Node]) -> None:
        """See backend.Backend: there are no nodes."""

    def resume_all(self, nodes: Iterable[Node]) -> None:
        """See backend.Backend: there are no nodes."""

    @contextmanager
    def supervised(self, noted: Noted, back: Back | None = None) -> Iterator[None]:  # noqa: ARG002
        """See backend.Backend: nobody starts its nodes again."""
        yield
