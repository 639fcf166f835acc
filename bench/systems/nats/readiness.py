"""When a cluster takes requests: every server answers, and sees a leader of the cluster's metadata."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bench.errors import ClusterError
from bench.model import Node
from bench.systems.nats.streams import view

_DEADLINE_S = 60.0
_TURN_S = 0.05
_ASK_S = 1.0


def await_ready(nodes: Sequence[Node], alive: Callable[[], None], deadline_s: float = _DEADLINE_S) -> None:
    """Return once all servers agree on who leads. Raises ClusterError naming those that do not answer or do not."""
    deadline = time.monotonic() + deadline_s
    alive()
    while left := _not_ready(nodes):
        alive()
        if time.monotonic() > deadline:
            raise ClusterError(
                f"Waiting for the NATS cluster to take requests: {'; '.join(left)}. "
                "Look into the server.log of these nodes."
            )
        time.sleep(_TURN_S)


def _not_ready(nodes: Sequence[Node]) -> list[str]:
    views = {node.name: view(node, _ASK_S) for node in nodes}
    silent = [f"no answer yet from {name}" for name, server_view in views.items() if server_view is None]
    leaders = {server_view.meta_leader for server_view in views.values() if server_view is not None}
    if silent or (len(leaders) == 1 and None not in leaders):
        return silent
    return [
        f"{name} sees {server_view.meta_leader or 'no leader'}"
        for name, server_view in views.items()
        if server_view is not None
    ]
