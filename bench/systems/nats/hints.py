"""Commands for a cluster of `bench up`."""

from __future__ import annotations

from collections.abc import Sequence

from bench.model import Node
from bench.systems.nats.nodes import monitor


def hints(nodes: Sequence[Node]) -> list[str]:
    """Return one command a line; they need the sandbox's network, in which the nodes have their addresses."""
    return [f"curl -s '{monitor(nodes[0], page)}'" for page in ("varz", "jsz?accounts=1&streams=1", "routez")]
