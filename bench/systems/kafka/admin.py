"""What an operator does to a live Kafka cluster: topics, and settings read back."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigEntry, ConfigResource
from confluent_kafka.admin._metadata import ClusterMetadata
from confluent_kafka.cimpl import NewTopic

from bench.errors import ClusterError, LoadError
from bench.model import Cluster, Node, Topic, TopicState, of_role, text
from bench.systems.draining import Drained
from bench.systems.kafka import reassign, topics
from bench.systems.kafka.config import copies
from bench.systems.kafka.describe import active_controller, node_settings
from bench.systems.kafka.features import FEATURES, finalized
from bench.systems.kafka.nodes import (
    BROKER,
    CONTROLLER,
    ROLES,
    ZOOKEEPER,
    address,
    endpoint,
    node_id,
)
from bench.systems.kafka.records import leave
from bench.systems.kafka.settings import topic_settings
from bench.systems.properties import live, require
from bench.systems.protocols import SETTLES_S
from bench.systems.servers import Servers

_REQUEST_S = 30.0
_LOOK_S = 2.0
_FIND_S = 1.0
"""How long a step waits for a broker to say who plays a part: one that is frozen or gone says nothing."""
_TURN_S = 0.02

_TOLD: Mapping[str, Sequence[str]] = {
    BROKER: (
        "auto.leader.rebalance.enable",
        "broker.heartbeat.interval.ms",
        "broker.session.timeout.ms",
        "compression.type",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "log.flush.scheduler.interval.ms",
        "log.segment.bytes",
        "message.max.bytes",
        "min.insync.replicas",
        "num.io.threads",
        "num.network.threads",
        "num.replica.fetchers",
        "replica.fetch.wait.max.ms",
        "replica.lag.time.max.ms",
        "unclean.leader.election.enable",
    ),
    CONTROLLER: (
        "broker.heartbeat.interval.ms",
        "broker.session.timeout.ms",
        "controller.quorum.election.timeout.ms",
        "controller.quorum.fetch.timeout.ms",
        "unclean.leader.election.enable",
    ),
    ZOOKEEPER: ("maxSessionTimeout", "minSessionTimeout", "tickTime"),
    "topic": (
        "compression.type",
        "flush.messages",
        "flush.ms",
        "max.message.bytes",
        "min.insync.replicas",
        "retention.ms",
        "unclean.leader.election.enable",
    ),
}
"""What belongs beside every measurement, whether set or not."""


class KafkaAdmin:
    """See protocols.Admin. Each action makes a client of its own.

    A client that outlives a broker's death may go on asking the dead one for a minute.
    """

    def __init__(self, servers: Servers, cluster: Cluster, nodes: Sequence[Node]) -> None:
        """Remember whom to ask; connects with the first action. `servers` have the tool that tells features."""
        self._servers = servers
        self._cluster = cluster
        self._nodes = nodes

    def _client(self) -> AdminClient:
        return _client(endpoint(self._nodes))

    def _replicas(self, topic: Topic) -> int:
        return int(topic.settings.get("replicas", copies(self._cluster)))

    def create_topic(self, topic: Topic) -> None:
        """See protocols.Admin. Returns once all replicas are in sync; leaders are spread evenly."""
        client = self._client()
        replicas, brokers = self._replicas(topic), _broker_ids(client)
        new = NewTopic(
            topic.name,
            num_partitions=topic.partitions,
            replica_assignment=spread(brokers, topic.partitions, replicas),
            config={name: text(value) for name, value in topic_settings(topic.settings).items()},
        )
        try:
            client.create_topics([new], request_timeout=_REQUEST_S)[topic.name].result()
        except KafkaException as error:
            raise ClusterError(f"Creating topic {topic.name}: {_said(error)}.") from error
        topics.await_topic(client, topic, replicas)
        _await_answers(endpoint(self._nodes), topic, len(brokers))

    def find(self, part: str, topic: Topic) -> list[str]:
        """See protocols.Admin. Of a partition speaks the same broker as in `layout`.

        While its leader does not answer, as it is frozen or gone and nobody leads in its place, it goes by the word of
        most others.
        """
        word, _, number = part.partition(" of ")
        if word == "controller" and of_role(self._nodes, ZOOKEEPER):
            elected = _listed(self._client(), "Asking who is the controller").controller_id
            return [node.name for node in of_role(self._nodes, BROKER) if node_id(node) == elected]
        if word == "controller":
            return active_controller(self._nodes)
        views = self._views(topic, _FIND_S) or self._views(topic, _REQUEST_S)
        if not views:
            raise ClusterError(f"Looking for the {part} of {topic.name}: no broker answered.")
        partition = topics.reconciled(views).get(int(number or 0))
        return [] if partition is None else _played(word, partition)

    def layout(self, topic: Topic) -> list[dict[str, object]]:
        """See protocols.Admin. Of a partition speaks who knows its highest leader epoch.

        Nobody leads it where every broker that answers says so.
        """
        found = topics.reconciled(self._views(topic, _LOOK_S)).values()
        return [_shown(one) for one in found if one.leads or one.epoch is not None]

    def _views(self, topic: Topic, within_s: float) -> list[dict[int, topics.Partition]]:
        """Return what each broker says of the topic, without those that do not answer in time."""
        brokers = of_role(self._nodes, BROKER)
        names = {node_id(node): node.name for node in brokers}

        def ask(node: Node) -> dict[int, topics.Partition] | None:
            if not _listens(node, within_s):
                return None
            return topics.view(_client(address(node)), node.name, topic, names, within_s)

        with ThreadPoolExecutor(len(brokers)) as pool:
            return [view for view in pool.map(ask, brokers) if view]

    def state(self, topic: Topic) -> TopicState:
        """See protocols.Admin. The brokers may disagree, as one that is cut off believes what was so before.

        Replicas in sync are counted by the broker that knows the fewest; a partition is served if anybody knows
        its leader.
        """
        brokers = of_role(self._nodes, BROKER)
        with ThreadPoolExecutor(len(brokers)) as pool:
            told = [one for one in pool.map(lambda node: _leaders_and_isrs(node, topic), brokers) if one]
        if not told:
            return TopicState(available=False, copies_missing=None, in_sync=None)
        fewest = min(isr for one in told for _, isr in one)
        served = any(all(leader >= 0 for leader, _ in one) for one in told)
        return TopicState(served, fewest < self._replicas(topic), fewest)

    def backlog(self, topic: Topic) -> int:
        """See protocols.Admin: what the group has not committed yet."""
        consumer = Consumer(
            {"bootstrap.servers": endpoint(self._nodes), "group.id": topics.group(topic), "log_level": 0}
        )
        try:
            ends = topics.ends(consumer, topic, _REQUEST_S)
            parts = [TopicPartition(topic.name, number) for number in ends]
            settled = {one.partition: one.offset for one in consumer.committed(parts, timeout=_REQUEST_S)}
            return sum(end - max(first, settled[number]) for number, (first, end) in ends.items())
        except (KafkaException, LoadError) as error:
            raise ClusterError(f"Asking for the processor's backlog of {topic.name}: {error}.") from error
        finally:
            leave(consumer)

    def look_up(self, topic: Topic, avoiding: Sequence[str]) -> str:
        """See protocols.Admin. Nothing comes of it here: the controllers elect leaders, whoever asks."""
        asked = next((node for node in of_role(self._nodes, BROKER) if node.name not in avoiding), None)
        if asked is None:
            raise ClusterError(f"Looking up {topic.name}: no broker is left to ask.")
        try:
            found = _client(address(asked)).list_topics(topic.name, timeout=_REQUEST_S).topics[topic.name]
        except KafkaException as error:
            raise ClusterError(f"Looking up {topic.name} through {asked.name}: {_said(error)}.") from error
        names = {node_id(node): node.name for node in of_role(self._nodes, BROKER)}
        leaders = dict.fromkeys(
            names.get(partition.leader, "nobody") for partition in found.partitions.values()
        )
        return f"Asked through {asked.name}: {', '.join(leaders)} leads it."

    def await_settled(self, topic: Topic) -> None:
        """Return once every broker says that all replicas are in sync; ClusterError after SETTLES_S without.

        Loss must not be judged before: with fewer than min.insync.replicas in sync, messages are there that
        cannot be read yet. One broker's word is not enough: one that was frozen or cut off still believes
        what was so before.
        """
        deadline = time.monotonic() + SETTLES_S
        for node in of_role(self._cluster.first(self._nodes), BROKER):
            left_s = deadline - time.monotonic()
            try:
                topics.await_topic(_client(address(node)), topic, self._replicas(topic), left_s)
            except ClusterError as error:
                raise ClusterError(
                    f"Within {SETTLES_S:g} s {node.name} did not see all in sync: {error}"
                ) from error

    def rebalance(self, topic: Topic, bytes_per_s: float | None) -> str:
        """See protocols.Admin: replicas move, by Kafka's own tool, then the preferred replicas lead."""
        tools = self._tools()
        wanted = spread(_broker_ids(tools.client), topic.partitions, self._replicas(topic))
        by_place = {(topic.name, number): those for number, those in enumerate(wanted)}
        moved = reassign.move(tools, by_place, bytes_per_s)
        reassign.elect(tools, by_place)
        return moved.seen

    def drain(self, node: str, topic: Topic, bytes_per_s: float | None) -> Drained:  # noqa: ARG002 - of all topics
        """See protocols.Admin: all replicas of the broker move to others, by Kafka's own tool."""
        tools = self._tools()
        broker = next(node_id(one) for one in of_role(self._nodes, BROKER) if one.name == node)
        wanted = reassign.without(broker, reassign.replicas(tools.client), _broker_ids(tools.client))
        moved = reassign.move(tools, wanted, bytes_per_s)
        if left := [place for place, those in reassign.replicas(tools.client).items() if broker in those]:
            raise ClusterError(f"Draining {node}: {len(left)} replicas are there after all others moved.")
        return moved._replace(seen=f"{node} keeps no replica of any topic. {moved.seen}")

    def _tools(self) -> reassign.Tools:
        class_path = self._servers.class_path(self._cluster.version)
        return reassign.Tools(self._client(), endpoint(self._nodes), class_path)

    def lift_expiry(self, topic: Topic) -> None:
        """See protocols.Admin: what expires is deleted, for every reader."""

    def delete_topic(self, topic: Topic) -> None:
        """See protocols.Admin. Brokers free its space a second later (log.segment.delete.delay.ms)."""
        client = self._client()
        try:
            client.delete_topics([topic.name], request_timeout=_REQUEST_S)[topic.name].result()
        except KafkaException as error:
            if error.args[0].name() != "UNKNOWN_TOPIC_OR_PART":
                raise ClusterError(f"Deleting topic {topic.name}: {_said(error)}.") from error
        _await_gone(client, topic)

    def effective(self, topic: Topic) -> dict[str, object]:
        """See protocols.Admin. Raises ClusterError where a live value is not the one asked for."""
        client = self._client()
        return {
            "cluster": _cluster(client) | self._features(),
            "topic": {**_topic(client, topic), "partitions": _placement(client, topic)},
            "roles": {
                role: live(nodes, self._cluster.settings.get(role, {}), _TOLD[role], node_settings)
                for role in ROLES
                if (nodes := of_role(self._cluster.first(self._nodes), role))
            },
        }

    def _features(self) -> dict[str, object]:
        """Return the levels of the features that the scenario sets; nobody is asked where it sets none."""
        if not (asked := self._cluster.settings.get(FEATURES)):
            return {}
        found = finalized(self._servers.class_path(self._cluster.version), endpoint(self._nodes))
        require("the cluster's features", asked, {name: found.get(name, "0") for name in asked})
        return {FEATURES: {name: found.get(name, "0") for name in asked}}

    def close(self) -> None:
        """See protocols.Admin: nothing stays open between actions."""


def _client(servers: str) -> AdminClient:
    # log_level 0: what fails is said by the error raised, not by librdkafka on standard error.
    return AdminClient({"bootstrap.servers": servers, "log_level": 0})


def _played(part: str, partition: topics.Partition) -> list[str]:
    """Return who plays one of a partition's parts."""
    followers = [name for name in partition.replicas if name != partition.leader]
    return {
        "leader": [partition.leader] if partition.leader is not None else [],
        "followers": followers,
        "follower": [name for name in followers if name in partition.in_sync][:1],
        "replicas": partition.replicas,
    }[part]


def _shown(partition: topics.Partition) -> dict[str, object]:
    return {
        "partition": partition.number,
        "leader": partition.leader,
        "in_sync": partition.in_sync,
        "epoch": partition.epoch,
        "high_watermark": partition.high_watermark,
    }


def _listens(node: Node, within_s: float) -> bool:
    """Whether a broker's port is open: one that is dead says so at once, where a client would try for `within_s`."""
    try:
        socket.create_connection((node.address, node.ports[0]), within_s).close()
    except OSError:
        return False
    return True


def _leaders_and_isrs(broker: Node, topic: Topic) -> list[tuple[int, int]] | None:
    """Return leader and number of replicas in sync of each partition as one broker knows them, None without one."""
    try:
        found = _client(address(broker)).list_topics(topic.name, timeout=_LOOK_S).topics[topic.name]
    except KafkaException:
        return None
    return [(partition.leader, len(partition.isrs)) for partition in found.partitions.values()] or None


def spread(brokers: Sequence[int], partitions: int, replicas: int) -> list[list[int]]:
    """Assign replicas: leaders in turn, followers so that pairs of brokers share about as many partitions.

    Kafka's own rule begins at a random broker; without it repeats of a trial differ by nothing but chance.
    Raises ClusterError when there are fewer brokers than replicas.
    """
    count = len(brokers)
    if replicas > count:
        raise ClusterError(f"{replicas} replicas need as many live brokers, and there are {count}.")
    return [
        [brokers[leader], *(brokers[(leader + step) % count] for step in _steps(count, replicas, shift))]
        for shift, leader in (divmod(partition, count) for partition in range(partitions))
    ]


def _steps(brokers: int, replicas: int, shift: int) -> list[int]:
    """Return how far from their leader the followers are; the next round of partitions begins one further."""
    return [1 + (shift + follower) % (brokers - 1) for follower in range(replicas - 1)]


def _await_answers(servers: str, topic: Topic, brokers: int) -> None:
    """Return once every leader answers for its partition: it learns that it leads after others tell so.

    Each broker leads one of the first partitions, and learns of a topic's partitions at once. Through a
    consumer: an AdminClient that once saw a topic without leaders believes so for five minutes.
    """
    first = replace(topic, partitions=min(topic.partitions, brokers))
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench-admin", "log_level": 0})
    try:
        topics.ends(consumer, first, topics.LOOK_UP_S)
    except LoadError as error:
        raise ClusterError(f"Creating topic {topic.name}: {error}") from error
    finally:
        leave(consumer)


def _broker_ids(client: AdminClient) -> list[int]:
    return sorted(_listed(client, "Asking for the cluster's brokers").brokers)


def _listed(client: AdminClient, doing: str, topic: str | None = None) -> ClusterMetadata:
    """Return what a broker knows of the cluster, or of one topic. Raises ClusterError."""
    try:
        return client.list_topics(topic, timeout=_REQUEST_S)
    except KafkaException as error:
        raise ClusterError(f"{doing}: {_said(error)}.") from error


def _await_gone(client: AdminClient, topic: Topic) -> None:
    deadline = time.monotonic() + _REQUEST_S
    while _listed(client, f"Deleting topic {topic.name}", topic.name).topics[topic.name].error is None:
        if time.monotonic() > deadline:
            raise ClusterError(f"Deleting topic {topic.name}: it is still there after {_REQUEST_S:.0f} s.")
        time.sleep(_TURN_S)


def _cluster(client: AdminClient) -> dict[str, object]:
    found = _listed(client, "Reading the cluster's nodes back")
    brokers = sorted(found.brokers.values(), key=lambda broker: broker.id)
    return {
        "id": found.cluster_id,
        "brokers": [{"id": broker.id, "address": f"{broker.host}:{broker.port}"} for broker in brokers],
    }


def _topic(client: AdminClient, topic: Topic) -> dict[str, object]:
    """Return the topic's settings: those asked for, those that are not Kafka's default, those always told."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic.name)
    try:
        entries: Mapping[str, ConfigEntry] = client.describe_configs([resource])[resource].result()
    except KafkaException as error:
        raise ClusterError(f"Reading the settings of topic {topic.name} back: {_said(error)}.") from error
    asked = topic_settings(topic.settings)
    require(f"topic {topic.name}", asked, {name: entry.value for name, entry in entries.items()})
    told = {*asked, *_TOLD["topic"], *(name for name, entry in entries.items() if not entry.is_default)}
    return {name: entries[name].value for name in sorted(told) if name in entries}


def _placement(client: AdminClient, topic: Topic) -> list[dict[str, object]]:
    found = _listed(client, f"Reading where {topic.name} lies", topic.name).topics[topic.name]
    return [
        {"partition": number, "leader": one.leader, "replicas": list(one.replicas), "in_sync": list(one.isrs)}
        for number, one in sorted(found.partitions.items())
    ]


def _said(error: KafkaException) -> str:
    told = error.args[0]
    return f"{told.name()}, {told.str().rstrip('.')}"
