"""Which settings NATS' servers, streams and client have, and which combinations of them can't exist."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from bench.model import MEMBER, Case, Scalar, Settings, text
from bench.systems import draining, membership
from bench.systems.nats import promise
from bench.systems.nats.connection import RECONNECT
from bench.systems.nats.group_types import GROUP_TYPES
from bench.systems.nats.nodes import FOLDER, MOST_NODES, SERVER
from bench.systems.processing import PROCESSOR
from bench.systems.properties import property_types

JETSTREAM = frozenset({"max_file_store", "max_memory_store", "sync_interval"})
"""Settings that stand in the block `jetstream`."""
TIMEOUT = "timeout"
TIMEOUT_S = 5.0
"""How long the client waits for an acknowledgement as shipped."""
REPLICAS, STORAGE = "replicas", "storage"
TOPIC = frozenset({REPLICAS, STORAGE, "max_age", "max_bytes", "max_msgs"})
STORAGES = ("file", "memory")
_PRODUCER = frozenset({TIMEOUT, RECONNECT})
_MOST_REPLICAS = 5
_PAYLOAD_BYTES = 2**20

DURATIONS = frozenset({"duration", "sync"})
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)")
_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SIZE = re.compile(r"(\d+)(?:([kmg])(i?b)?)?", re.IGNORECASE)
_SHAPES = {
    "duration": "a duration such as 2m or 10s",
    "size": "a size such as 64MB",
    "int": "a whole number",
    "sync": f"{promise.ALWAYS}, or a duration such as 2m",
}


def server_properties() -> Mapping[str, str]:
    """What a server may have settings for: types by name."""
    return property_types(FOLDER / "server-properties.txt")


def canonical(kind: str, value: Scalar) -> str | None:
    """Return a value as the server tells it, in ns or bytes; None for what is no value of this type."""
    value_text = text(value)
    if kind == "sync" and value_text == promise.ALWAYS:
        return value_text
    if kind in DURATIONS:
        duration = _DURATION.fullmatch(value_text)
        return str(round(float(duration[1]) * _NS[duration[2]])) if duration else None
    if kind == "size":
        size = _SIZE.fullmatch(value_text)
        return str(_bytes(size)) if size else None
    return value_text if value_text.isdecimal() else None


def _bytes(size: re.Match[str]) -> int:
    """Return a size as a server reads it: 1k is 1,000 bytes, and 1kb is 1,024."""
    power = " kmg".index((size[2] or " ").lower())
    return int(size[1]) * int((1024 if size[3] else 1000) ** power)


def owner_settings(case: Case) -> Iterator[tuple[str, Settings, Collection[str]]]:
    """Give who has settings in a case, which, and the names that exist."""
    for role, settings in case.cluster.settings.items():
        yield role, settings, server_properties() if role == SERVER else ()
    yield "topic", case.topic, {*TOPIC, "partitions"}
    yield "producer", case.producer, _PRODUCER
    yield "consumer", case.consumer, ()
    yield membership.GROUP, case.consumer_group, membership.NAMES


def check(case: Case) -> list[str]:
    """Say why this case cannot exist, in full sentences."""
    checks = (_nodes, _values, _copies, _sizes, _unsupported_features, _group)
    return [sentence for check_one in checks for sentence in check_one(case)]


def replicas(settings: Settings, servers: int) -> int:
    """Return how many replicas a topic's streams get."""
    return int(settings.get(REPLICAS, promise.replicas(servers)))


def _nodes(case: Case) -> Iterator[str]:
    count = case.cluster.nodes.get(SERVER, 0)
    if not 1 <= count <= MOST_NODES:
        yield f"A NATS cluster needs 1 to {MOST_NODES} servers, not {count}."
    for role in sorted({*case.cluster.nodes, *case.cluster.heap_mib} - {SERVER}):
        yield f"NATS has no role {role}: its role is {SERVER}."
    if SERVER in case.cluster.heap_mib:
        yield "A NATS server is no JVM and has no heap_mib: limit it with node_size."


def _values(case: Case) -> Iterator[str]:
    for name, value in case.cluster.settings.get(SERVER, {}).items():
        kind = server_properties().get(name, "")
        if kind and canonical(kind, value) is None:
            yield f"{name} of the {SERVER} is {_SHAPES[kind]}, not {text(value)}."
    storage = case.topic.get(STORAGE, STORAGES[0])
    if storage not in STORAGES:
        yield f"{STORAGE} is {' or '.join(STORAGES)}, not {text(storage)}."
    for name, value in case.producer.items():
        if name in _PRODUCER and (isinstance(value, bool | str) or value <= 0):
            yield f"The producer's {name} is a number of seconds above 0, not {text(value)}."


def _copies(case: Case) -> Iterator[str]:
    if case.partitions < 1:
        yield f"A topic has at least one partition, not {case.partitions}."
    servers = case.cluster.nodes.get(SERVER, 0) - case.cluster.spare.get(SERVER, 0)
    number = case.topic.get(REPLICAS, promise.replicas(servers))
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= _MOST_REPLICAS:
        yield f"{REPLICAS} is a whole number from 1 to {_MOST_REPLICAS}, not {text(number)}."
    elif number > servers:
        yield f"{number} replicas need as many servers, and the cluster has {servers}."


def _sizes(case: Case) -> Iterator[str]:
    max_payload = case.cluster.settings.get(SERVER, {}).get("max_payload", _PAYLOAD_BYTES)
    limit = canonical("size", max_payload)
    if limit is not None and case.load.message_bytes > int(limit):
        yield f"Messages of {case.load.message_bytes} bytes exceed the servers' max_payload={text(max_payload)}."


def _unsupported_features(case: Case) -> Iterator[str]:
    if case.processor:
        yield f"JetStream has no {PROCESSOR} here: leave it out for nats."
    if draining.drains(case) or any("rebalance" in step for step in case.faults):
        yield "Streams of JetStream are not moved between servers here: leave drain and rebalance out for nats."


def _group(case: Case) -> Iterator[str]:
    yield from membership.why_wrong(
        case.consumer_group, GROUP_TYPES, case.load.consumers, case.cluster.spare.get(MEMBER, 0)
    )
