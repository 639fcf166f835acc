"""A Pulsar cluster that somebody else runs.

Every topic of the suite needs a namespace of its own, as quorums are a policy of namespaces. So the suite needs the
rights of a tenant's administrator, and no more. What only a superuser may read is reported as unreadable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pulsar

from bench.errors import ClusterError
from bench.model import Cluster, Settings, Topic, TopicState, text
from bench.systems import endpoint as endpoints
from bench.systems.external_access import CONNECT_S, ClusterFacts, ExternalAdmin
from bench.systems.protocols import SETTLES_S
from bench.systems.pulsar import topics
from bench.systems.pulsar.credentials import client_arguments, mistakes
from bench.systems.pulsar.live_settings import SHOWN_SETTINGS
from bench.systems.pulsar.metadata import TENANT
from bench.systems.pulsar.nodes import BOOKIE, BROKER
from bench.systems.pulsar.rest_client import Host, RestClient
from bench.systems.pulsar.topic_admin import TopicAdmin, ensembles, namespace_path

_AT_ONCE = 8
_LOOK_S, _TURN_S = 5.0, 0.5
_LOOKED_UP = ("brokerUrlTls", "brokerUrl", "nativeUrl", "httpUrlTls", "httpUrl")
"""Where the answer to a look-up has the owner's addresses."""
_ADMIN_S = 60.0
"""How long making and deleting many partitions may take."""
_NAMESPACE_POLICIES: dict[str, object] = {
    "retention_policies": {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1},
    "message_ttl_in_seconds": 0,
    "inactive_topic_policies": {
        "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
        "maxInactiveDurationSeconds": 60,
        "deleteWhileInactive": False,
    },
}
"""Policies of a namespace of the suite. By the cluster's own, messages may be gone before the full read looks for them.
"""


_NOT_REACHED = (
    pulsar.AuthenticationError,
    pulsar.ConnectError,
    pulsar.InvalidUrl,
    pulsar.Timeout,
    ValueError,
)


class ExternalPulsar:
    """See external_access.ExternalAccess."""

    parts: Sequence[str] = ("owner", "bookie ", "ensemble", "write quorum")
    tells_copies = False
    group_types_with_settings: Collection[str] = ()

    def __init__(self, endpoint: str) -> None:
        """Remember where the cluster is; connects with the first request."""
        self._endpoint = endpoint
        self._tenant = endpoints.parse(endpoint).tenant or TENANT

    def _rest_client(self, answer_s: float = CONNECT_S) -> RestClient:
        connection = endpoints.resolve(self._endpoint)
        return RestClient([Host(connection.admin, connection.admin.rstrip("/"))], answer_s, connection.client)

    def wrong_properties(self) -> list[tuple[str, str]]:
        """See external_access.ExternalAccess."""
        return mistakes(endpoints.parse(self._endpoint).client)

    def facts(self) -> ClusterFacts:
        """See external_access.ExternalAccess."""
        unreadable: list[str] = []

        def read(subject: str, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - JSON
            try:
                return ask()
            except ClusterError as error:
                unreadable.append(f"{subject} could not be read: {error}")
                return None

        with closing(self._rest_client()) as rest_client:
            clusters = [
                name for name in rest_client.ask("Connecting", "GET", "admin/v2/clusters") if name != "global"
            ]
            version = read(
                "The version", lambda: rest_client.ask("Reading", "GET", "admin/v2/brokers/version")
            )
            brokers = None
            if len(clusters) == 1:
                path = f"admin/v2/brokers/{clusters[0]}"
                brokers = read("The brokers", lambda: rest_client.ask("Reading", "GET", path))
            bookies = read(
                "The bookies", lambda: rest_client.ask("Reading", "GET", "admin/v2/bookies/all")["bookies"]
            )
            settings = read("The brokers' settings", lambda: _broker_settings(rest_client))
        self._reach_brokers()
        nodes = {role: len(servers) for role, servers in ((BROKER, brokers), (BOOKIE, bookies)) if servers}
        return ClusterFacts(
            str(version or ""), nodes, {BROKER: settings} if settings else {}, tuple(unreadable)
        )

    def _reach_brokers(self) -> None:
        """Ask the binary address for a topic, whether it is there or not. Raises ClusterError."""
        connection = endpoints.resolve(self._endpoint)
        topic = f"persistent://{self._tenant}/default/bench-check"
        quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
        options = {"operation_timeout_seconds": round(CONNECT_S), "logger": quiet}
        try:
            client = pulsar.Client(connection.address, **client_arguments(connection.client), **options)
            with closing(client):
                client.get_topic_partitions(topic)
        except _NOT_REACHED as error:
            raise ClusterError(
                f"Connecting to {connection.address}: {type(error).__name__} ({error})."
            ) from error
        except pulsar.PulsarException:
            return  # a broker has answered

    def why_no_topics(self, prefix: str) -> str | None:  # noqa: ARG002 - the right is the tenant's
        """See external_access.ExternalAccess: who may list a tenant's namespaces may create them."""
        try:
            self._namespaces()
        except ClusterError as error:
            return str(error)
        return None

    def _namespaces(self) -> list[str]:
        doing = f"Listing the namespaces of the tenant {self._tenant}"
        with closing(self._rest_client()) as rest_client:
            return list(rest_client.ask(doing, "GET", f"admin/v2/namespaces/{self._tenant}"))

    def topic_defaults(self) -> Settings:
        """See external_access: what a namespace must have is no setting of scenarios (_NAMESPACE_POLICIES)."""
        return {}

    def admin(self, cluster: Cluster) -> ExternalPulsarAdmin:
        """See external_access.ExternalAccess."""
        return ExternalPulsarAdmin(self._rest_client(_ADMIN_S), self._rest_client(_LOOK_S), cluster)

    def topics(self, prefix: str) -> list[str]:
        """See external_access.ExternalAccess: each has a namespace of the same name."""
        names = (namespace.partition("/")[2] for namespace in self._namespaces())
        return sorted(name for name in names if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """See external_access.ExternalAccess."""
        with closing(self.admin(Cluster("pulsar", "", {}))) as admin:
            admin.delete_topic(Topic(name, 0, tenant=self._tenant))


def _broker_settings(rest_client: RestClient) -> Settings:
    settings = rest_client.ask("Reading", "GET", "admin/v2/brokers/configuration/runtime")
    return {name: text(settings[name]) for name in SHOWN_SETTINGS[BROKER] if settings.get(name) is not None}


class ExternalPulsarAdmin(ExternalAdmin):
    """See protocols.Admin. The cluster assigns partitions to brokers by its own rules."""

    def __init__(self, rest_client: RestClient, quick_client: RestClient, cluster: Cluster) -> None:
        """Ask through `rest_client`, or where an answer must come soon through `quick_client`.

        `cluster` is what the cluster says about itself.
        """
        self._rest_client = rest_client
        self._quick = quick_client
        self._cluster = cluster
        self._topics = TopicAdmin(rest_client, lambda address: address)

    def create_topic(self, topic: Topic) -> None:
        """See protocols.Admin."""
        self._topics.create_namespace(topic, _NAMESPACE_POLICIES)
        self._topics.create_partitions(topic)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(partial(self._topics.load, topic), range(topic.partitions)))

    def delete_topic(self, topic: Topic) -> None:
        """See protocols.Admin. First the topic, then its empty namespace: a cluster may refuse to delete a full one."""
        doing, path = (
            f"Deleting topic {topic.name}",
            f"admin/v2/{topics.rest_path(topic)}/partitions?force=true",
        )
        self._rest_client.ask(doing, "DELETE", path, absent_is_fine=True)
        self._rest_client.ask(doing, "DELETE", namespace_path(topic), absent_is_fine=True)

    def find(self, part: str, topic: Topic) -> list[str]:
        """See protocols.Admin, of a partition's parts; the nodes are those of the cluster's file."""
        word, _, number = part.partition(" of ")
        partition = int(number or 0)
        is_owner = word == "owner"
        addresses = (
            [self._owner(topic, partition)] if is_owner else self._topics.bookies(word, topic, partition)
        )
        known_nodes = self._names()
        if strangers := [address for address in addresses if address not in known_nodes]:
            raise ClusterError(
                f"Looking for the {part} of {topic.name}: {', '.join(strangers)} is not in the cluster's file."
            )
        return [known_nodes[address] for address in addresses]

    def _names(self) -> dict[str, str]:
        """Return the nodes' names in the cluster's file, by address."""
        return {str(node["address"]): name for name, node in self._cluster.external_nodes.items()}

    def _owner(self, topic: Topic, number: int, rest_client: RestClient | None = None) -> str:
        """Return the address of a partition's owner, as the cluster's file has it where it does.

        A partition without owner gets one by being looked up, as a client that connects gives it one.
        """
        doing = f"Looking up partition {number} of {topic.name}"
        path = f"lookup/v2/topic/{topics.partition_path(topic, number)}"
        answer = (rest_client or self._rest_client).ask(doing, "GET", path)
        addresses = [urlsplit(str(answer[name])).netloc for name in _LOOKED_UP if answer.get(name)]
        return next((address for address in addresses if address in self._names()), addresses[0])

    def layout(self, topic: Topic) -> list[dict[str, object]]:
        """See protocols.Admin, as brokers tell it; nothing where no node may be broken."""
        partitions: list[dict[str, object]] = []
        for number in range(topic.partitions if self._cluster.external_nodes else 0):
            try:
                owner = self._owner(topic, number, self._quick)
                stored = self._internal_stats(topic, number)["ledgers"]
            except ClusterError:
                continue
            ledgers = [
                {"ledger": int(ledger["ledgerId"]), "segments": self._segments(str(ledger["metadata"]))}
                for ledger in stored
            ]
            partitions.append({"partition": number, "owner": self._name(owner), "ledgers": ledgers})
        return partitions

    def _internal_stats(self, topic: Topic, number: int) -> Any:  # noqa: ANN401 - JSON
        path = f"admin/v2/{topics.partition_path(topic, number)}/internalStats?metadata=true"
        return self._quick.ask(f"Reading partition {number} of {topic.name}", "GET", path)

    def _segments(self, metadata: str) -> list[tuple[int, list[str]]]:
        return [(first, [*map(self._name, bookies)]) for first, bookies in ensembles(metadata)]

    def _name(self, address: str) -> str:
        return self._names().get(address, address)

    def state(self, topic: Topic) -> TopicState:
        """See protocols.Admin: every partition has an owner that answers. Of copies a tenant is not told."""
        try:
            for number in range(topic.partitions):
                self._owner(topic, number, self._quick)
                self._internal_stats(topic, number)
        except ClusterError:
            return TopicState(available=False, copies_missing=None, in_sync=None)
        return TopicState(available=True, copies_missing=None, in_sync=None)

    def await_settled(self, topic: Topic) -> None:
        """See protocols.Admin: every partition has an owner and an open ledger."""
        deadline = time.monotonic() + SETTLES_S
        while not self.state(topic).available:
            if time.monotonic() > deadline:
                raise ClusterError(f"{topic.name} was not served again within {SETTLES_S:.0f} s.")
            time.sleep(_TURN_S)

    def effective(self, topic: Topic) -> dict[str, object]:
        """See protocols.Admin. Of the servers' settings it has what the cluster said before the run."""
        return {
            "cluster": {"version": self._cluster.version, "nodes": dict(self._cluster.nodes)},
            "topic": self._topics.in_force(topic, self._topics.placement(topic)),
            "roles": {role: dict(settings) for role, settings in self._cluster.settings.items()},
        }

    def close(self) -> None:
        """See protocols.Admin."""
        self._rest_client.close()
        self._quick.close()
