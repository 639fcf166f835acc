"""Topics of a live Pulsar cluster, through the REST interface of its brokers: created, read back and deleted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypedDict

from bench.errors import ClusterError, TopicExistsError
from bench.model import Topic
from bench.systems.properties import require
from bench.systems.pulsar import topics
from bench.systems.pulsar.rest_client import RefusedError, RestClient
from bench.systems.pulsar.topics import Quorums

_THERE_S = 60.0
_TURN_S = 0.05
_SHOWN_POLICIES = ("deduplicationEnabled", "message_ttl_in_seconds", "persistence", "retention_policies")


class Placement(TypedDict):
    """Where a partition lies."""

    partition: int
    owner: str
    ledger: int
    quorums: str
    ensemble: list[str]


def namespace_path(topic: Topic) -> str:
    """Return the topic's namespace as the REST interface writes it."""
    return f"admin/v2/namespaces/{topics.namespace(topic)}"


class TopicAdmin:
    """Administers topics; each has a namespace of its own."""

    def __init__(self, rest_client: RestClient, node_name: Callable[[str], str]) -> None:
        """Ask through `rest_client`; `node_name` names the node at an address (host:port)."""
        self._rest_client = rest_client
        self._node_name = node_name

    def create_namespace(self, topic: Topic, policies: Mapping[str, object] | None = None) -> None:
        """Create the topic's namespace with its quorums and policies; `policies` are further ones.

        Raises ClusterError; it is a TopicExistsError where there is such a namespace already.
        """
        body = {**(policies or {}), **topics.policies(topic)}
        try:
            self._rest_client.ask(f"Creating topic {topic.name}", "PUT", namespace_path(topic), body)
        except RefusedError as error:
            if error.status == HTTPStatus.CONFLICT:
                raise TopicExistsError(str(error)) from error
            raise

    def create_partitions(self, topic: Topic) -> None:
        """Create the topic in its namespace; no broker has loaded it then. Raises ClusterError."""
        path = f"admin/v2/{topics.rest_path(topic)}/partitions"
        self._rest_client.ask(f"Creating topic {topic.name}", "PUT", path, topic.partitions)

    def delete(self, topic: Topic) -> None:
        """Delete the topic's namespace with all that is in it. Raises ClusterError."""
        path = f"{namespace_path(topic)}?force=true"
        self._rest_client.ask(f"Deleting topic {topic.name}", "DELETE", path, absent_is_fine=True)

    def load(self, topic: Topic, number: int, rest_client: RestClient | None = None) -> str:
        """Return the partition's owner once it has one, which has an open ledger; ask through a given `rest_client`."""
        owner = self.owner(topic, number, rest_client)
        self._internal_stats(topic, number, "", rest_client)
        return owner

    def owner(self, topic: Topic, number: int, rest_client: RestClient | None = None) -> str:
        """Return the node that owns a partition; a partition without owner gets one by being looked up."""
        doing = f"Looking up partition {number} of {topic.name}"
        answer = self._until_there(
            doing, f"lookup/v2/topic/{topics.partition_path(topic, number)}", rest_client
        )
        return self._node_name(re.sub("^https?://", "", str(answer.get("httpUrl") or answer["httpUrlTls"])))

    def _internal_stats(
        self, topic: Topic, number: int, query: str, rest_client: RestClient | None = None
    ) -> Any:  # noqa: ANN401 - JSON
        doing = f"Loading partition {number} of {topic.name}"
        path = f"admin/v2/{topics.partition_path(topic, number)}/internalStats{query}"
        return self._until_there(doing, path, rest_client)

    def _until_there(self, doing: str, path: str, rest_client: RestClient | None = None) -> Any:  # noqa: ANN401 - JSON
        """Ask until there is an answer: a bundle on its way to a broker is nobody's for a moment."""
        deadline = time.monotonic() + _THERE_S
        while True:
            try:
                return (rest_client or self._rest_client).ask(doing, "GET", path)
            except ClusterError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_TURN_S)

    def in_force(self, topic: Topic, partitions: Sequence[Placement]) -> dict[str, object]:
        """Return the policies, quorums and bundles in force, with where the `partitions` lie.

        Raises ClusterError where one is not as asked for.
        """
        doing = f"Reading the policies of {topic.name} back"
        policies = self._rest_client.ask(doing, "GET", namespace_path(topic))
        live_settings = {name: policies[name] for name in _SHOWN_POLICIES if policies.get(name) is not None}
        live_settings["bundles"] = policies["bundles"]["numBundles"]
        live_settings["quorums"] = ", ".join(sorted({str(partition["quorums"]) for partition in partitions}))
        scenario_settings = {name: value for name, value in topic.settings.items() if name in topics.SETTINGS}
        require(f"topic {topic.name}", scenario_settings, live_settings)
        return {**live_settings, "partitions": [*partitions]}

    def placement(self, topic: Topic) -> list[Placement]:
        """Return owner, current ledger and that ledger's bookies of each partition, by the nodes' names."""
        return [self._partition_placement(topic, number) for number in range(topic.partitions)]

    def _partition_placement(self, topic: Topic, number: int) -> Placement:
        owner = self.owner(topic, number)
        ledger, quorums, ensemble = self.last_ledger(topic, number)
        return {
            "partition": number,
            "owner": owner,
            "ledger": ledger,
            "quorums": str(quorums),
            "ensemble": ensemble,
        }

    def bookies(self, part: str, topic: Topic, number: int) -> list[str]:
        """Return the nodes of the ledger that a partition is written to: `ensemble`, `write quorum` or `bookie N`."""
        _, quorums, ensemble = self.last_ledger(topic, number)
        if part == "write quorum":
            return ensemble[: quorums.write]
        return ensemble if part == "ensemble" else ensemble[int(part.removeprefix("bookie ")) - 1 :][:1]

    def last_ledger(self, topic: Topic, number: int) -> tuple[int, Quorums, list[str]]:
        """Return the ledger that a partition is written to, and the nodes of its current ensemble."""
        ledger = self._internal_stats(topic, number, "?metadata=true")["ledgers"][-1]
        quorums, bookies = ledger_metadata(ledger["metadata"])
        return int(ledger["ledgerId"]), quorums, [self._node_name(bookie) for bookie in bookies]


def ledger_metadata(written: str) -> tuple[Quorums, list[str]]:
    """Read quorums and the last ensemble (host:port of bookies) out of BookKeeper's LedgerMetadata, as it is written.

    Raises ClusterError.
    """
    sizes = re.search(r"ensembleSize=(\d+), writeQuorumSize=(\d+), ackQuorumSize=(\d+)", written)
    if sizes is None:
        raise ClusterError(f"Reading a ledger's metadata: no quorums in {written!r}.")
    return Quorums(*map(int, sizes.groups())), ensembles(written)[-1][1]


def ensembles(written: str) -> list[tuple[int, list[str]]]:
    """Read each ensemble and its first entry out of such metadata, in their order. Raises ClusterError."""
    inner = re.search(r"ensembles=\{(.*?\])\}", written)
    if inner is None:
        raise ClusterError(f"Reading a ledger's metadata: no ensembles in {written!r}.")
    pairs = re.findall(r"(\d+)=\[([^\]]*)\]", inner[1])
    return sorted((int(first), bookies.split(", ")) for first, bookies in pairs)
