"""The whole topic, read back from its earliest message to its end: what loss is judged by."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping, Sequence

import nats
from nats.js import JetStreamContext
from nats.js.api import DeliverPolicy
from nats.js.errors import NotFoundError

from bench.errors import LoadError
from bench.model import Topic
from bench.systems.missing_messages import MissingMessages
from bench.systems.nats.client import Subscriptions
from bench.systems.nats.connection import CONNECT_S, EventLoop, client_errors, connect
from bench.systems.nats.streams import GONE_S, names
from bench.systems.protocols import ReceivedMessage

_LATER_S = 0.5
"""How soon after the end was reached it is asked for again, where messages are missing."""
_WAIT_S = 0.2
_Ends = Mapping[int, int | str]
"""By partition the last message's place, 0 in an empty one, or why nobody tells it."""


def read_all(
    endpoint: str, topic: Topic, deadline_s: float, expected: int
) -> Iterator[Sequence[ReceivedMessage]]:
    """See protocols.System. A stream's end is what its leader says; one that is gone has no message."""
    doing = f"Reading {topic.name} back"
    gone = _gone_partitions(endpoint, topic, doing)
    if len(gone) == topic.partitions:
        return
    subscriptions = Subscriptions(endpoint, topic, DeliverPolicy.ALL, doing, gone)
    missing, reached = MissingMessages(expected), dict.fromkeys(range(topic.partitions), 0)
    try:
        while True:
            for batch in _read(subscriptions, topic, reached, deadline_s, gone):
                missing.take(len(batch))
                yield batch
            if not missing.may_arrive():
                return
            time.sleep(_LATER_S)
    finally:
        subscriptions.close()


def _read(
    subscriptions: Subscriptions,
    topic: Topic,
    reached: dict[int, int],
    deadline_s: float,
    gone: Collection[int],
) -> Iterator[Sequence[ReceivedMessage]]:
    """Read on to the ends as they are now; `reached` tells how far each was read, and is kept up."""
    deadline = time.monotonic() + deadline_s
    ends: _Ends = {}
    while True:
        if not ends or any(isinstance(end, str) for end in ends.values()):
            with client_errors(f"Reading {topic.name} back"):
                ends = subscriptions.loop.call(_ends(subscriptions.jetstream, topic)) | dict.fromkeys(gone, 0)
        left = [number for number, end in ends.items() if isinstance(end, str) or reached[number] < end]
        if not left:
            return
        if batch := subscriptions.receive(_WAIT_S):
            for message in batch:
                reached[message.partition] = message.entry
            yield batch
            deadline = time.monotonic() + deadline_s
        elif time.monotonic() > deadline:
            details = ", ".join(_unread(number, reached[number], ends[number]) for number in left)
            raise LoadError(f"Reading {topic.name} back: nothing came for {deadline_s:g} s, and {details}.")


def _gone_partitions(endpoint: str, topic: Topic, doing: str) -> frozenset[int]:
    """Return the partitions whose stream the servers say for GONE_S that they do not have. Raises LoadError."""
    with client_errors(doing), EventLoop() as loop:
        connection = loop.call(connect(endpoint), CONNECT_S)
        try:
            deadline = time.monotonic() + GONE_S
            while missing := loop.call(_missing_partitions(connection.jetstream(), topic)):
                if time.monotonic() > deadline:
                    return missing
                time.sleep(_LATER_S)
        finally:
            loop.call(connection.close())
    return frozenset()


async def _missing_partitions(jetstream: JetStreamContext, topic: Topic) -> frozenset[int]:
    """Return the partitions of which the servers say now that there is no such stream."""
    missing = await asyncio.gather(*(_is_missing(jetstream, name) for name in names(topic)))
    return frozenset(partition for partition, is_missing in enumerate(missing) if is_missing)


async def _is_missing(jetstream: JetStreamContext, name: str) -> bool:
    try:
        await jetstream.stream_info(name)
    except nats.errors.Error as error:
        return isinstance(error, NotFoundError)
    return False


async def _ends(jetstream: JetStreamContext, topic: Topic) -> dict[int, int | str]:
    ends = await asyncio.gather(*(_end(jetstream, name) for name in names(topic)))
    return dict(enumerate(ends))


async def _end(jetstream: JetStreamContext, name: str) -> int | str:
    try:
        state = (await jetstream.stream_info(name)).state
    except nats.errors.Error as error:
        return f"{type(error).__name__}: {error}"
    return state.last_seq if state.messages else 0


def _unread(number: int, reached: int, end: int | str) -> str:
    if isinstance(end, int):
        return f"partition {number} was read to sequence {reached} of {end}"
    return f"partition {number} was read to sequence {reached}, and its leader did not tell its end ({end})"
