"""What ZooKeeper holds of topics: who owns a partition and which ledgers it has.

Brokers are not asked: one that is cut off goes by what was so before, and a look-up gives a topic that nobody owns an
owner.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from bench.errors import ClusterError
from bench.model import Node, Topic
from bench.systems.pulsar import topics
from bench.systems.pulsar.nodes import metadata_address

_ANSWER_S = 5.0
_LEDGER_INFO, _LEDGER_ID = 1, 1
"""Field numbers of MLDataFormats.proto: ManagedLedgerInfo.ledgerInfo, LedgerInfo.ledgerId."""


class ZooKeeperTopics:
    """Reads what is registered. Connects with the first question; close it after use."""

    def __init__(self, zookeepers: Sequence[Node]) -> None:
        """Ask any of these. That one is away is nothing to write of: faults take them away, and who asks is told."""
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)
        self._hosts = metadata_address(zookeepers)
        self._client: KazooClient | None = None
        self._connecting = threading.Lock()

    def owner(self, topic: Topic, partition: int) -> str | None:
        """Return the address of the broker that owns a partition, None while nobody does. Raises ClusterError."""
        owners = (
            owner_of(content)
            for place, owner_of in _OWNERSHIP.items()
            if (content := self._bundle(f"{place}/{topics.namespace(topic)}", topic, partition)) is not None
        )
        return next((owner for owner in owners if owner is not None), None)

    def _bundle(self, place: str, topic: Topic, partition: int) -> bytes | None:
        """Return what is registered at a place of the bundle that a partition falls into; None where nothing is."""
        try:
            for bundle in self._ask("get_children", place):
                if topics.falls_into(topic, partition, bundle):
                    content, _ = self._ask("get", f"{place}/{bundle}")
                    return bytes(content)
        except NoNodeError:
            pass
        return None

    def ledgers(self, topic: Topic, partition: int) -> list[int]:
        """Return a partition's ledgers, the one it is written to last; none while it has none. Raises ClusterError."""
        name = quote(f"{topic.name}-partition-{partition}", safe="")
        try:
            content, _ = self._ask("get", f"/managed-ledgers/{topics.namespace(topic)}/persistent/{name}")
        except NoNodeError:
            return []
        return list(ledger_ids(content))

    def _ask(self, verb: str, path: str) -> Any:  # noqa: ANN401 - kazoo has no types
        try:
            return getattr(self._connected_client(), f"{verb}_async")(path).get(timeout=_ANSWER_S)
        except NoNodeError:
            raise
        except (KazooException, KazooTimeoutError, OSError) as error:
            raise ClusterError(
                f"Reading {path}: no ZooKeeper server answered ({type(error).__name__})."
            ) from error

    def _connected_client(self) -> KazooClient:
        with self._connecting:  # more than one thread asks
            if self._client is None:
                client = KazooClient(self._hosts, timeout=_ANSWER_S, read_only=True)
                client.start(timeout=_ANSWER_S)
                self._client = client
            return self._client

    def close(self) -> None:
        """Release the connection."""
        if self._client is not None:
            self._client.stop()
            self._client.close()
            self._client = None


def _host_of_lock(content: bytes) -> str | None:
    """Return the owner's address by what it wrote when it took a bundle, as the modular load manager has it."""
    return str(urlsplit(json.loads(content)["httpUrl"]).hostname)


def _host_of_state(content: bytes) -> str | None:
    """Return the owner's address by a bundle's state, as the extensible load manager has it (host:port of its web)."""
    state = json.loads(content)
    return str(state["dstBroker"]).partition(":")[0] if state["state"] == _OWNED else None


_OWNED = "Owned"
_OWNERSHIP: Mapping[str, Callable[[bytes], str | None]] = {
    "/namespace": _host_of_lock,
    "/service_unit_state": _host_of_state,
}
"""Where bundles have their owners, by load manager; the second where it keeps them in the metadata store."""


def ledger_ids(content: bytes) -> Iterator[int]:
    """Read the ledgers' numbers out of a ManagedLedgerInfo, Pulsar's Protobuf message."""
    for field, info in _fields(content):
        if field == _LEDGER_INFO and isinstance(info, bytes):
            yield from (
                value for inner, value in _fields(info) if inner == _LEDGER_ID and isinstance(value, int)
            )


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Give number and value of each field that is a number or has a length; Pulsar uses no others here."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        value, at = _varint(content, at)
        match tag & 7:
            case 0:
                yield tag >> 3, value
            case 2:
                yield tag >> 3, content[at : at + value]
                at += value
            case wire:
                raise ClusterError(
                    f"Reading a topic's ledgers: unknown wire type {wire} in ZooKeeper's answer."
                )


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(content):
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ClusterError("Reading a topic's ledgers: ZooKeeper's answer breaks off.")
