"""An application that reads a topic by a subscription and writes another: see bench/systems/processing.py.

The Python client has no transactions. In their place is what Pulsar's own functions do for `effectively once`. A
message is written under a sequence number that follows from the position it was read at. A broker with
deduplication drops what it has had.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pulsar

from bench.errors import LoadError
from bench.model import Settings, Topic
from bench.systems import processing
from bench.systems.processing import PROCESSOR, SETTLE_BEFORE, Processing
from bench.systems.pulsar import topics
from bench.systems.pulsar.connection import Client, attempt, connect, disconnect
from bench.systems.pulsar.settings import ACKNOWLEDGE, DEDUPLICATED

_THERE_S = 20.0
_TURN_S = 0.05
_CLOSE_S = 5.0
_GROUPED_S = 0.15
"""The C++ client sends acknowledgements together, every 100 ms (its ackGroupingTimeMs)."""
_ENTRY_BITS = 28
"""As Pulsar's functions do it: the ledger, then so many bits for the entry."""


def process(endpoint: str, source: Topic, target: Topic, settings: Settings) -> Iterator[int]:
    """See protocols.System."""
    parameters = processing.read(settings, ACKNOWLEDGE)
    client = connect(endpoint, {})
    try:
        partitions = [
            _PartitionProcessor(client, source, target, number, parameters)
            for number in range(source.partitions)
        ]
        while True:
            count = sum(partition.step() for partition in partitions)
            yield count
            if not count:
                time.sleep(_TURN_S)
    finally:
        disconnect(client, _CLOSE_S)


class _PartitionProcessor:
    """The way from one partition to its counterpart; a failover subscription keeps its order."""

    def __init__(
        self, client: Client, source: Topic, target: Topic, number: int, parameters: Processing
    ) -> None:
        self._parameters = parameters
        self._writes_once = parameters.settle == DEDUPLICATED
        self._failed: list[str] = []
        named = {"producer_name": f"{PROCESSOR}-{number}"} if self._writes_once else {}
        self._producer = _await_place(
            lambda: client.create_producer(topics.partition_name(target, number), **named)
        )
        self._consumer = _await_place(
            lambda: client.subscribe(
                topics.partition_name(source, number),
                PROCESSOR,
                consumer_type=pulsar.ConsumerType.Failover,
                initial_position=pulsar.InitialPosition.Earliest,
            )
        )

    def step(self) -> int:
        """Process the batch that is there; return how many messages it had."""
        batch = self._batch()
        if batch and self._parameters.settle == SETTLE_BEFORE:
            self._settle(batch)
            self._forward(batch)
        elif batch:
            self._forward(batch)
            self._settle(batch)
        return len(batch)

    def _settle(self, batch: list[Any]) -> None:
        """Acknowledge a batch, and return once that has been sent: the client tells before, and Python can't change it.

        So work that follows an acknowledgement follows it, as it follows Kafka's commit.
        """
        self._consumer.acknowledge_cumulative(batch[-1])
        time.sleep(_GROUPED_S)

    def _batch(self) -> list[Any]:
        batch: list[Any] = []
        with suppress(pulsar.Timeout):
            while len(batch) < self._parameters.batch:
                batch.append(self._consumer.receive(1))
        return batch

    def _forward(self, batch: list[Any]) -> None:
        """Work on messages and write them."""
        for message in batch:
            time.sleep(self._parameters.work_s)
            numbered = {"sequence_id": _sequence(message)} if self._writes_once else {}
            self._producer.send_async(message.data(), self._on_sent, **numbered)
        self._producer.flush()
        if self._failed:
            raise LoadError(f"The processor could not write: {self._failed[0]}.")

    def _on_sent(self, result: Any, _: object) -> None:  # noqa: ANN401 - pulsar has no types
        if result != pulsar.Result.Ok:
            self._failed.append(str(result))


def _sequence(message: Any) -> int:  # noqa: ANN401 - pulsar has no types
    """Return a number that follows from where a message stands, and grows along the partition."""
    place = message.message_id()
    return int(place.ledger_id()) << _ENTRY_BITS | int(place.entry_id())


def _await_place(ask: Any) -> Any:  # noqa: ANN401 - pulsar has no types
    """Ask again while the broker still holds the place of one that was killed."""
    deadline = time.monotonic() + _THERE_S
    while time.monotonic() < deadline:
        with suppress(pulsar.PulsarException):
            return ask()
        time.sleep(_TURN_S)
    return attempt("Connecting the processor", ask)
