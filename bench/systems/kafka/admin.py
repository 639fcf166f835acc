"""What an operator does to a live Kafka cluster: topics, and settings read back."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from bench.errors import ClusterError, LoadError
from bench.model import Cluster, Node, Topic, TopicState, of_role
from bench.systems.draining import DrainResult
from bench.systems.kafka import reassign, topic_admin, topics
from bench.systems.kafka.config import copies
from bench.systems.kafka.features import FEATURES, finalized_levels
from bench.systems.kafka.live_settings import active_controller, node_settings
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
from bench.systems.kafka.topic_admin import REQUEST_S, admin_client, broker_ids, read_metadata, reason
from bench.systems.properties import live, require
from bench.systems.protocols import SETTLES_S
from bench.systems.servers import Servers

_LOOK_S = 2.0
_FIND_S = 1.0
"""How long a step waits for a broker to say who plays a part: one that is frozen or gone says nothing."""

SHOWN_SETTINGS: Mapping[str, Sequence[str]] = {
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
        return admin_client(endpoint(self._nodes))

    def _replicas(self, topic: Topic) -> int:
        return int(topic.settings.get("replicas", copies(self._cluster)))

    def create_topic(self, topic: Topic) -> None:
        """See protocols.Admin. Returns once all replicas are in sync; leaders are spread evenly."""
        replicas = self._replicas(topic)
        assignment = spread(broker_ids(self._client()), topic.partitions, replicas)
        topic_admin.create(endpoint(self._nodes), topic, replicas, assignment)

    def find(self, part: str, topic: Topic) -> list[str]:
        """See protocols.Admin. Of a partition speaks the same broker as in `layout`.

        While its leader does not answer, as it is frozen or gone and nobody leads in its place, it goes by the word of
        most others.
        """
        word, _, number = part.partition(" of ")
        if word == "controller" and of_role(self._nodes, ZOOKEEPER):
            elected = read_metadata(self._client(), "Asking who is the controller").controller_id
            return [node.name for node in of_role(self._nodes, BROKER) if node_id(node) == elected]
        if word == "controller":
            return active_controller(self._nodes)
        views = self._views(topic, _FIND_S) or self._views(topic, REQUEST_S)
        if not views:
            raise ClusterError(f"Looking for the {part} of {topic.name}: no broker answered.")
        partition = topics.reconcile(views).get(int(number or 0))
        return [] if partition is None else part_nodes(word, partition)

    def layout(self, topic: Topic) -> list[dict[str, object]]:
        """See protocols.Admin. Of a partition speaks who knows its highest leader epoch.

        Nobody leads it where every broker that answers says so.
        """
        partitions = topics.reconcile(self._views(topic, _LOOK_S)).values()
        return [
            layout_record(partition)
            for partition in partitions
            if partition.leads or partition.epoch is not None
        ]

    def _views(self, topic: Topic, within_s: float) -> list[dict[int, topics.PartitionState]]:
        """Return what each broker says of the topic, without those that do not answer in time."""
        brokers = of_role(self._nodes, BROKER)
        names = {node_id(node): node.name for node in brokers}

        def ask(node: Node) -> dict[int, topics.PartitionState] | None:
            if not _listens(node, within_s):
                return None
            return topics.view(admin_client(address(node)), node.name, topic, names, within_s)

        with ThreadPoolExecutor(len(brokers)) as pool:
            return [view for view in pool.map(ask, brokers) if view]

    def state(self, topic: Topic) -> TopicState:
        """See protocols.Admin. The brokers may disagree, as one that is cut off believes what was so before.

        Replicas in sync are counted by the broker that knows the fewest; a partition is served if anybody knows
        its leader.
        """
        brokers = of_role(self._nodes, BROKER)
        with ThreadPoolExecutor(len(brokers)) as pool:
            answers = [
                answer for answer in pool.map(lambda node: _leaders_and_isrs(node, topic), brokers) if answer
            ]
        if not answers:
            return TopicState(available=False, copies_missing=None, in_sync=None)
        fewest = min(isr for answer in answers for _, isr in answer)
        served = any(all(leader >= 0 for leader, _ in answer) for answer in answers)
        return TopicState(served, fewest < self._replicas(topic), fewest)

    def backlog(self, topic: Topic) -> int:
        """See protocols.Admin: what the group has not committed yet."""
        consumer = Consumer(
            {"bootstrap.servers": endpoint(self._nodes), "group.id": topics.group(topic), "log_level": 0}
        )
        try:
            ends = topics.ends(consumer, topic, REQUEST_S)
            parts = [TopicPartition(topic.name, number) for number in ends]
            settled = {part.partition: part.offset for part in consumer.committed(parts, timeout=REQUEST_S)}
            return sum(end - max(first, settled[number]) for number, (first, end) in ends.items())
        except (KafkaException, LoadError) as error:
            raise ClusterError(f"Asking for the processor's backlog of {topic.name}: {error}.") from error
        finally:
            leave(consumer)

    def look_up(self, topic: Topic, avoiding: Sequence[str]) -> str:
        """See protocols.Admin. Nothing comes of it here: the controllers elect leaders, whoever asks."""
        broker = next((node for node in of_role(self._nodes, BROKER) if node.name not in avoiding), None)
        if broker is None:
            raise ClusterError(f"Looking up {topic.name}: no broker is left to ask.")
        try:
            topic_metadata = (
                admin_client(address(broker)).list_topics(topic.name, timeout=REQUEST_S).topics[topic.name]
            )
        except KafkaException as error:
            raise ClusterError(f"Looking up {topic.name} through {broker.name}: {reason(error)}.") from error
        names = {node_id(node): node.name for node in of_role(self._nodes, BROKER)}
        leaders = dict.fromkeys(
            names.get(partition.leader, "nobody") for partition in topic_metadata.partitions.values()
        )
        return f"Asked through {broker.name}: {', '.join(leaders)} leads it."

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
                topics.await_topic(admin_client(address(node)), topic, self._replicas(topic), left_s)
            except ClusterError as error:
                raise ClusterError(
                    f"Within {SETTLES_S:g} s {node.name} did not see all in sync: {error}"
                ) from error

    def rebalance(self, topic: Topic, bytes_per_s: float | None) -> str:
        """See protocols.Admin: replicas move, by Kafka's own tool, then the preferred replicas lead."""
        tools = self._tools()
        assignment = spread(broker_ids(tools.client), topic.partitions, self._replicas(topic))
        by_place = {(topic.name, number): keepers for number, keepers in enumerate(assignment)}
        moved = reassign.move(tools, by_place, bytes_per_s)
        reassign.elect(tools, by_place)
        return moved.evidence

    def drain(self, node: str, topic: Topic, bytes_per_s: float | None) -> DrainResult:  # noqa: ARG002 - of all topics
        """See protocols.Admin: all replicas of the broker move to others, by Kafka's own tool."""
        tools = self._tools()
        broker = next(
            node_id(candidate) for candidate in of_role(self._nodes, BROKER) if candidate.name == node
        )
        target_replicas = reassign.without(broker, reassign.replicas(tools.client), broker_ids(tools.client))
        moved = reassign.move(tools, target_replicas, bytes_per_s)
        if left := [place for place, keepers in reassign.replicas(tools.client).items() if broker in keepers]:
            raise ClusterError(f"Draining {node}: {len(left)} replicas are there after all others moved.")
        return moved._replace(evidence=f"{node} keeps no replica of any topic. {moved.evidence}")

    def _tools(self) -> reassign.Tools:
        class_path = self._servers.class_path(self._cluster.version)
        return reassign.Tools(self._client(), endpoint(self._nodes), class_path)

    def lift_expiry(self, topic: Topic) -> None:
        """See protocols.Admin: what expires is deleted, for every reader."""

    def delete_topic(self, topic: Topic) -> None:
        """See protocols.Admin. Brokers free its space a second later (log.segment.delete.delay.ms)."""
        topic_admin.delete(endpoint(self._nodes), topic.name)

    def effective(self, topic: Topic) -> dict[str, object]:
        """See protocols.Admin. Raises ClusterError where a live value is not the one asked for."""
        client = self._client()
        return {
            "cluster": topic_admin.brokers_in_force(client) | self._features(),
            "topic": topic_admin.topic_in_force(client, topic),
            "roles": {
                role: live(nodes, self._cluster.settings.get(role, {}), SHOWN_SETTINGS[role], node_settings)
                for role in ROLES
                if (nodes := of_role(self._cluster.first(self._nodes), role))
            },
        }

    def _features(self) -> dict[str, object]:
        """Return the levels of the features that the scenario sets; nobody is asked where it sets none."""
        if not (scenario_levels := self._cluster.settings.get(FEATURES)):
            return {}
        live_levels = finalized_levels(self._servers.class_path(self._cluster.version), endpoint(self._nodes))
        require(
            "the cluster's features",
            scenario_levels,
            {name: live_levels.get(name, "0") for name in scenario_levels},
        )
        return {FEATURES: {name: live_levels.get(name, "0") for name in scenario_levels}}

    def close(self) -> None:
        """See protocols.Admin: nothing stays open between actions."""


def part_nodes(part: str, partition: topics.PartitionState) -> list[str]:
    """Return who plays one of a partition's parts."""
    followers = [name for name in partition.replicas if name != partition.leader]
    return {
        "leader": [partition.leader] if partition.leader is not None else [],
        "followers": followers,
        "follower": [name for name in followers if name in partition.in_sync][:1],
        "replicas": partition.replicas,
    }[part]


def layout_record(partition: topics.PartitionState) -> dict[str, object]:
    """Return what `layout` has of a partition."""
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
        topic_metadata = (
            admin_client(address(broker)).list_topics(topic.name, timeout=_LOOK_S).topics[topic.name]
        )
    except KafkaException:
        return None
    return [
        (partition.leader, len(partition.isrs)) for partition in topic_metadata.partitions.values()
    ] or None


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
