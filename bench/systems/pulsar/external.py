"""A Pulsar cluster that somebody else runs.

Every topic of the suite needs a namespace of its own, as quorums are a policy of namespaces. So the suite needs the
rights of a tenant's administrator, and no more. What only a superuser may read is reported as unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import pulsar

from bench.errors import ClusterError
from bench.model import Cluster, Settings, Topic, text
from bench.systems import endpoint as endpoints
from bench.systems.external import CONNECT_S, ClusterFacts, ExternalAdmin
from bench.systems.pulsar import topics
from bench.systems.pulsar.credentials import client_arguments, mistakes
from bench.systems.pulsar.describe import SHOWN_SETTINGS
from bench.systems.pulsar.metadata import TENANT
from bench.systems.pulsar.nodes import BOOKIE, BROKER
from bench.systems.pulsar.rest import Host, Rest
from bench.systems.pulsar.topic_admin import TopicAdmin, namespace_path

_AT_ONCE = 8
_ADMIN_S = 60.0
"""How long making and deleting many partitions may take."""
_KEPT: dict[str, object] = {
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
    """See external.ExternalAccess."""

    parts: Sequence[str] = ()

    def __init__(self, endpoint: str) -> None:
        """Remember where the cluster is; connects with the first request."""
        self._endpoint = endpoint
        self._tenant = endpoints.parse(endpoint).tenant or TENANT

    def _rest(self, answer_s: float = CONNECT_S) -> Rest:
        connection = endpoints.resolved(self._endpoint)
        return Rest([Host(connection.admin, connection.admin.rstrip("/"))], answer_s, connection.client)

    def wrong_properties(self) -> list[tuple[str, str]]:
        """See external.ExternalAccess."""
        return mistakes(endpoints.parse(self._endpoint).client)

    def facts(self) -> ClusterFacts:
        """See external.ExternalAccess."""
        unreadable: list[str] = []

        def read(subject: str, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - JSON
            try:
                return ask()
            except ClusterError as error:
                unreadable.append(f"{subject} could not be read: {error}")
                return None

        with closing(self._rest()) as rest_client:
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
        connection = endpoints.resolved(self._endpoint)
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
        """See external.ExternalAccess: who may list a tenant's namespaces may create them."""
        try:
            self._namespaces()
        except ClusterError as error:
            return str(error)
        return None

    def _namespaces(self) -> list[str]:
        doing = f"Listing the namespaces of the tenant {self._tenant}"
        with closing(self._rest()) as rest_client:
            return list(rest_client.ask(doing, "GET", f"admin/v2/namespaces/{self._tenant}"))

    def topic_defaults(self) -> Settings:
        """See external.ExternalAccess: what a namespace must have is no setting of scenarios (_KEPT)."""
        return {}

    def admin(self, cluster: Cluster) -> ExternalPulsarAdmin:
        """See external.ExternalAccess."""
        return ExternalPulsarAdmin(self._rest(_ADMIN_S), cluster)

    def topics(self, prefix: str) -> list[str]:
        """See external.ExternalAccess: each has a namespace of the same name."""
        names = (namespace.partition("/")[2] for namespace in self._namespaces())
        return sorted(name for name in names if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """See external.ExternalAccess."""
        with closing(self.admin(Cluster("pulsar", "", {}))) as admin:
            admin.delete_topic(Topic(name, 0, tenant=self._tenant))


def _broker_settings(rest_client: Rest) -> Settings:
    settings = rest_client.ask("Reading", "GET", "admin/v2/brokers/configuration/runtime")
    return {name: text(settings[name]) for name in SHOWN_SETTINGS[BROKER] if settings.get(name) is not None}


class ExternalPulsarAdmin(ExternalAdmin):
    """See protocols.Admin. The cluster assigns partitions to brokers by its own rules."""

    def __init__(self, rest_client: Rest, cluster: Cluster) -> None:
        """Ask through `rest_client`; `cluster` is what the cluster says about itself."""
        self._rest = rest_client
        self._cluster = cluster
        self._topics = TopicAdmin(rest_client, lambda address: address)

    def create_topic(self, topic: Topic) -> None:
        """See protocols.Admin."""
        self._topics.create_namespace(topic, _KEPT)
        self._topics.create_partitions(topic)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(partial(self._topics.load, topic), range(topic.partitions)))

    def delete_topic(self, topic: Topic) -> None:
        """See protocols.Admin. First the topic, then its empty namespace: a cluster may refuse to delete a full one."""
        doing, path = (
            f"Deleting topic {topic.name}",
            f"admin/v2/{topics.rest_path(topic)}/partitions?force=true",
        )
        self._rest.ask(doing, "DELETE", path, absent_is_fine=True)
        self._rest.ask(doing, "DELETE", namespace_path(topic), absent_is_fine=True)

    def effective(self, topic: Topic) -> dict[str, object]:
        """See protocols.Admin. Of the servers' settings it has what the cluster said before the run."""
        return {
            "cluster": {"version": self._cluster.version, "nodes": dict(self._cluster.nodes)},
            "topic": self._topics.in_force(topic, self._topics.placement(topic)),
            "roles": {role: dict(settings) for role, settings in self._cluster.settings.items()},
        }

    def close(self) -> None:
        """See protocols.Admin."""
        self._rest.close()
