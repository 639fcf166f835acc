"""Names of a topic's streams, and what the servers say of them.

A topic's partition is a stream of its own with one subject, both named after the topic and the partition's number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
from nats.js import JetStreamContext
from nats.js.errors import APIError, NoStreamResponseError, ServiceUnavailableError

from bench.model import Node, Topic
from bench.systems.nats.nodes import monitor

GONE_S = 20.0
"""A stream that the servers say they do not have for so long, while all are there, is gone."""
_ANSWERS_S = 1.0
_NO_STREAM = "none"
_OTHER_STREAM = 10060
"""JetStream's error for a message that is meant for another stream: its leader took it and did not store it."""
_QUERY = {"accounts": "true", "streams": "true", "config": "true", "raft": "true"}


def stream(topic: Topic, partition: int) -> str:
    """Return the name of a partition's stream, which is its subject, too."""
    return f"{topic.name}-{partition}"


def names(topic: Topic) -> list[str]:
    """Return the names of all of a topic's streams, by partition."""
    return [stream(topic, number) for number in range(topic.partitions)]


async def has_leader(jetstream: JetStreamContext, name: str) -> bool:
    """Whether a stream's leader answers through this connection's server. Stores nothing. Raises nats.errors.Error.

    It is sent a message for another stream, which it refuses.
    """
    try:
        await jetstream.publish(name, timeout=_ANSWERS_S, stream=_NO_STREAM)
    except (NoStreamResponseError, ServiceUnavailableError, TimeoutError):
        return False
    except APIError as error:
        if error.err_code != _OTHER_STREAM:
            raise
    return True


@dataclass(frozen=True, slots=True)
class StreamView:
    """What the server that leads a stream says of it, or another where nobody answers who does.

    `leader` is None where nobody leads. `current` are the servers whose replicas are up to date, `stale_servers` those
    whose are not. Of `last` and the stale servers nothing is known but by the leader (`leads`).
    """

    leader: str | None
    current: Sequence[str]
    stale_servers: Sequence[str]
    last: int
    leads: bool


@dataclass(frozen=True, slots=True)
class View:
    """What one server says: of the streams that it keeps, by name, and who leads the cluster's metadata."""

    server: str
    streams: Mapping[str, StreamView] = field(default_factory=dict)
    meta_leader: str | None = None


def views(nodes: Sequence[Node], within_s: float) -> list[View]:
    """Ask every server, side by side; those that do not answer in time are left out."""
    with ThreadPoolExecutor(max(1, len(nodes))) as pool:
        answers = pool.map(lambda node: view(node, within_s), nodes)
        return [answer for answer in answers if answer is not None]


def view(node: Node, within_s: float) -> View | None:
    """Ask one server; None where it does not answer in time."""
    try:
        answer = httpx.get(monitor(node, "jsz"), params=_QUERY, timeout=within_s, trust_env=False)
        return view_of(node.name, answer.raise_for_status().json())
    except (httpx.HTTPError, ValueError):
        return None


def view_of(server: str, document: Mapping[str, Any]) -> View:
    """Read what a server's page `jsz` says."""
    accounts = document.get("account_details") or ()
    details = (detail for account in accounts for detail in account.get("stream_detail") or ())
    meta = document.get("meta_cluster") or {}
    is_single_server = not meta
    return View(
        server,
        {detail["name"]: _stream_view(server, detail) for detail in details},
        server if is_single_server else meta.get("leader") or None,
    )


def _stream_view(server: str, detail: Mapping[str, Any]) -> StreamView:
    cluster = detail.get("cluster")
    last = int((detail.get("state") or {}).get("last_seq", 0))
    if cluster is None:  # a server without others
        return StreamView(server, [server], [], last, leads=True)
    leader = cluster.get("leader") or None
    replicas = cluster.get("replicas") or ()
    current = [
        replica["name"] for replica in replicas if replica.get("current") and not replica.get("offline")
    ]
    stale_servers = [replica["name"] for replica in replicas if replica["name"] not in current]
    first = [leader] if leader else []
    return StreamView(leader, [*first, *current], stale_servers, last, leads=leader == server)


def reconcile(views: Sequence[View], name: str) -> StreamView | None:
    """Return what is known of a stream: its leader's word, else that of most others; None where nobody knows it."""
    stream_views = [server_view.streams[name] for server_view in views if name in server_view.streams]
    leading = [stream_view for stream_view in stream_views if stream_view.leads]
    if leading:
        return max(leading, key=lambda stream_view: (len(stream_view.current), stream_view.last))
    leaders = [stream_view.leader for stream_view in stream_views]
    return max(stream_views, key=lambda stream_view: leaders.count(stream_view.leader), default=None)
