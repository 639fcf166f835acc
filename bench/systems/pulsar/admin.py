"""What an operator does to a live Pulsar cluster: topics, and settings read back."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from bench.errors import ClusterError
from bench.model import Cluster, Node, Topic, TopicState, of_group, of_role
from bench.systems.draining import DrainResult
from bench.systems.processing import PROCESSOR
from bench.systems.properties import live
from bench.systems.protocols import SETTLES_S
from bench.systems.pulsar import bookie_groups, draining, topics
from bench.systems.pulsar.live_settings import SHOWN_SETTINGS, node_settings, sessions_ms
from bench.systems.pulsar.metadata import CLUSTER
from bench.systems.pulsar.nodes import BOOKIE, BROKER, ROLES, ZOOKEEPER, web
from bench.systems.pulsar.readiness import leads
from bench.systems.pulsar.rest_client import UNDER_REPLICATED, RestClient, hosts
from bench.systems.pulsar.topic_admin import Placement, TopicAdmin, namespace_path
from bench.systems.pulsar.zookeeper_topics import ZooKeeperTopics

_AT_ONCE = 8
_ATTEMPTS = 5
_LOOK_S = 5.0


class PulsarAdmin:
    """See protocols.Admin."""

    def __init__(self, cluster: Cluster, nodes: Sequence[Node]) -> None:
        """Remember whom to ask; connects with the first action."""
        self._cluster = cluster
        self._nodes = nodes
        self._brokers = of_role(nodes, BROKER)
        self._rest_client = RestClient(hosts(self._brokers))
        self._single = {node.address: RestClient(hosts([node]), answer_s=_LOOK_S) for node in self._brokers}
        self._zookeeper = ZooKeeperTopics(of_role(nodes, ZOOKEEPER))
        self._recovery = RestClient(hosts(of_role(nodes, BOOKIE)), answer_s=_LOOK_S)
        self._ledgers: dict[int, set[int]] = {}
        self._topics = TopicAdmin(self._rest_client, self._name)

    def create_topic(self, topic: Topic) -> None:
        """See protocols.Admin. The topic gets a namespace of its own, with its quorums and policies."""
        doing = f"Creating topic {topic.name}"
        self._topics.create_namespace(topic)
        if topic.group:
            # Before 4.0 an affinity takes the place of bundles that nobody has asked for yet.
            self._rest_client.ask(doing, "GET", f"lookup/v2/topic/{topics.partition_path(topic, 0)}/bundle")
            affinity = bookie_groups.affinity(topic.group)
            self._rest_client.ask(
                doing, "POST", f"{namespace_path(topic)}/persistence/bookieAffinity", affinity
            )
        self._topics.create_partitions(topic)
        numbers = range(topic.partitions)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            brokers = self._active_brokers() if topics.has_own_bundles(topic) else []
            list(pool.map(partial(self._place, topic, brokers), numbers))

    def _active_brokers(self) -> list[Node]:
        active = self._rest_client.ask("Asking for the brokers", "GET", f"admin/v2/brokers/{CLUSTER}")
        return [node for node in self._brokers if web(node) in active]

    def _place(self, topic: Topic, brokers: Sequence[Node], number: int) -> None:
        """Load a partition; let `brokers` own them in turn, where Pulsar by itself would go by load and chance.

        Pulsar forgets whom it was told with the first look-up, also where that fails: then it is told again.
        """
        if not brokers:
            self._topics.load(topic, number)
            return
        broker = brokers[number % len(brokers)]
        for _ in range(_ATTEMPTS):
            self._give(topic, broker, number)
            if (owner := self._topics.load(topic, number)) == broker.name:
                return
        raise ClusterError(
            f"Giving partition {number} of {topic.name} to {broker.name}: {owner} took it {_ATTEMPTS} times."
        )

    def _give(self, topic: Topic, broker: Node, number: int) -> None:
        path = f"{namespace_path(topic)}/{topics.bundle_of(topic, number)}/unload"
        doing = f"Giving partition {number} of {topic.name} to {broker.name}"
        self._rest_client.ask(doing, "PUT", f"{path}?destinationBroker={web(broker)}")

    def find(self, part: str, topic: Topic) -> list[str]:
        """See protocols.Admin. The ensemble is that of the ledger written to now; `bookie N` is its Nth.

        `oldest bookie` is one that keeps the topic's first entries now.

        The write quorum is that of every entry whose number is a multiple of E: the ensemble's first Qw.
        """
        word, _, number = part.partition(" of ")
        partition = int(number or 0)
        if word == "owner":
            host = self._zookeeper.owner(topic, partition)
            return [self._name(host) if host else self._topics.owner(topic, partition)]
        if word == "zookeeper leader":
            return [node.name for node in of_role(self._nodes, ZOOKEEPER) if leads(node)]
        if word == "auditor":
            answer = self._recovery.ask("Asking for the auditor", "GET", "api/v1/autorecovery/who_is_auditor")
            return [self._name(groups[0]) for groups in re.findall(r"((\d+\.){3}\d+)", str(answer))[:1]]
        if word == "oldest bookie":
            ledgers = self._zookeeper.ledgers(topic, partition)
            return self._segments(ledgers[0])[0][1][:1] if ledgers else []
        return self._topics.bookies(word, topic, partition)

    def layout(self, topic: Topic) -> list[dict[str, object]]:
        """See protocols.Admin."""
        partitions: list[dict[str, object]] = []
        for number in range(topic.partitions):
            try:
                host = self._zookeeper.owner(topic, number)
                ledgers = [
                    {"ledger": ledger, "segments": self._segments(ledger)}
                    for ledger in self._zookeeper.ledgers(topic, number)
                ]
            except ClusterError:
                continue
            partitions.append({"partition": number, "owner": host and self._name(host), "ledgers": ledgers})
        return partitions

    def _segments(self, ledger: int) -> list[tuple[int, list[str]]]:
        """Return a ledger's segments, by the bookies' word: a broker goes by what it read when it opened the ledger."""
        path = f"api/v1/ledger/metadata/?ledger_id={ledger}"
        metadata = self._recovery.ask(f"Asking for the metadata of ledger {ledger}", "GET", path)
        ensembles = metadata[str(ledger)]["allEnsembles"]
        return [
            (int(first), [self._name(str(bookie["id"])) for bookie in ensembles[first]])
            for first in sorted(ensembles, key=int)
        ]

    def state(self, topic: Topic) -> TopicState:
        """See protocols.Admin. Copies are missing while a ledger of the topic is on AutoRecovery's list.

        A partition is served when its owner says so; nobody else is asked, as that would give it an owner.
        """
        served = [self._is_served(topic, number) for number in range(topic.partitions)]
        return TopicState(all(served), self._under_replicated(topic), None)

    def _is_served(self, topic: Topic, number: int) -> bool:
        """Whether a partition has an owner, which answers within seconds."""
        path = f"admin/v2/{topics.partition_path(topic, number)}/internalStats"
        try:
            self._ledgers[number] = set(self._zookeeper.ledgers(topic, number))
            host = self._zookeeper.owner(topic, number)
            if host is not None:
                self._single[host].ask("Loading", "GET", path)
        except ClusterError:
            return False
        return host is not None

    def look_up(self, topic: Topic, avoiding: Sequence[str]) -> str:
        """See protocols.Admin: a broker that is asked for a topic that nobody owns takes it, or gives it to another.

        The owner then opens the topic, as it does for a client that connects: what it had before is fenced.
        """
        broker = next((node for node in self._brokers if node.name not in avoiding), None)
        if broker is None:
            raise ClusterError(f"Looking up {topic.name}: no broker is left to ask.")
        rest_client = self._single[broker.address]
        owners = dict.fromkeys(
            self._topics.load(topic, number, rest_client) for number in range(topic.partitions)
        )
        return f"Asked through {broker.name}: {', '.join(owners)} serves it."

    def _under_replicated(self, topic: Topic) -> bool | None:
        """Tell by the ledgers that the partitions had when ZooKeeper last told; None before it has, of each."""
        if len(self._ledgers) < topic.partitions:
            return None
        try:
            ledgers = self._recovery.ask("Asking AutoRecovery", "GET", UNDER_REPLICATED, absent_is_fine=True)
        except ClusterError:
            return None
        return bool(set().union(*self._ledgers.values()) & {int(ledger) for ledger in ledgers or ()})

    def backlog(self, topic: Topic) -> int:
        """See protocols.Admin: what the subscription has not acknowledged, in entries."""
        names = [topics.partition_path(topic, number) for number in range(topic.partitions)]
        stats = [
            self._rest_client.ask(
                f"Asking for the backlog of {name}", "GET", f"admin/v2/{name}/stats?getPreciseBacklog=true"
            )
            for name in names
        ]
        return sum(
            int(partition_stats["subscriptions"][PROCESSOR]["msgBacklog"]) for partition_stats in stats
        )

    def await_settled(self, topic: Topic) -> None:
        """See protocols.Admin: every partition has an owner and an open ledger."""
        deadline = time.monotonic() + SETTLES_S
        for number in range(topic.partitions):
            self._settle(topic, number, deadline)

    def rebalance(self, topic: Topic, bytes_per_s: float | None) -> str:  # noqa: ARG002 - nothing is copied
        """See protocols.Admin: partitions go to all brokers in turn; each begins a ledger, on bookies chosen anew."""
        brokers = self._active_brokers()
        for number in range(topic.partitions):
            self._place(topic, brokers, number)
        return f"{topic.partitions} partitions were given to {len(brokers)} brokers in turn."

    def drain(self, node: str, topic: Topic, bytes_per_s: float | None) -> DrainResult:  # noqa: ARG002 - `check` refuses one
        """See protocols.Admin: a bookie becomes read-only, others copy its ledgers."""
        bookies = of_role(self._nodes, BOOKIE)
        bookie = next(candidate for candidate in bookies if candidate.name == node)
        other_bookies = [candidate for candidate in bookies if candidate is not bookie]
        numbers = range(topic.partitions)
        return draining.drain(
            bookie,
            other_bookies,
            lambda: [ledger for number in numbers for ledger in self._zookeeper.ledgers(topic, number)[-1:]],
        )

    def lift_expiry(self, topic: Topic) -> None:
        """See protocols.Admin: a TTL moves the place of readers, too, once a check is due while they read."""
        if topics.TTL in topic.settings:
            doing = f"Lifting the TTL of {topic.name}"
            self._rest_client.ask(doing, "DELETE", f"{namespace_path(topic)}/messageTTL", absent_is_fine=True)

    def _settle(self, topic: Topic, number: int, deadline: float) -> None:
        while True:
            try:
                self._topics.load(topic, number)
            except ClusterError:
                if time.monotonic() > deadline:
                    raise
            else:
                return

    def _name(self, address: str) -> str:
        """Return the name of the node at `host:port`."""
        host = address.partition(":")[0]
        return next((node.name for node in self._nodes if node.address == host), address)

    def delete_topic(self, topic: Topic) -> None:
        """See protocols.Admin: the whole namespace goes."""
        self._topics.delete(topic)

    def effective(self, topic: Topic) -> dict[str, object]:
        """See protocols.Admin. Raises ClusterError where a live value is not the one asked for."""
        group_nodes, settings = of_group(self._nodes, topic.group), self._cluster.settings_of(topic.group)
        partitions = self._topics.placement(topic)
        _require_group(topic, partitions, group_nodes)
        return {
            "cluster": self._live_cluster(group_nodes),
            "topic": self._topics.in_force(topic, partitions),
            "roles": {
                role: live(nodes, settings.get(role, {}), SHOWN_SETTINGS[role], node_settings)
                for role in ROLES
                if (nodes := of_role(self._cluster.first(group_nodes), role))
            },
        }

    def _live_cluster(self, group_nodes: Sequence[Node]) -> dict[str, object]:
        ask = self._rest_client.ask
        bookie_records = ask("Asking for the bookies", "GET", "admin/v2/bookies/all")["bookies"]
        bookies = sorted(self._name(bookie["bookieId"]) for bookie in bookie_records)
        usable = {node.name for node in group_nodes}
        other_bookies = [name for name in bookies if name not in usable]
        return {
            "version": ask("Asking for the brokers' version", "GET", "admin/v2/brokers/version"),
            "brokers": [
                {"name": node.name, "address": node.address} for node in self._cluster.first(self._brokers)
            ],
            "bookies": [name for name in bookies if name in usable],
            **({"bookies_of_other_groups": other_bookies} if other_bookies else {}),
            "zookeeper_sessions_ms": sessions_ms(self._nodes),
        }

    def close(self) -> None:
        """See protocols.Admin."""
        for rest_client in (self._rest_client, *self._single.values(), self._recovery):
            rest_client.close()
        self._zookeeper.close()


def _require_group(topic: Topic, partitions: Sequence[Placement], group_nodes: Sequence[Node]) -> None:
    """Raise ClusterError where a partition lies on a bookie that is not the topic's."""
    usable = {node.name for node in group_nodes}
    strange = sorted({name for placed in partitions for name in placed["ensemble"]} - usable)
    if strange:
        raise ClusterError(
            f"{topic.name} is to lie on bookies of the group {topic.group!r}, and lies on {', '.join(strange)}."
        )
