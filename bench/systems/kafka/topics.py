"""What any client may ask about a topic: who leads its partitions, where they begin and end."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ListOffsetsResultInfo,
    OffsetSpec,
    PartitionMetadata,
)

from bench.errors import ClusterError, LoadError
from bench.model import Topic
from bench.systems.processing import PROCESSOR

LOOK_UP_S = 30.0
_TURN_S = 0.02
_ANSWER_S = 1.0
_NO_EPOCH = -1


def group(topic: Topic) -> str:
    """Return the group that the processor of a topic reads as.

    Of each topic its own: a static member that comes again keeps what it was assigned, whatever it subscribes to.
    """
    return f"{PROCESSOR}-{topic.name}"


def await_topic(
    client: AdminClient | Producer | Consumer, topic: Topic, replicas: int = 0, within_s: float | None = None
) -> None:
    """Return once every partition has a leader and at least `replicas` replicas are in sync.

    Raises ClusterError with what is missing after `within_s` (LOOK_UP_S). A look-up (Metadata), not a description of
    the topic: that one wants one certain broker, and fails for long after its death.
    """
    patience_s = LOOK_UP_S if within_s is None else within_s
    deadline = time.monotonic() + patience_s
    while missing := _topic_problem(client, topic, replicas):
        if time.monotonic() > deadline:
            raise ClusterError(f"Looking up topic {topic.name}: {missing} after {patience_s:.0f} s.")
        time.sleep(_TURN_S)


def _topic_problem(client: AdminClient | Producer | Consumer, topic: Topic, replicas: int) -> str | None:
    try:
        topic_metadata = client.list_topics(topic.name, timeout=1.0).topics[topic.name]
    except KafkaException as error:
        return f"no broker answered ({error.args[0].str()})"
    if topic_metadata.error is not None:
        return f"the brokers say {topic_metadata.error.name()}"
    if len(topic_metadata.partitions) != topic.partitions:
        return f"it has {len(topic_metadata.partitions)} partitions, not {topic.partitions}"
    if headless := [
        number for number, partition in sorted(topic_metadata.partitions.items()) if partition.leader < 0
    ]:
        return f"no leader for partition {', '.join(map(str, headless))}"
    behind = [
        number
        for number, partition in sorted(topic_metadata.partitions.items())
        if len(partition.isrs) < replicas
    ]
    return f"replicas not in sync of partition {', '.join(map(str, behind))}" if behind else None


def ends(consumer: Consumer, topic: Topic, deadline_s: float) -> dict[int, tuple[int, int]]:
    """Return (first offset, offset after the last) by partition, asked of the leaders now.

    Raises LoadError naming the partition whose leader did not answer within `deadline_s`.
    """
    deadline = time.monotonic() + deadline_s
    return {number: _ends(consumer, topic.name, number, deadline) for number in range(topic.partitions)}


def _ends(consumer: Consumer, topic: str, number: int, deadline: float) -> tuple[int, int]:
    while isinstance(answer := bounds(consumer, topic, number), str):
        if time.monotonic() > deadline:
            raise LoadError(
                f"Asking for the end of {topic}, partition {number}: its leader did not answer ({answer}). "
                f"Nothing can be said of what it holds."
            )
        time.sleep(_TURN_S)
    return answer


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
class PartitionState:
    """A partition as a broker knows it, nodes by name.

    Only the broker that `leads` it states `epoch` and `high_watermark`. One that was elected does not yet while it
    waits for what would raise the high watermark. With fewer replicas in sync than the topic asks for, it waits for
    as long as that lasts.
    """

    number: int
    leader: str | None
    replicas: list[str]
    in_sync: list[str]
    leads: bool = False
    epoch: int | None = None
    high_watermark: int | None = None


def view(
    client: AdminClient, broker: str, topic: Topic, names: Mapping[int, str], within_s: float
) -> dict[int, PartitionState] | None:
    """Ask the one broker that a client is connected to; `names` by number. None where it does not answer."""
    try:
        metadata_by_number = client.list_topics(topic.name, timeout=within_s).topics[topic.name].partitions
    except KafkaException:
        return None
    partitions = {
        number: _partition(number, metadata, names) for number, metadata in metadata_by_number.items()
    }
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    questions = {
        TopicPartition(topic.name, number): latest
        for number, partition in partitions.items()
        if partition.leader == broker
    }
    for place, answer in (
        client.list_offsets(questions, request_timeout=within_s).items() if questions else ()
    ):
        partitions[place.partition] = _add_leader_state(partitions[place.partition], answer)
    return partitions


def _add_leader_state(partition: PartitionState, answer: Future[ListOffsetsResultInfo]) -> PartitionState:
    """Add what a partition's leader tells of itself, where it is that and answers."""
    try:
        end = answer.result()
    except KafkaException as error:
        waits = error.args[0].code() == KafkaError.OFFSET_NOT_AVAILABLE
        return replace(partition, leads=True) if waits else partition
    if end.offset < 0:  # what the client gives where there was no answer
        return partition
    epoch = _NO_EPOCH if end.leader_epoch is None else end.leader_epoch
    return replace(partition, leads=True, epoch=epoch, high_watermark=end.offset)


def _partition(number: int, metadata: PartitionMetadata, names: Mapping[int, str]) -> PartitionState:
    leader = None if metadata.leader < 0 else names.get(metadata.leader, str(metadata.leader))
    replicas, in_sync = (
        [names.get(broker, str(broker)) for broker in brokers]
        for brokers in (metadata.replicas, metadata.isrs)
    )
    return PartitionState(number, leader, replicas, in_sync)


def reconcile(views: Iterable[Mapping[int, PartitionState]]) -> dict[int, PartitionState]:
    """Return each partition by the word of the broker that leads it itself: one just elected, or in the highest epoch.

    Nobody leads it where every broker that answers says so. Else it goes by the word of most, and nobody `leads`: who
    does by that does not answer.
    """
    views_by_number: dict[int, list[PartitionState]] = defaultdict(list)
    for partition_view in (partition_view for partitions in views for partition_view in partitions.values()):
        views_by_number[partition_view.number].append(partition_view)
    return {number: _newest(views_by_number[number]) for number in sorted(views_by_number)}


def _newest(partition_views: Sequence[PartitionState]) -> PartitionState:
    named = Counter(partition_view.leader for partition_view in partition_views)
    elected = next(
        (
            partition_view
            for partition_view in partition_views
            if partition_view.leads and partition_view.epoch is None
        ),
        None,
    )
    if elected is not None and named[elected.leader] == max(named.values()):
        return elected
    led = [
        (partition_view.epoch, partition_view)
        for partition_view in partition_views
        if partition_view.epoch is not None
    ]
    if led:
        return max(led, key=itemgetter(0))[1]
    if all(partition_view.leader is None for partition_view in partition_views):
        return replace(partition_views[0], in_sync=[], epoch=_NO_EPOCH)
    (leader, _), *_ = named.most_common(1)
    return next(partition_view for partition_view in partition_views if partition_view.leader == leader)
