"""What an operator does to a NATS cluster: streams made and deleted by the client, states read from the servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import nats
from nats.js import JetStreamContext
from nats.js.api import StorageType, StreamConfig
from nats.js.errors import NotFoundError

from bench.errors import ClusterError
from bench.model import Cluster, Node, Topic, TopicState
from bench.systems.draining import Drained
from bench.systems.nats import describe
from bench.systems.nats.connection import CONNECT_S, EventLoop, connect
from bench.systems.nats.nodes import SERVER, endpoint
from bench.systems.nats.settings import REPLICAS, STORAGE, STORAGES, replicas
from bench.systems.nats.streams import GONE_S, StreamView, names, reconciled, stream, view, views
from bench.systems.protocols import SETTLES_S

_LOOK_S, _FIND_S = 0.9, 5.0
_READY_S = 30.0
_TURN_S = 0.1


class NatsAdmin:
    """See protocols.Admin. Each action of the client has a connection of its own."""

    def __init__(self, cluster: Cluster, nodes: Sequence[Node]) -> None:
        """Remember whom to ask."""
        self._cluster = cluster
        self._nodes = nodes

    def _replicas(self, topic: Topic) -> int:
        servers = self._cluster.nodes[SERVER] - self._cluster.spare.get(SERVER, 0)
        return replicas(topic.settings, servers)

    def create_topic(self, topic: Topic) -> None:
        """See protocols.Admin. Returns once all replicas of every stream are up to date."""
        configs = [self._config(topic, number) for number in range(topic.partitions)]

        async def create(jetstream: JetStreamContext) -> None:
            for config in configs:
                await jetstream.add_stream(config)

        self._do(f"Creating topic {topic.name}", create)
        self._await_current(topic, _READY_S)

    def _config(self, topic: Topic, partition: int) -> StreamConfig:
        own = {
            name: value
            for name, value in topic.settings.items()
            if name not in {REPLICAS, STORAGE, "partitions"}
        }
        name = stream(topic, partition)
        return StreamConfig(
            name=name,
            subjects=[name],
            num_replicas=self._replicas(topic),
            storage=StorageType(topic.settings.get(STORAGE, STORAGES[0])),
            **own,  # type: ignore[arg-type]  # settings.TOPIC has their names
        )

    def delete_topic(self, topic: Topic) -> None:
        """See protocols.Admin."""

        async def delete(jetstream: JetStreamContext) -> None:
            for name in names(topic):
                try:
                    await jetstream.delete_stream(name)
                except NotFoundError:
                    continue

        self._do(f"Deleting topic {topic.name}", delete)

    def _do(self, doing: str, work: Callable[[JetStreamContext], Coroutine[Any, Any, None]]) -> None:
        """Let the client do something. Raises ClusterError."""

        async def connected() -> None:
            connection = await asyncio.wait_for(connect(endpoint(self._nodes)), CONNECT_S)
            try:
                await work(connection.jetstream(timeout=CONNECT_S))
            finally:
                await connection.close()

        with EventLoop() as loop:
            try:
                loop.call(connected(), 2 * CONNECT_S)
            except (OSError, TimeoutError, nats.errors.Error) as error:
                raise ClusterError(f"{doing}: {type(error).__name__}: {error}.") from error

    def effective(self, topic: Topic) -> dict[str, object]:
        """See protocols.Admin."""
        asked = self._cluster.settings.get(SERVER, {})
        settings = [describe.server_settings(node, asked) for node in self._cluster.first(self._nodes)]
        kept = self._streams(topic, _FIND_S)
        return {
            "cluster": {
                "servers": [node.name for node in self._nodes],
                "version": describe.varz(self._nodes[0])["version"],
            },
            "topic": {
                "name": topic.name,
                REPLICAS: self._replicas(topic),
                STORAGE: topic.settings.get(STORAGE, STORAGES[0]),
                "partitions": [
                    {"partition": number, "leader": one.leader, "replicas": [*one.current, *one.others]}
                    for number, one in sorted(kept.items())
                ],
            },
            "roles": {SERVER: settings[0]},
        }

    def find(self, part: str, topic: Topic) -> list[str]:
        """See protocols.Admin."""
        word, _, number = part.partition(" of ")
        found = views(self._nodes, _FIND_S)
        if not found:
            raise ClusterError(f"Looking for the {part} of {topic.name}: no server answered.")
        if word == "meta leader":
            leaders = [one.meta_leader for one in found if one.meta_leader]
            return [max(leaders, key=leaders.count)] if leaders else []
        one = reconciled(found, stream(topic, int(number or 0)))
        return [] if one is None else _played(word, one)

    def _streams(self, topic: Topic, within_s: float) -> dict[int, StreamView]:
        """Return what is known of each partition, of those of which anything is."""
        found = views(self._nodes, within_s)
        every = {number: reconciled(found, name) for number, name in enumerate(names(topic))}
        return {number: one for number, one in every.items() if one is not None}

    def layout(self, topic: Topic) -> list[dict[str, object]]:
        """See protocols.Admin. What is in sync, and how far, only a leader tells."""
        return [
            {
                "partition": number,
                "leader": one.leader if one.leads else None,
                "in_sync": list(one.current) if one.leads else [],
                "epoch": None,
                "high_watermark": one.last if one.leads else None,
            }
            for number, one in self._streams(topic, _LOOK_S).items()
        ]

    def state(self, topic: Topic) -> TopicState:
        """See protocols.Admin."""
        found = views(self._nodes, _FIND_S)
        if not found:
            return TopicState(available=False, copies_missing=None, in_sync=None)
        every = [reconciled(found, name) for name in names(topic)]
        served = [one for one in every if one is not None and one.leads]
        if len(served) < topic.partitions:
            return TopicState(available=False, copies_missing=True, in_sync=0)
        fewest = min(len(one.current) for one in served)
        return TopicState(available=True, copies_missing=fewest < self._replicas(topic), in_sync=fewest)

    def look_up(self, topic: Topic, avoiding: Sequence[str]) -> str:
        """See protocols.Admin. Nothing comes of it here: leaders are elected, whoever asks."""
        asked = next((node for node in self._nodes if node.name not in avoiding), None)
        found = None if asked is None else view(asked, _FIND_S)
        if asked is None or found is None:
            raise ClusterError(f"Looking up {topic.name}: no server is left to ask.")
        known = (found.streams.get(name) for name in names(topic))
        leaders = dict.fromkeys((one and one.leader) or "nobody" for one in known)
        return f"Asked through {asked.name}: {', '.join(leaders)} leads it."

    def backlog(self, topic: Topic) -> int:  # noqa: ARG002
        """See protocols.Admin: there is no processor."""
        return 0

    def await_settled(self, topic: Topic) -> None:
        """See protocols.Admin. A stream that no server has any more will not come back: it is not waited for."""
        self._await_current(topic, SETTLES_S, may_be_gone=True)

    def _await_current(self, topic: Topic, within_s: float, *, may_be_gone: bool = False) -> None:
        """Return once every stream has a leader and all its replicas are up to date. Raises ClusterError.

        With `may_be_gone`, streams that no server has for GONE_S do not count.
        """
        deadline, there_s = time.monotonic() + within_s, time.monotonic()
        while True:
            state = self.state(topic)
            if state.available and state.copies_missing is False:
                return
            if not (may_be_gone and self._others_are_gone(topic)):
                there_s = time.monotonic()
            if time.monotonic() - there_s > GONE_S:
                return
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"Within {within_s:g} s not every replica of {topic.name} was up to date: {state}."
                )
            time.sleep(_TURN_S)

    def _others_are_gone(self, topic: Topic) -> bool:
        """Whether every server answers, one leads the metadata, and no stream is there without all its replicas."""
        found = views(self._nodes, _FIND_S)
        if len(found) < len(self._nodes) or not any(one.meta_leader for one in found):
            return False
        there = [one for name in names(topic) if (one := reconciled(found, name)) is not None]
        return all(one.leads and len(one.current) == self._replicas(topic) for one in there)

    def rebalance(self, topic: Topic, bytes_per_s: float | None) -> str:  # noqa: ARG002
        """See protocols.Admin. Raises ClusterError: streams are not moved here."""
        raise ClusterError(f"Spreading {topic.name}: streams of JetStream are not moved here.")

    def drain(self, node: str, topic: Topic, bytes_per_s: float | None) -> Drained:  # noqa: ARG002
        """See protocols.Admin. Raises ClusterError: streams are not moved here."""
        raise ClusterError(f"Draining {node}: streams of JetStream are not moved here.")

    def lift_expiry(self, topic: Topic) -> None:
        """See protocols.Admin: what expires is deleted, for every reader."""

    def close(self) -> None:
        """See protocols.Admin: nothing to release."""


def _played(word: str, one: StreamView) -> list[str]:
    leader = [one.leader] if one.leader else []
    followers = [name for name in (*one.current, *one.others) if name != one.leader]
    return {
        "leader": leader,
        "follower": followers[:1],
        "followers": followers,
        "replicas": [*leader, *followers],
    }[word]
