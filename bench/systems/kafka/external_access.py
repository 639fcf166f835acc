"""A Kafka cluster that somebody else runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from confluent_kafka.admin._config import ConfigEntry, ConfigResource
from confluent_kafka.admin._metadata import ClusterMetadata
from confluent_kafka.cimpl import NewTopic

from bench.errors import ClusterError, did_you_mean
from bench.model import Cluster, Settings, Topic, TopicState
from bench.systems import endpoint as endpoints
from bench.systems.external_access import CONNECT_S, ClusterFacts, ExternalAdmin
from bench.systems.kafka import topic_admin, topics
from bench.systems.kafka.admin import SHOWN_SETTINGS, layout_record, part_nodes
from bench.systems.kafka.config import copies
from bench.systems.kafka.group_types import SHARE
from bench.systems.kafka.nodes import BROKER
from bench.systems.kafka.settings import client_config, client_properties
from bench.systems.kafka.topic_admin import admin_client, read_metadata, reason
from bench.systems.protocols import SETTLES_S

_CONNECTION = (
    "security.",
    "ssl.",
    "sasl.",
    "enable.ssl.",
    "enable.sasl.",
    "https.",
    "socket.",
    "client.",
    "broker.address.",
)
"""How those of librdkafka's properties begin that a cluster file may set."""


_INTERNAL = "__"
"""How the names of Kafka's own topics begin."""
_REFUSALS = {"_AUTHENTICATION", "_SSL"}
"""A broker that refuses a client will not change its mind."""
_DOWN = "_ALL_BROKERS_DOWN"
_LOOK_S, _DOWN_S = 1.0, 5.0


class ExternalKafka:
    """See external_access.ExternalAccess."""

    parts: Sequence[str] = ("leader", "follower", "followers", "replicas")
    tells_copies = True
    group_types_with_settings: Collection[str] = (SHARE,)

    def __init__(self, endpoint: str) -> None:
        """Remember where the cluster is; connects with the first request."""
        self._endpoint = endpoint

    def wrong_properties(self) -> list[tuple[str, str]]:
        """See external_access.ExternalAccess: what is no matter of the connection stands in scenarios."""
        valid_names = [name for name in client_properties() if name.startswith(_CONNECTION)]
        properties = endpoints.parse(self._endpoint).client
        return [(name, _hint(name, valid_names)) for name in properties if name not in valid_names]

    def facts(self) -> ClusterFacts:
        """See external_access.ExternalAccess. Kafka's clients are not told the brokers' version."""
        cluster_metadata = self._cluster_metadata()
        settings, unreadable = self._broker_settings(min(cluster_metadata.brokers))
        return ClusterFacts(
            nodes={BROKER: len(cluster_metadata.brokers)},
            settings={BROKER: settings} if settings else {},
            unreadable=tuple(unreadable),
        )

    def _cluster_metadata(self) -> ClusterMetadata:
        """Return what a broker knows of the cluster. Raises ClusterError with the client's own reason."""
        errors: list[KafkaError] = []
        config: dict[str, Any] = client_config(self._endpoint, {"log_level": 0})
        config["error_cb"] = errors.append
        begun_s = time.monotonic()
        try:
            client = AdminClient(config)
        except KafkaException as error:
            raise self._not_connected(reason(error)) from error
        while True:
            try:
                return client.list_topics(timeout=_LOOK_S)
            except KafkaException as error:
                client.poll(0)
                if _is_hopeless(errors, time.monotonic() - begun_s):
                    causes = dict.fromkeys(cause.str() for cause in errors if cause.name() != _DOWN)
                    raise self._not_connected("; ".join(causes) or reason(error)) from error

    def _not_connected(self, why: str) -> ClusterError:
        shown = endpoints.parse(self._endpoint).display_address
        return ClusterError(f"Connecting to {shown}: {why}. Check the address, `client` and the network.")

    def _broker_settings(self, broker: int) -> tuple[Settings, list[str]]:
        """Return what one broker has of SHOWN_SETTINGS, and why they could not be read."""
        resource = ConfigResource(ConfigResource.Type.BROKER, str(broker))
        client = admin_client(self._endpoint)  # it has to live until the answer is there
        try:
            futures = client.describe_configs([resource], request_timeout=CONNECT_S)
            entries: Mapping[str, ConfigEntry] = futures[resource].result()
        except KafkaException as error:
            return {}, [f"The brokers' settings could not be read: {reason(error)}."]
        names = [name for name in SHOWN_SETTINGS[BROKER] if name in entries]
        return {name: value for name in names if (value := entries[name].value) is not None}, []

    def why_no_topics(self, prefix: str) -> str | None:
        """See external_access.ExternalAccess: a broker checks the request without carrying it out."""
        new = NewTopic(f"{prefix}check", num_partitions=1)
        client = admin_client(self._endpoint)
        try:
            client.create_topics([new], validate_only=True, request_timeout=CONNECT_S)[new.topic].result()
        except KafkaException as error:
            return reason(error)
        return None

    def topic_defaults(self) -> Settings:
        """See external_access: messages are kept until they are read, and Kafka's own default is one replica.

        By the cluster's settings messages may be gone before, and one more replica may be asked for.
        """
        return {"retention.ms": 86_400_000, "retention.bytes": -1, "min.insync.replicas": 1}

    def admin(self, cluster: Cluster) -> ExternalKafkaAdmin:
        """See external_access.ExternalAccess."""
        return ExternalKafkaAdmin(self._endpoint, cluster)

    def topics(self, prefix: str) -> list[str]:
        """See external_access.ExternalAccess."""
        topics_by_name = read_metadata(admin_client(self._endpoint), "Listing the topics").topics
        return sorted(name for name in topics_by_name if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """See external_access.ExternalAccess."""
        topic_admin.delete(self._endpoint, name)


class ExternalKafkaAdmin(ExternalAdmin):
    """See protocols.Admin. The cluster assigns replicas to brokers by its own rules."""

    def __init__(self, endpoint: str, cluster: Cluster) -> None:
        """Remember where the cluster is, and what it says about itself."""
        self._endpoint = endpoint
        self._cluster = cluster

    def create_topic(self, topic: Topic) -> None:
        """See protocols.Admin. A topic without `replicas` has as many as on a cluster of the suite."""
        topic_admin.create(self._endpoint, topic, int(topic.settings.get("replicas", copies(self._cluster))))

    def delete_topic(self, topic: Topic) -> None:
        """See protocols.Admin."""
        topic_admin.delete(self._endpoint, topic.name)

    def find(self, part: str, topic: Topic) -> list[str]:
        """See protocols.Admin, of a partition's parts; the nodes are those of the cluster's file."""
        word, _, number = part.partition(" of ")
        partition = self._partitions(topic).get(int(number or 0))
        if partition is None or word == "controller":
            return []
        names = part_nodes(word, partition)
        if strangers := [name for name in names if name not in self._cluster.external_nodes]:
            raise ClusterError(f"Looking for the {part} of {topic.name}: {', '.join(strangers)}.")
        return names

    def layout(self, topic: Topic) -> list[dict[str, object]]:
        """See protocols.Admin, as any broker tells it; nothing where no node may be broken."""
        if not self._cluster.external_nodes:
            return []
        return [layout_record(partition) for partition in self._partitions(topic).values()]

    def state(self, topic: Topic) -> TopicState:
        """See protocols.Admin, as any broker tells it."""
        partitions = self._partitions(topic).values()
        if not partitions:
            return TopicState(available=False, copies_missing=None, in_sync=None)
        fewest = min(len(partition.in_sync) for partition in partitions)
        served = all(partition.leader is not None for partition in partitions)
        return TopicState(
            served, any(len(partition.in_sync) < len(partition.replicas) for partition in partitions), fewest
        )

    def await_settled(self, topic: Topic) -> None:
        """See protocols.Admin: until all replicas are in sync, as any broker tells it."""
        replicas = int(topic.settings.get("replicas", copies(self._cluster)))
        topics.await_topic(admin_client(self._endpoint), topic, replicas, SETTLES_S)

    def other_messages(self) -> int | None:
        """See external_access.ExternalAdmin: by the ends of all partitions that this user may describe."""
        client = admin_client(self._endpoint)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        try:
            topics_by_name = client.list_topics(timeout=_LOOK_S).topics
            questions = {
                TopicPartition(name, number): latest
                for name, metadata in topics_by_name.items()
                if not name.startswith((self._cluster.topic_prefix, _INTERNAL))
                for number in metadata.partitions
            }
            answers = client.list_offsets(questions, request_timeout=CONNECT_S) if questions else {}
            return sum(int(answer.result().offset) for answer in answers.values())
        except KafkaException:
            return None

    def _partitions(self, topic: Topic) -> Mapping[int, topics.PartitionState]:
        """Return a topic's partitions by number; empty where no broker answers."""
        client = admin_client(self._endpoint)
        try:
            brokers = client.list_topics(topic.name, timeout=_LOOK_S).brokers
        except KafkaException:
            return {}
        by_address = {str(node["address"]): name for name, node in self._cluster.external_nodes.items()}
        names = {
            number: by_address.get(
                f"{broker.host}:{broker.port}", f"broker {number} is not in the cluster's file"
            )
            for number, broker in brokers.items()
        }
        return topics.view(client, "", topic, names, _LOOK_S) or {}

    def effective(self, topic: Topic) -> dict[str, object]:
        """See protocols.Admin. Of the servers' settings it has what the cluster said before the run."""
        client = admin_client(self._endpoint)
        return {
            "cluster": topic_admin.brokers_in_force(client),
            "topic": topic_admin.topic_in_force(client, topic),
            "roles": {role: dict(settings) for role, settings in self._cluster.settings.items()},
        }


def _hint(name: str, valid_names: Sequence[str]) -> str:
    return (
        f"is no property of a connection{did_you_mean(name, valid_names)} "
        "(properties of producers and consumers stand in the scenario)"
    )


def _is_hopeless(errors: Sequence[KafkaError], waited_s: float) -> bool:
    names = {error.name() for error in errors}
    return bool(_REFUSALS & names) or waited_s > (_DOWN_S if _DOWN in names else CONNECT_S)
