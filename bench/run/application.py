"""The application that stands between two topics, where a case has one: a node like the servers."""

from __future__ import annotations

import time

from bench.errors import LoadError
from bench.load import processor
from bench.model import Case, Node, Topic
from bench.run.cluster import LiveCluster
from bench.systems.processing import PROCESSOR

_SETTLED_S = 120.0
_TURN_S = 0.1


def start(cluster: LiveCluster, case: Case, source: Topic, target: Topic) -> None:
    """Start it: it reads `source` and writes `target`."""
    node = _node(cluster)
    node.directory.mkdir(parents=True, exist_ok=True)
    processor.write(
        processor.Process(
            system=case.system,
            endpoint=cluster.endpoint,
            source=source,
            target=target,
            settings=case.processor,
        ),
        node.directory / processor.FILE,
    )
    cluster.killable.start_node(node)


def settle(cluster: LiveCluster, source: Topic) -> None:
    """Let it settle everything, then end it in order: it finishes what it has in hands. Raises LoadError."""
    deadline = time.monotonic() + _SETTLED_S
    while backlog := cluster.admin.backlog(source):
        cluster.alive()
        if time.monotonic() > deadline:
            raise LoadError(f"The processor had {backlog:,} messages before it after {_SETTLED_S:.0f} s.")
        time.sleep(_TURN_S)
    cluster.killable.end_node(_node(cluster), kill=False)


def _node(cluster: LiveCluster) -> Node:
    return next(node for node in cluster.nodes if node.role == PROCESSOR)
