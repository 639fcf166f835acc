"""Topics of a live Kafka cluster: created, read back and deleted, through whichever broker answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigEntry, ConfigResource
from confluent_kafka.admin._metadata import ClusterMetadata
from confluent_kafka.cimpl import NewTopic

from bench.errors import ClusterError, LoadError, TopicExistsError
from bench.model import Topic, text
from bench.systems.kafka import topics
from bench.systems.kafka.records import leave
from bench.systems.kafka.settings import client_config, topic_settings
from bench.systems.properties import require

REQUEST_S = 30.0
_TURN_S = 0.02
SHOWN_TOPIC_SETTINGS = (
    "compression.type",
    "flush.messages",
    "flush.ms",
    "max.message.bytes",
    "min.insync.replicas",
    "retention.ms",
    "unclean.leader.election.enable",
)
"""What belongs beside every measurement, whether set or not."""


def admin_client(endpoint: str) -> AdminClient:
    """Return a client for administration. It connects with the first request."""
    # log_level 0: what fails is said by the error raised, not by librdkafka on standard error.
    return AdminClient(client_config(endpoint, {"log_level": 0}))


def create(
    endpoint: str, topic: Topic, replicas: int, assignment: Sequence[Sequence[int]] | None = None
) -> None:
    """Create a topic; return once all replicas are in sync and every leader answers.

    Raises ClusterError; it is a TopicExistsError where there is such a topic already.
    `assignment` has the brokers' numbers by partition; without it the cluster assigns replicas itself.
    """
    client = admin_client(endpoint)
    config = {name: text(value) for name, value in topic_settings(topic.settings).items()}
    placed = {"replication_factor": replicas} if assignment is None else {"replica_assignment": assignment}
    new = NewTopic(topic.name, num_partitions=topic.partitions, config=config, **placed)
    try:
        client.create_topics([new], request_timeout=REQUEST_S)[topic.name].result()
    except KafkaException as error:
        failure = TopicExistsError if error.args[0].name() == "TOPIC_ALREADY_EXISTS" else ClusterError
        raise failure(f"Creating topic {topic.name}: {reason(error)}.") from error
    topics.await_topic(client, topic, replicas)
    _await_answers(endpoint, topic, len(broker_ids(client)))


def _await_answers(endpoint: str, topic: Topic, brokers: int) -> None:
    """Return once every leader answers for its partition: it learns that it leads after others tell so.

    Each broker leads one of the first partitions, and learns of a topic's partitions at once. Through a
    consumer: an AdminClient that once saw a topic without leaders believes so for five minutes.
    """
    first = replace(topic, partitions=min(topic.partitions, brokers))
    consumer = Consumer(client_config(endpoint, {"group.id": "bench-admin", "log_level": 0}))
    try:
        topics.ends(consumer, first, topics.LOOK_UP_S)
    except LoadError as error:
        raise ClusterError(f"Creating topic {topic.name}: {error}") from error
    finally:
        leave(consumer)


def delete(endpoint: str, name: str) -> None:
    """Delete a topic and return once it is gone; it not being there is no error. Raises ClusterError."""
    client = admin_client(endpoint)
    try:
        client.delete_topics([name], request_timeout=REQUEST_S)[name].result()
    except KafkaException as error:
        if error.args[0].name() != "UNKNOWN_TOPIC_OR_PART":
            raise ClusterError(f"Deleting topic {name}: {reason(error)}.") from error
    deadline = time.monotonic() + REQUEST_S
    # All topics are listed: asking for one by its name may create it again (auto.create.topics.enable).
    while name in read_metadata(client, f"Deleting topic {name}").topics:
        if time.monotonic() > deadline:
            raise ClusterError(f"Deleting topic {name}: it is still there after {REQUEST_S:.0f} s.")
        time.sleep(_TURN_S)


def topic_in_force(client: AdminClient, topic: Topic) -> dict[str, object]:
    """Return the topic's settings, and where its partitions lie. Raises ClusterError.

    Settings: those asked for, those that are not Kafka's default, and SHOWN_TOPIC_SETTINGS.
    """
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic.name)
    try:
        entries: Mapping[str, ConfigEntry] = client.describe_configs([resource])[resource].result()
    except KafkaException as error:
        raise ClusterError(f"Reading the settings of topic {topic.name} back: {reason(error)}.") from error
    scenario_settings = topic_settings(topic.settings)
    require(f"topic {topic.name}", scenario_settings, {name: entry.value for name, entry in entries.items()})
    shown = {
        *scenario_settings,
        *SHOWN_TOPIC_SETTINGS,
        *(name for name, entry in entries.items() if not entry.is_default),
    }
    settings = {name: entries[name].value for name in sorted(shown) if name in entries}
    return {**settings, "partitions": _placement(client, topic)}


def _placement(client: AdminClient, topic: Topic) -> list[dict[str, object]]:
    topic_metadata = read_metadata(client, f"Reading where {topic.name} lies", topic.name).topics[topic.name]
    return [
        {
            "partition": number,
            "leader": partition.leader,
            "replicas": list(partition.replicas),
            "in_sync": list(partition.isrs),
        }
        for number, partition in sorted(topic_metadata.partitions.items())
    ]


def brokers_in_force(client: AdminClient) -> dict[str, object]:
    """Return the cluster's id, and each broker's number and address. Raises ClusterError."""
    cluster_metadata = read_metadata(client, "Reading the cluster's nodes back")
    brokers = sorted(cluster_metadata.brokers.values(), key=lambda broker: broker.id)
    return {
        "id": cluster_metadata.cluster_id,
        "brokers": [{"id": broker.id, "address": f"{broker.host}:{broker.port}"} for broker in brokers],
    }


def broker_ids(client: AdminClient) -> list[int]:
    """Return the numbers of the live brokers. Raises ClusterError."""
    return sorted(read_metadata(client, "Asking for the cluster's brokers").brokers)


def read_metadata(client: AdminClient, doing: str, topic: str | None = None) -> ClusterMetadata:
    """Return what a broker knows of the cluster, or of one topic. Raises ClusterError."""
    try:
        return client.list_topics(topic, timeout=REQUEST_S)
    except KafkaException as error:
        raise ClusterError(f"{doing}: {reason(error)}.") from error


def reason(error: KafkaException) -> str:
    """Return Kafka's own name for an error, and its sentence."""
    cause = error.args[0]
    return f"{cause.name()}, {cause.str().rstrip('.')}"
