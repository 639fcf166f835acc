"""Replicas moved to other brokers, by Kafka's own tool, and preferred leaders elected."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import PartitionMetadata

from bench.errors import ClusterError
from bench.systems.draining import DrainResult
from bench.systems.kafka import throttle
from bench.systems.kafka.tools import run_tool

Place: TypeAlias = tuple[str, int]
"""A topic's name and the number of a partition."""
Replicas: TypeAlias = Mapping[Place, Sequence[int]]
"""The brokers that keep each partition, the preferred leader first."""

_MOVE = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
_ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
_MOVED_S = 300.0
_TURN_S = 0.2
_ASK_S = 10.0


@dataclass(frozen=True, slots=True)
class Tools:
    """Where Kafka's tools find the cluster and their own classes; `client` reads back what they did."""

    client: AdminClient
    servers: str
    class_path: str

    def run(self, tool: str, option: str, document: Mapping[str, object], *options: str) -> str:
        """Run a tool on a JSON file, whose `option` it is. Raises ClusterError with what the tool said."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "places.json"
            file.write_text(json.dumps(document), encoding="utf-8")
            arguments = ["--bootstrap-server", self.servers, option, str(file), *options]
            return run_tool(self.class_path, tool, arguments, "Moving replicas")


def replicas(client: AdminClient) -> dict[Place, list[int]]:
    """Return who keeps each partition of the cluster now. Raises ClusterError."""
    try:
        return {place: list(partition.replicas) for place, partition in _partitions(client).items()}
    except KafkaException as error:
        raise ClusterError(f"Reading where partitions lie: {error.args[0].str()}.") from error


def without(broker: int, current_replicas: Replicas, brokers: Sequence[int]) -> dict[Place, list[int]]:
    """Return the partitions of one broker with another in its place, each the one that keeps the fewest by then.

    Raises ClusterError where a partition has a replica on every other broker.
    """
    held = Counter(keeper for keepers in current_replicas.values() for keeper in keepers)
    led = Counter(keepers[0] for keepers in current_replicas.values())
    target_replicas: dict[Place, list[int]] = {}
    for place, keepers in sorted(current_replicas.items()):
        if broker not in keepers:
            continue
        free = [candidate for candidate in brokers if candidate != broker and candidate not in keepers]
        if not free:
            message = f"partition {place[1]} of {place[0]} has a replica on every other broker already"
            raise ClusterError(f"Draining broker {broker}: {message}.")
        taker = min(free, key=lambda candidate: (held[candidate], led[candidate], candidate))
        target_replicas[place] = [taker if keeper == broker else keeper for keeper in keepers]
        held[taker] += 1
        led[taker] += keepers[0] == broker
    return target_replicas


def move(tools: Tools, target_replicas: Replicas, bytes_per_s: float | None) -> DrainResult:
    """Give each partition its `target_replicas`; return when all were in sync, and only they kept it.

    With `bytes_per_s` each broker copies at most so much a second; that it was set and was lifted is read back.
    Raises ClusterError with what the tool said, or for what is not there after five minutes.
    """
    if not target_replicas:
        return DrainResult(time.monotonic_ns(), "There was no replica to move.")
    moves = {
        "version": 1,
        "partitions": [_place(place) | {"replicas": list(to)} for place, to in target_replicas.items()],
    }
    limit = [] if bytes_per_s is None else ["--throttle", str(round(bytes_per_s))]
    file = "--reassignment-json-file"
    begun_s = time.monotonic()
    tools.run(_MOVE, file, moves, "--execute", *limit)
    limited = throttle.confirm_limit(tools.client, target_replicas, round(bytes_per_s)) if bytes_per_s else ""
    _await(
        "Moving replicas: not all are in sync",
        tools.client,
        target_replicas,
        lambda to, partition: set(partition.replicas) == set(to) == set(partition.isrs),
    )
    done_ns, took_s = time.monotonic_ns(), time.monotonic() - begun_s
    tools.run(_MOVE, file, moves, "--verify")
    lifted = throttle.confirm_lifted(tools.client, target_replicas) if bytes_per_s else ""
    outcome = (
        f"The replicas of {len(target_replicas)} partitions are where they were to go, all in sync, "
        f"after {took_s:.1f} s."
    )
    return DrainResult(done_ns, " ".join(filter(None, (outcome, limited, lifted))))


def elect(tools: Tools, target_replicas: Replicas) -> None:
    """Let the first replica of each partition lead it; return once it does. Raises ClusterError."""
    places = {"partitions": [_place(place) for place in target_replicas]}
    tools.run(_ELECT, "--path-to-json-file", places, "--election-type", "PREFERRED")
    _await(
        "Electing leaders: not all first replicas lead",
        tools.client,
        target_replicas,
        lambda to, partition: partition.leader == to[0],
    )


def _place(place: Place) -> dict[str, object]:
    return {"topic": place[0], "partition": place[1]}


def _partitions(client: AdminClient) -> dict[Place, PartitionMetadata]:
    topics = client.list_topics(timeout=_ASK_S).topics
    return {
        (name, number): partition
        for name, topic in topics.items()
        for number, partition in topic.partitions.items()
    }


def _await(
    complaint: str,
    client: AdminClient,
    target_replicas: Replicas,
    is_so: Callable[[Sequence[int], PartitionMetadata], bool],
) -> None:
    """Return once something is so of every partition; what fails of asking is asked again. Raises ClusterError."""
    deadline = time.monotonic() + _MOVED_S
    while True:
        try:
            partitions = _partitions(client)
        except KafkaException:
            partitions = {}
        if all(place in partitions and is_so(to, partitions[place]) for place, to in target_replicas.items()):
            return
        if time.monotonic() > deadline:
            raise ClusterError(f"{complaint} after {_MOVED_S:.0f} s.")
        time.sleep(_TURN_S)
