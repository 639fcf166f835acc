"""Consumers that share a durable consumer of each stream: members of a group, or its only reader."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

import nats
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from bench.model import Topic
from bench.systems.membership import group_id
from bench.systems.native_queue import Empty, SimpleQueue, first_of
from bench.systems.nats.client import sequence
from bench.systems.nats.connection import CALL_S, CONNECT_S, cancel_tasks, client_errors, client_loop, connect
from bench.systems.nats.group_types import ONE_AT_A_TIME
from bench.systems.nats.streams import names
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage

_FETCH, _FETCH_S = 100, 1.0
"""So many messages are asked for at a time, and for so long."""
_AGAIN_S = 0.1


class GroupMember:
    """See protocols.Consumer. What a call of `receive` returned is acknowledged with the next call, or at the end.

    What was fetched and not returned by then is handed back, so that another member gets it at once.
    """

    def __init__(self, endpoint: str, topic: Topic, group: str, kind: str = "") -> None:
        """Join; raises LoadError where the group can't be made."""
        self._one_at_a_time = kind == ONE_AT_A_TIME
        self._group = group.replace(".", "-")
        self._fetched: SimpleQueue[tuple[int, int, Msg]] = SimpleQueue()
        self._returned: list[Msg] = []
        self._fetches: list[asyncio.Task[None]] = []
        with client_loop(f"Joining the group {group}") as self._loop:
            self._connection = self._loop.call(connect(endpoint), CONNECT_S)
            self._jetstream = self._connection.jetstream()
            self._loop.call(self._join(names(topic)))

    async def _join(self, streams: Sequence[str]) -> None:
        config = ConsumerConfig(
            durable_name=self._group,
            deliver_policy=DeliverPolicy.ALL,
            ack_policy=AckPolicy.EXPLICIT,
            max_ack_pending=1 if self._one_at_a_time else None,
        )
        for partition, name in enumerate(streams):
            subscription = await self._jetstream.pull_subscribe(
                name, durable=self._group, stream=name, config=config
            )
            self._fetches.append(asyncio.create_task(self._fetch(partition, subscription)))

    async def _fetch(self, partition: int, subscription: JetStreamContext.PullSubscription) -> None:
        """Ask for messages for ever; what the client mends by itself is asked for again."""
        while True:
            try:
                messages = await subscription.fetch(1 if self._one_at_a_time else _FETCH, _FETCH_S)
            except nats.errors.TimeoutError:
                continue
            except nats.errors.Error:
                await asyncio.sleep(_AGAIN_S)
                continue
            now = time.monotonic_ns()
            for message in messages:
                self._fetched.put((partition, now, message))

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer."""
        self._acknowledge()
        try:
            first = first_of(self._fetched, timeout_s)
        except Empty:
            return ()
        batch = [first, *(self._fetched.get_nowait() for _ in range(self._fetched.qsize()))]
        self._returned = [message for _, _, message in batch]
        return [
            ReceivedMessage(message.data, now, partition, NOT_GIVEN, sequence(message), NOT_GIVEN)
            for partition, now, message in batch
        ]

    def _acknowledge(self) -> None:
        """Acknowledge what was returned, and wait until the servers have it. Raises LoadError."""
        if not self._returned:
            return
        returned, self._returned = self._returned, []
        with client_errors("Storing the place of the group"):
            self._loop.call(_gather([message.ack_sync(CALL_S) for message in returned]), CALL_S)

    def close(self) -> None:
        """See protocols.Consumer."""
        try:
            self._loop.call(cancel_tasks(self._fetches))
            self._acknowledge()
            left = [self._fetched.get_nowait() for _ in range(self._fetched.qsize())]
            with suppress(nats.errors.Error, TimeoutError):
                self._loop.call(_gather([message.nak() for _, _, message in left]), CALL_S)
                self._loop.call(self._connection.close(), CALL_S)
        finally:
            self._loop.close()


async def _gather(work: Sequence[object]) -> None:
    await asyncio.gather(*work)  # type: ignore[call-overload]


def member(endpoint: str, topic: Topic, kind: str) -> GroupMember:
    """Join the group that shares a topic; see protocols.System."""
    return GroupMember(endpoint, topic, group_id(topic.name), kind)
