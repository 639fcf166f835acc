"""Replicas of a topic moved to other brokers, by Kafka's own tool, and their preferred leaders elected."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka._model import ElectionType
from confluent_kafka.admin import AdminClient

from bench.errors import ClusterError
from bench.model import Topic
from bench.systems.kafka.tools import run_tool

_TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
_LEADS_ALREADY = "ELECTION_NOT_NEEDED"
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
    moves = [
        {"topic": topic.name, "partition": number, "replicas": list(replicas)}
        for number, replicas in enumerate(wanted)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "moves.json"
        file.write_text(json.dumps({"version": 1, "partitions": moves}), encoding="utf-8")
        common = ["--bootstrap-server", servers, "--reassignment-json-file", str(file)]
        throttle = [] if bytes_per_s is None else ["--throttle", str(round(bytes_per_s))]
        begun_s = time.monotonic()
        run_tool(class_path, _TOOL, [*common, "--execute", *throttle], f"Moving replicas of {topic.name}")
        _await_moved(client, topic, wanted)
        took_s = time.monotonic() - begun_s
        run_tool(class_path, _TOOL, [*common, "--verify"], f"Ending the move of {topic.name}")
    _elect(client, topic)
    return f"{sum(map(len, wanted))} replicas of {topic.partitions} partitions were placed in {took_s:.1f} s."


def _await_moved(client: AdminClient, topic: Topic, wanted: Sequence[Sequence[int]]) -> None:
    deadline = time.monotonic() + _MOVED_S
    while True:
        try:
            found = client.list_topics(topic.name, timeout=_ASK_S).topics[topic.name].partitions
        except KafkaException:
            found = {}
        if found and all(
            set(found[number].replicas) == set(replicas) == set(found[number].isrs)
            for number, replicas in enumerate(wanted)
        ):
            return
        if time.monotonic() > deadline:
            raise ClusterError(
                f"Moving replicas of {topic.name}: not all are in sync after {_MOVED_S:.0f} s."
            )
        time.sleep(_TURN_S)


def _elect(client: AdminClient, topic: Topic) -> None:
    partitions = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
    try:
        told = client.elect_leaders(ElectionType.PREFERRED, partitions, request_timeout=_ASK_S).result()
    except KafkaException as error:
        raise ClusterError(f"Electing leaders of {topic.name}: {error.args[0].str()}.") from error
    for partition, refused in told.items():
        if refused is not None and refused.error().name() != _LEADS_ALREADY:
            raise ClusterError(f"Electing a leader of {partition}: {refused.error().str()}.")
