"""Members of a consumer group that are processes of their own, and so nodes of the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.load import member
from bench.model import MEMBER, Node, Topic, Trial
from bench.run.cluster import LiveCluster


def start(cluster: LiveCluster, trial: Trial, topic: Topic, run: str, receives: Path) -> None:
    """Start those that are no spare ones; each records its receives below `receives`. Raises ClusterError."""
    end(cluster)
    receives.mkdir(parents=True, exist_ok=True)
    for number, node in enumerate(_members(cluster)):
        node.directory.mkdir(parents=True, exist_ok=True)
        member.write(
            member.Membership(
                system=trial.case.system,
                endpoint=cluster.endpoint,
                topic=topic,
                consumer=trial.case.consumer,
                group=trial.case.consumer_group,
                number=number,
                trial=trial.number,
                run=run,
                folder=receives,
            ),
            node.directory / member.FILE,
        )
    first = {node.name for node in cluster.spec.first(cluster.nodes)}
    for node in _members(cluster):
        if node.name in first:
            cluster.killable.start_node(node)


def end(cluster: LiveCluster) -> None:
    """Let those that run leave the group. Raises FaultError for one that does not end."""
    running = cluster.backend.pids()
    for node in _members(cluster):
        if node.name in running:
            cluster.killable.end_node(node, kill=False)


def _members(cluster: LiveCluster) -> Iterator[Node]:
    return (node for node in cluster.nodes if node.role == MEMBER)
