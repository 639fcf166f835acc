"""Members of one subscription, of any of Pulsar's types."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pulsar

from bench.errors import LoadError
from bench.model import Settings, Topic
from bench.systems.endpoint import parse
from bench.systems.membership import group_id
from bench.systems.protocols import ReceivedMessage
from bench.systems.pulsar import arguments, topics
from bench.systems.pulsar.arguments import ClientKind
from bench.systems.pulsar.connection import attempt, connect, disconnect
from bench.systems.pulsar.records import convert_message

_CLOSE_S = 2.0


class Member:
    """See protocols.System.member: receives one message at a time, and acknowledges it with the next call."""

    def __init__(self, endpoint: str, topic: Topic, settings: Settings, kind: str) -> None:
        """Subscribe with a type of subscription. Raises LoadError: an exclusive one takes one consumer only."""
        doing = f"Connecting a member of a {kind} subscription to {topic.name} at {parse(endpoint).display_address}"
        subscription_arguments = {
            **arguments.of_kind(ClientKind.CONSUMER, settings),
            "subscription_name": group_id(topic.name),
            "consumer_type": getattr(pulsar.ConsumerType, kind.replace("_", "")),
            "initial_position": pulsar.InitialPosition.Earliest,
        }
        self._client = attempt(doing, lambda: connect(endpoint, settings))
        self._consumer = attempt(
            doing, lambda: self._client.subscribe(topics.full_name(topic), **subscription_arguments)
        )
        self._last: Any = None

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """See protocols.Consumer."""
        self._acknowledge()
        try:
            self._last = self._consumer.receive(math.ceil(timeout_s * 1000))
        except pulsar.Timeout:
            return ()
        except pulsar.PulsarException as error:
            raise LoadError(f"The member can't go on: {type(error).__name__} ({error}).") from error
        return [convert_message(self._last, time.monotonic_ns())]

    def _acknowledge(self) -> None:
        """Acknowledge the message before; what can't be now, for want of a connection, comes again."""
        if self._last is not None:
            with suppress(pulsar.PulsarException):
                self._consumer.acknowledge(self._last)
            self._last = None

    def close(self) -> None:
        """See protocols.Consumer."""
        self._acknowledge()
        disconnect(self._client, _CLOSE_S)
