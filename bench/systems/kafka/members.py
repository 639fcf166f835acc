"""Members of Kafka's kinds of group: classic, those of KIP-848 (`consumer`), and share groups (KIP-932)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from confluent_kafka import Consumer, KafkaException, ShareConsumer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from bench.errors import LoadError
from bench.model import Settings, Topic
from bench.systems.kafka import topics
from bench.systems.kafka.client import sound
from bench.systems.kafka.group_types import SHARE
from bench.systems.kafka.records import KafkaMessage, convert_message, leave, poll
from bench.systems.kafka.settings import client_config, merge_settings
from bench.systems.membership import GROUP, TYPE, group_id
from bench.systems.protocols import Consumer as Member
from bench.systems.protocols import ReceivedMessage

_SET_S = 20.0


def member(endpoint: str, topic: Topic, settings: Settings, kind: str) -> Member:
    """Join the group of a topic; see protocols.System.member. Raises LoadError."""
    if kind == SHARE:
        return ShareMember(endpoint, topic, settings)
    return PartitionMember(endpoint, topic, settings, kind)


class PartitionMember:
    """A member of a group that deals out whole partitions; the client commits what it has had, every five seconds."""

    def __init__(self, endpoint: str, topic: Topic, settings: Settings, protocol: str) -> None:
        """Ask to join; partitions come with the first calls of `receive`."""
        group_settings: Settings = {
            "group.id": group_id(topic.name),
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
        }
        self._consumer = Consumer(client_config(endpoint, merge_settings(group_settings, settings)))
        topics.await_topic(self._consumer, topic)
        self._consumer.subscribe([topic.name])

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer: one message at a time, so that none waits for the work on another."""
        message = poll(self._consumer, timeout_s)
        now_ns = time.monotonic_ns()
        return [] if message is None else [convert_message(record, now_ns) for record in sound([message])]

    def close(self) -> None:
        """See protocols.Consumer."""
        leave(self._consumer)


class ShareMember:
    """A member of a share group: brokers hand it records of any partition; the next call acknowledges them."""

    def __init__(self, endpoint: str, topic: Topic, settings: Settings) -> None:
        """Join; a new group begins at the earliest record, which is a setting of the group. Raises LoadError."""
        group = group_id(topic.name)
        _begin_at_the_earliest(endpoint, group)
        config: dict[str, Any] = client_config(endpoint, merge_settings({"group.id": group}, settings))
        self._consumer = ShareConsumer(config)
        self._consumer.subscribe([topic.name])

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer: what one answer of a broker holds."""
        try:
            messages = self._consumer.poll(timeout_s)
        except KafkaException as error:
            raise LoadError(f"The share group's member can't go on: {error.args[0].str()}.") from error
        now_ns = time.monotonic_ns()
        return [
            convert_message(message, now_ns)
            for message in sound([cast("KafkaMessage", record) for record in messages])
        ]

    def close(self) -> None:
        """See protocols.Consumer."""
        leave(self._consumer)


def _begin_at_the_earliest(endpoint: str, group: str) -> None:
    entry = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
    client = AdminClient(client_config(endpoint, {}))
    try:
        client.incremental_alter_configs([resource], request_timeout=_SET_S)[resource].result()
    except KafkaException as error:
        raise LoadError(
            f"Setting up the share group of a {GROUP} ({TYPE}): {error.args[0].str()}."
        ) from error
