"""What any client may ask about a topic: who leads its partitions, where they begin and end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from bench.errors import ClusterError, LoadError
from bench.model import Topic
from bench.systems.processing import PROCESSOR

LOOK_UP_S = 30.0
_TURN_S = 0.02
_ANSWER_S = 1.0
_VIEW_S = 2.0


def group(topic: Topic) -> str:
    """Return the group that the processor of a topic reads as.

    Of each topic its own: a static member that comes again keeps what it was assigned, whatever it subscribes to.
    """
    return f"{PROCESSOR}-{topic.name}"


def await_topic(client: AdminClient | Producer | Consumer, topic: Topic, replicas: int = 0) -> None:
    """Return once every partition has a leader and at least `replicas` replicas are in sync.

    Raises ClusterError with what is missing after 30 s. A look-up (Metadata), not a description of
    the topic: that one wants one certain broker, and fails for long after its death.
    """
    deadline = time.monotonic() + LOOK_UP_S
    while missing := _missing(client, topic, replicas):
        if time.monotonic() > deadline:
            raise ClusterError(f"Looking up topic {topic.name}: {missing} after {LOOK_UP_S:.0f} s.")
        time.sleep(_TURN_S)


def _missing(client: AdminClient | Producer | Consumer, topic: Topic, replicas: int) -> str | None:
    try:
        found = client.list_topics(topic.name, timeout=1.0).topics[topic.name]
    except KafkaException as error:
        return f"no broker answered ({error.args[0].str()})"
    if found.error is not None:
        return f"the brokers say {found.error.name()}"
    if len(found.partitions) != topic.partitions:
        return f"it has {len(found.partitions)} partitions, not {topic.partitions}"
    if headless := [number for number, one in sorted(found.partitions.items()) if one.leader < 0]:
        return f"no leader for partition {', '.join(map(str, headless))}"
    behind = [number for number, one in sorted(found.partitions.items()) if len(one.isrs) < replicas]
    return f"replicas not in sync of partition {', '.join(map(str, behind))}" if behind else None


def ends(consumer: Consumer, topic: Topic, deadline_s: float) -> dict[int, tuple[int, int]]:
    """Return (first offset, offset after the last) by partition, asked of the leaders now.

    Raises LoadError naming the partition whose leader did not answer within `deadline_s`.
    """
    deadline = time.monotonic() + deadline_s
    return {number: _ends(consumer, topic.name, number, deadline) for number in range(topic.partitions)}


def _ends(consumer: Consumer, topic: str, number: int, deadline: float) -> tuple[int, int]:
    while isinstance(found := bounds(consumer, topic, number), str):
        if time.monotonic() > deadline:
            raise LoadError(
                f"Asking for the end of {topic}, partition {number}: its leader did not answer ({found}). "
                f"Nothing can be said of what it holds."
            )
        time.sleep(_TURN_S)
    return found


def bounds(consumer: Consumer, topic: str, number: int) -> tuple[int, int] | str:
    """Return (first offset, offset after the last) of one partition; why its leader does not answer, where it doesn't.

    Then the client is made to ask who leads now: one that saw a partition without a leader goes by that for long.
    """
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_ANSWER_S)
    except KafkaException as error:
        with suppress(KafkaException):
            consumer.list_topics(topic, timeout=_ANSWER_S)
        return str(error.args[0].str())


@dataclass(frozen=True, slots=True)
class View:
    """What one broker says of a topic: the partitions that it leads itself, and those that nobody leads."""

    led: list[dict[str, Any]]
    headless: set[int]


def view(client: AdminClient, broker: str, topic: Topic, names: Mapping[int, str]) -> View | None:
    """Ask the one broker that a client is connected to; `names` by number. None where it does not answer.

    What it leads has epoch and high watermark as it has them; where it does not tell them, it is left out.
    """
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    try:
        found = client.list_topics(topic.name, timeout=_VIEW_S).topics[topic.name].partitions
    except KafkaException:
        return None
    mine = [number for number, one in found.items() if names.get(one.leader) == broker]
    asked = {TopicPartition(topic.name, number): latest for number in mine}
    led = []
    for place, told in client.list_offsets(asked, request_timeout=_VIEW_S).items() if asked else ():
        with suppress(KafkaException):
            end = told.result()
            led.append(
                {
                    "partition": place.partition,
                    "leader": broker,
                    "in_sync": [names.get(replica, str(replica)) for replica in found[place.partition].isrs],
                    "epoch": -1 if end.leader_epoch is None else end.leader_epoch,
                    "high_watermark": end.offset,
                }
            )
    return View(led, {number for number, one in found.items() if one.leader < 0})
