"""What an operator does to a NATS cluster: streams made and deleted by the client, states read from the servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import nats
from nats.js import JetStreamContext
from nats.js.api import StorageType, StreamConfig
from nats.js.errors import NotFoundError

from bench.errors import ClusterError
from bench.model import Cluster, Node, Topic, TopicState
from bench.systems.draining import DrainResult
from bench.systems.nats import live_settings
from bench.systems.nats.connection import CONNECT_S, EventLoop, Result, connect, repeat
from bench.systems.nats.nodes import SERVER, endpoint
from bench.systems.nats.settings import REPLICAS, STORAGE, STORAGES, replicas
from bench.systems.nats.streams import GONE_S, StreamView, has_leader, names, reconcile, stream, view, views
from bench.systems.protocols import SETTLES_S

_LOOK_S, _FIND_S = 0.9, 5.0
_READY_S = 30.0
_REQUEST_S = 5.0
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
        """See protocols.Admin. Returns once all replicas are up to date and all started servers reach all leaders."""
        configs = [self._config(topic, number) for number in range(topic.partitions)]

        async def create(jetstream: JetStreamContext) -> None:
            for config in configs:
                await repeat(partial(jetstream.add_stream, config))

        self._do(f"Creating topic {topic.name}", create)
        self._await_current(topic, _READY_S)
        self._await_routes(topic)

    def _await_routes(self, topic: Topic) -> None:
        """Return once every started server passes messages on to all streams' leaders. Raises ClusterError.

        A server learns from the others which of them takes a subject; until then it answers that no stream does.
        """
        deadline = time.monotonic() + _READY_S
        for node in self._cluster.first(self._nodes):
            while missing := self._without_route(topic, node):
                if time.monotonic() > deadline:
                    raise ClusterError(
                        f"Within {_READY_S:g} s {node.name} reached no leader of {', '.join(missing)}."
                    )
                time.sleep(_TURN_S)

    def _without_route(self, topic: Topic, node: Node) -> list[str]:
        """Name the streams whose leader this server does not reach. Raises ClusterError."""

        async def ask(jetstream: JetStreamContext) -> list[str]:
            answers = await asyncio.gather(*(has_leader(jetstream, name) for name in names(topic)))
            return [name for name, answered in zip(names(topic), answers, strict=True) if not answered]

        return self._do(f"Asking {node.name} for topic {topic.name}", ask, [node])

    def _config(self, topic: Topic, partition: int) -> StreamConfig:
        stream_settings = {
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
            **stream_settings,  # type: ignore[arg-type]  # settings.TOPIC has their names
        )

    def delete_topic(self, topic: Topic) -> None:
        """See protocols.Admin."""

        async def delete(jetstream: JetStreamContext) -> None:
            for name in names(topic):
                try:
                    await repeat(partial(jetstream.delete_stream, name))
                except NotFoundError:
                    continue

        self._do(f"Deleting topic {topic.name}", delete)

    def _do(
        self,
        doing: str,
        work: Callable[[JetStreamContext], Coroutine[Any, Any, Result]],
        nodes: Sequence[Node] = (),
    ) -> Result:
        """Let the client do something, through one of these servers or any; return its result. Raises ClusterError."""

        async def run_work() -> Result:
            connection = await asyncio.wait_for(connect(endpoint(nodes or self._nodes)), CONNECT_S)
            try:
                return await work(connection.jetstream(timeout=_REQUEST_S))
            finally:
                await connection.close()

        with EventLoop() as loop:
            try:
                return loop.call(run_work(), 2 * CONNECT_S)
            except (OSError, TimeoutError, nats.errors.Error) as error:
                raise ClusterError(f"{doing}: {type(error).__name__}: {error}.") from error

    def effective(self, topic: Topic) -> dict[str, object]:
        """See protocols.Admin."""
        scenario_settings = self._cluster.settings.get(SERVER, {})
        settings = [
            live_settings.server_settings(node, scenario_settings)
            for node in self._cluster.first(self._nodes)
        ]
        stream_views = self._streams(topic, _FIND_S)
        return {
            "cluster": {
                "servers": [node.name for node in self._nodes],
                "version": live_settings.varz(self._nodes[0])["version"],
            },
            "topic": {
                "name": topic.name,
                REPLICAS: self._replicas(topic),
                STORAGE: topic.settings.get(STORAGE, STORAGES[0]),
                "partitions": [
                    {
                        "partition": number,
                        "leader": stream_view.leader,
                        "replicas": [*stream_view.current, *stream_view.stale_servers],
                    }
                    for number, stream_view in sorted(stream_views.items())
                ],
            },
            "roles": {SERVER: settings[0]},
        }

    def find(self, part: str, topic: Topic) -> list[str]:
        """See protocols.Admin."""
        word, _, number = part.partition(" of ")
        server_views = views(self._nodes, _FIND_S)
        if not server_views:
            raise ClusterError(f"Looking for the {part} of {topic.name}: no server answered.")
        if word == "meta leader":
            leaders = [server_view.meta_leader for server_view in server_views if server_view.meta_leader]
            return [max(leaders, key=leaders.count)] if leaders else []
        stream_view = reconcile(server_views, stream(topic, int(number or 0)))
        return [] if stream_view is None else _part_nodes(word, stream_view)

    def _streams(self, topic: Topic, within_s: float) -> dict[int, StreamView]:
        """Return what is known of each partition, of those of which anything is."""
        server_views = views(self._nodes, within_s)
        stream_views = {number: reconcile(server_views, name) for number, name in enumerate(names(topic))}
        return {
            number: stream_view for number, stream_view in stream_views.items() if stream_view is not None
        }

    def layout(self, topic: Topic) -> list[dict[str, object]]:
        """See protocols.Admin. What is in sync, and how far, only a leader tells."""
        return [
            {
                "partition": number,
                "leader": stream_view.leader if stream_view.leads else None,
                "in_sync": list(stream_view.current) if stream_view.leads else [],
                "epoch": None,
                "high_watermark": stream_view.last if stream_view.leads else None,
            }
            for number, stream_view in self._streams(topic, _LOOK_S).items()
        ]

    def state(self, topic: Topic) -> TopicState:
        """See protocols.Admin."""
        server_views = views(self._nodes, _FIND_S)
        if not server_views:
            return TopicState(available=False, copies_missing=None, in_sync=None)
        stream_views = [reconcile(server_views, name) for name in names(topic)]
        served = [
            stream_view for stream_view in stream_views if stream_view is not None and stream_view.leads
        ]
        if len(served) < topic.partitions:
            return TopicState(available=False, copies_missing=True, in_sync=0)
        fewest = min(len(stream_view.current) for stream_view in served)
        return TopicState(available=True, copies_missing=fewest < self._replicas(topic), in_sync=fewest)

    def look_up(self, topic: Topic, avoiding: Sequence[str]) -> str:
        """See protocols.Admin. Nothing comes of it here: leaders are elected, whoever asks."""
        server = next((node for node in self._nodes if node.name not in avoiding), None)
        server_view = None if server is None else view(server, _FIND_S)
        if server is None or server_view is None:
            raise ClusterError(f"Looking up {topic.name}: no server is left to ask.")
        stream_views = (server_view.streams.get(name) for name in names(topic))
        leaders = dict.fromkeys(
            (stream_view and stream_view.leader) or "nobody" for stream_view in stream_views
        )
        return f"Asked through {server.name}: {', '.join(leaders)} leads it."

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
        server_views = views(self._nodes, _FIND_S)
        if len(server_views) < len(self._nodes) or not any(
            server_view.meta_leader for server_view in server_views
        ):
            return False
        stream_views = [
            stream_view for name in names(topic) if (stream_view := reconcile(server_views, name)) is not None
        ]
        return all(
            stream_view.leads and len(stream_view.current) == self._replicas(topic)
            for stream_view in stream_views
        )

    def rebalance(self, topic: Topic, bytes_per_s: float | None) -> str:  # noqa: ARG002
        """See protocols.Admin. Raises ClusterError: streams are not moved here."""
        raise ClusterError(f"Spreading {topic.name}: streams of JetStream are not moved here.")

    def drain(self, node: str, topic: Topic, bytes_per_s: float | None) -> DrainResult:  # noqa: ARG002
        """See protocols.Admin. Raises ClusterError: streams are not moved here."""
        raise ClusterError(f"Draining {node}: streams of JetStream are not moved here.")

    def lift_expiry(self, topic: Topic) -> None:
        """See protocols.Admin: what expires is deleted, for every reader."""

    def close(self) -> None:
        """See protocols.Admin: nothing to release."""


def _part_nodes(word: str, stream_view: StreamView) -> list[str]:
    leader = [stream_view.leader] if stream_view.leader else []
    followers = [
        name for name in (*stream_view.current, *stream_view.stale_servers) if name != stream_view.leader
    ]
    return {
        "leader": leader,
        "follower": followers[:1],
        "followers": followers,
        "replicas": [*leader, *followers],
    }[word]
