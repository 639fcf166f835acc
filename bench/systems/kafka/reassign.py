"""Replicas of a topic moved to other brokers, by Kafka's own tool, and their preferred leaders elected."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import PartitionMetadata

from bench.errors import ClusterError
from bench.model import Topic
from bench.systems.kafka.tools import run_tool

_MOVE = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
_ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
_MOVED_S = 300.0
_TURN_S = 0.2
_ASK_S = 10.0


def move(  # noqa: PLR0913, PLR0917 - what the tool needs
    client: AdminClient,
    servers: str,
    class_path: str,
    topic: Topic,
    wanted: Sequence[Sequence[int]],
    bytes_per_s: float | None,
) -> str:
    """Give each partition the replicas wanted; return once all are in sync and the first of each leads.

    Raises ClusterError with what the tool said, or for what is not there after five minutes.
    """
    places = [{"topic": topic.name, "partition": number} for number in range(topic.partitions)]
    moves = [place | {"replicas": list(replicas)} for place, replicas in zip(places, wanted, strict=True)]
    server = ["--bootstrap-server", servers]
    with tempfile.TemporaryDirectory() as folder:
        moved, elected = (Path(folder) / name for name in ("moves.json", "elections.json"))
        moved.write_text(json.dumps({"version": 1, "partitions": moves}), encoding="utf-8")
        elected.write_text(json.dumps({"partitions": places}), encoding="utf-8")
        common = [*server, "--reassignment-json-file", str(moved)]
        throttle = [] if bytes_per_s is None else ["--throttle", str(round(bytes_per_s))]
        begun_s = time.monotonic()
        run_tool(class_path, _MOVE, [*common, "--execute", *throttle], f"Moving replicas of {topic.name}")
        _await(
            f"Moving replicas of {topic.name}: not all are in sync",
            client,
            topic,
            lambda number, found: set(found.replicas) == set(wanted[number]) == set(found.isrs),
        )
        took_s = time.monotonic() - begun_s
        run_tool(class_path, _MOVE, [*common, "--verify"], f"Ending the move of {topic.name}")
        election = ["--election-type", "PREFERRED", "--path-to-json-file", str(elected)]
        run_tool(class_path, _ELECT, [*server, *election], f"Electing leaders of {topic.name}")
    _await(
        f"Electing leaders of {topic.name}: not all first replicas lead",
        client,
        topic,
        lambda number, found: found.leader == wanted[number][0],
    )
    return f"{sum(map(len, wanted))} replicas of {topic.partitions} partitions were placed in {took_s:.1f} s."


def _await(
    complaint: str,
    client: AdminClient,
    topic: Topic,
    is_so: Callable[[int, PartitionMetadata], bool],
) -> None:
    """Return once something is so of every partition; what fails of asking is asked again. Raises ClusterError."""
    deadline = time.monotonic() + _MOVED_S
    while True:
        try:
            found = client.list_topics(topic.name, timeout=_ASK_S).topics[topic.name].partitions
        except KafkaException:
            found = {}
        if found and all(is_so(number, one) for number, one in found.items()):
            return
        if time.monotonic() > deadline:
            raise ClusterError(f"{complaint} after {_MOVED_S:.0f} s.")
        time.sleep(_TURN_S)
