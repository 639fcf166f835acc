"""Which settings Kafka and its client have, and which combinations of them can't exist."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer

from bench import numbers
from bench.model import MEMBER, Case, Scalar, Settings, text
from bench.systems import draining, membership, processing
from bench.systems.endpoint import resolve
from bench.systems.kafka.config import FOLDER, copies
from bench.systems.kafka.features import FEATURES
from bench.systems.kafka.group_types import GROUP_TYPES, NEW, SHARE
from bench.systems.kafka.nodes import BROKER, CONTROLLER, MOST_NODES, ROLES, ZOOKEEPER
from bench.systems.processing import PROCESSOR, SETTLE_AFTER, SETTLE_BEFORE
from bench.systems.properties import is_whole, property_types, wrong_values

COMMIT = "commit"
PARTITIONER = "partitioner"
"""With this property of librdkafka's, messages go where the client itself sends them, not to the partitions in turn."""
TRANSACTION = "transaction"
COMMITS = (SETTLE_BEFORE, SETTLE_AFTER, TRANSACTION)
"""When a processor commits what it has read: bench/systems/kafka/processor.py."""
_GROUPS_FROM = {NEW: (4, 0), SHARE: (4, 2)}
"""The first version in which a type of group is no preview."""

_SERVERS_OWN = frozenset({
    "process.roles",
    "node.id",
    "broker.id",
    "listeners",
    "advertised.listeners",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
})  # fmt: skip
_CLIENTS_OWN = {
    "producer": frozenset({
        "bootstrap.servers",
        "metadata.broker.list",
        "delivery.report.only.error",
        "transactional.id",
    }),
    "consumer": frozenset({
        "bootstrap.servers",
        "metadata.broker.list",
        "enable.partition.eof",
    }),
}  # fmt: skip
"""What the suite must decide itself, or it can't keep its promises (every send ends, addresses fit)."""

_NEVER_SAYS, _NEVER = frozenset({"flush.messages", "flush.ms"}), 2**63 - 1
"""Topic properties that may be `never`, and how Kafka writes that."""

_KEEPS = {"retention.ms": 86_400_000, "retention.bytes": 2**40}
"""From which values on a topic keeps what a trial writes; -1 keeps everything."""

_FRAMING_BYTES = 100
"""What a batch of one message adds to it, rounded up: 61 bytes of batch header, about 20 of record header."""
_TOPIC_MAX_BYTES = 1_048_588
_CLIENT_MAX_BYTES = 1_000_000
_REPLICAS = "replicas"
"""The suite's own word for how many copies a topic has, which Kafka takes when it makes the topic."""
_OLDEST = (3, 7)
_OLDEST_WITH_ZOOKEEPER, _FIRST_WITHOUT = (2, 8), (4, 0)


class ClientProperty(NamedTuple):
    """A property of librdkafka. `whose`: P producer, C consumer, * both; `same_as`: its other name."""

    whose: str
    default: str
    same_as: str


def server_properties(*, before_4: bool = False) -> Mapping[str, str]:
    """What a broker's or controller's server.properties may hold: types by name."""
    return property_types(FOLDER / ("broker-properties-3.txt" if before_4 else "broker-properties.txt"))


def topic_properties() -> Mapping[str, str]:
    """What a topic may have settings for: types by name."""
    return property_types(FOLDER / "topic-properties.txt")


@cache
def client_properties() -> Mapping[str, ClientProperty]:
    """Properties of librdkafka by name."""
    rows = property_types(FOLDER / "client-properties.txt").items()
    return {name: ClientProperty(*(columns.split("\t") + [""] * 3)[:3]) for name, columns in rows}


def _client_names(side: str) -> frozenset[str]:
    return frozenset(
        name for name, client_property in client_properties().items() if client_property.whose in {"*", side}
    )


def merge_settings(defaults: Settings, settings: Settings) -> dict[str, Scalar]:
    """Lay client settings over defaults; a setting replaces a default under any of its names."""
    replaced_names = {_canonical(name) for name in settings}
    kept_defaults = {
        name: value for name, value in defaults.items() if _canonical(name) not in replaced_names
    }
    return {**kept_defaults, **settings}


def lookup(settings: Settings, name: str) -> Scalar | None:
    """Return a client setting's value, under whichever of its names it was given."""
    canonical_name = _canonical(name)
    return next(
        (value for setting_name, value in settings.items() if _canonical(setting_name) == canonical_name),
        None,
    )


def client_config(endpoint: str, settings: Settings) -> dict[str, Scalar]:
    """Return what a client of confluent-kafka is made of. Raises LoadError for a secret that is not there."""
    connection = resolve(endpoint)
    properties = {**connection.client, **settings}
    return {
        "bootstrap.servers": connection.address,
        **{name: text(value) for name, value in properties.items()},
    }


def _canonical(name: str) -> str:
    client_property = client_properties().get(name)
    return client_property.same_as if client_property and client_property.same_as else name


def topic_settings(settings: Settings) -> dict[str, Scalar]:
    """Return the topic's own properties, as Kafka takes them: all but what says how many copies it has."""
    return {
        name: _NEVER if value == "never" and name in _NEVER_SAYS else value
        for name, value in settings.items()
        if name not in {_REPLICAS, "partitions"}
    }


def _role_properties(role: str, version: str) -> Mapping[str, str]:
    if role == ZOOKEEPER:
        return property_types(FOLDER / "zookeeper-properties.txt")
    if role == FEATURES:
        return property_types(FOLDER / "features.txt")
    return server_properties(before_4=version[:2] in {"2.", "3."}) if role in ROLES else {}


def owner_settings(case: Case) -> Iterator[tuple[str, Settings, Collection[str]]]:
    """Give who has settings in a case, which, and the names that exist; a listener's own are not looked at."""
    for role, settings in case.cluster.settings.items():
        checked_settings = {
            name: value for name, value in settings.items() if not name.startswith("listener.name.")
        }
        yield (
            role,
            checked_settings if role in ROLES else settings,
            _role_properties(role, case.cluster.version),
        )
    yield "topic", topic_settings(case.topic), {*topic_properties(), _REPLICAS}
    yield "producer", case.producer, _client_names("P")
    yield "consumer", case.consumer, _client_names("C")
    yield PROCESSOR, case.processor, processing.names(COMMIT)
    yield membership.GROUP, case.consumer_group, membership.NAMES


def pause_s(case: Case) -> float:
    """Return the longest pause of a consumer between two tries to connect to a broker, in seconds."""
    name = "reconnect.backoff.max.ms"
    return float(lookup(case.consumer, name) or client_properties()[name].default) / 1000


def check(case: Case) -> list[str]:
    """Say why this case cannot exist, in full sentences; of one whose values are no values, only that."""
    checks = (
        _version,
        _nodes,
        _copies,
        _acks,
        _sizes,
        _retention,
        _reserved_properties,
        _aliases,
        _client_refusals,
        _partitioner,
        _processor,
        _group,
    )
    return [*_values(case)] or [sentence for check_one in checks for sentence in check_one(case)]


def _values(case: Case) -> Iterator[str]:
    for role, settings in case.cluster.settings.items():
        yield from wrong_values(role, settings, _role_properties(role, case.cluster.version))
    yield from wrong_values("topic", topic_settings(case.topic), topic_properties())


def _version(case: Case) -> Iterator[str]:
    if case.cluster.external:  # it runs, whatever it is
        return
    parts = case.cluster.version.split(".")
    if not all(number.isdigit() for number in parts[:2]) or len(parts) < 2:
        yield f"Kafka {case.cluster.version} is no version like 4.3.1."
        return
    version = (int(parts[0]), int(parts[1]))
    with_zookeeper = bool(case.cluster.nodes.get(ZOOKEEPER))
    oldest = _OLDEST_WITH_ZOOKEEPER if with_zookeeper else _OLDEST
    if version < oldest:
        coordination = "with ZooKeeper" if with_zookeeper else "without ZooKeeper"
        oldest_text = ".".join(map(str, oldest))
        yield f"Kafka {case.cluster.version} is too old: clusters {coordination} are run from {oldest_text} on."
    if case.cluster.settings.get(FEATURES) and version < _FIRST_WITHOUT:
        yield f"Kafka {case.cluster.version} has no features that can be set: they are known from 4.0 on."
    if with_zookeeper and version >= _FIRST_WITHOUT:
        yield f"Kafka {case.cluster.version} knows no ZooKeeper any more: 3.9 was the last that did."


def _nodes(case: Case) -> Iterator[str]:
    if case.cluster.external:
        return
    with_zookeeper = bool(case.cluster.nodes.get(ZOOKEEPER))
    if with_zookeeper and case.cluster.nodes.get(CONTROLLER):
        yield "A Kafka cluster has controllers or ZooKeeper, not both: set nodes.controller to 0."
    for role in (ZOOKEEPER if with_zookeeper else CONTROLLER, BROKER):
        count = case.cluster.nodes.get(role, 0)
        if not 1 <= count <= MOST_NODES[role]:
            yield f"A Kafka cluster needs 1 to {MOST_NODES[role]} nodes of the role {role}, not {count}."
    for role in {*case.cluster.nodes, *case.cluster.heap_mib} - set(ROLES):
        yield f"Kafka has no role {role}: its roles are {', '.join(ROLES)}."


def _drain_refusals(case: Case, replicas: int) -> Iterator[str]:
    """Refuse to drain a broker whose replicas, those of Kafka's own topics too, have no other broker to go to."""
    elsewhere, most = case.cluster.nodes.get(BROKER, 0) - 1, max(replicas, copies(case.cluster))
    if draining.drains(case) and most > elsewhere:
        yield f"{most} replicas need as many brokers, and a drained one leaves {elsewhere}: add one."


def _copies(case: Case) -> Iterator[str]:
    brokers = case.cluster.nodes.get(BROKER, 0) - case.cluster.spare.get(BROKER, 0)
    replicas = case.topic.get("replicas", copies(case.cluster))
    in_sync = case.topic.get("min.insync.replicas", _broker_in_sync(case))
    if case.partitions < 1:
        yield f"A topic has at least one partition, not {case.partitions}."
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 1:
        yield f"replicas is a whole number from 1 on, not {replicas}."
        return
    if replicas > brokers:
        yield f"{replicas} replicas need as many brokers, and the cluster has {brokers}."
    yield from _drain_refusals(case, replicas)
    if not str(in_sync).isdigit() or int(in_sync) < 1:
        yield f"min.insync.replicas is a whole number from 1 on, not {in_sync}."
    elif int(in_sync) > replicas:
        yield (
            f"min.insync.replicas={in_sync} can't be reached with {numbers.plural(replicas, 'replica')}: every send "
            "with acks=all would be refused; acks=0 and 1 would not use it."
        )


def _acks(case: Case) -> Iterator[str]:
    """Refuse what librdkafka takes and brokers do not."""
    acks = lookup(case.producer, "acks")
    if acks is not None and text(acks) not in {"0", "1", "-1", "all"}:
        yield f"acks is 0, 1 or all, not {acks}: brokers refuse every send with another."


def _broker_in_sync(case: Case) -> Scalar:
    return case.cluster.settings.get(BROKER, {}).get("min.insync.replicas", 1)


def _sizes(case: Case) -> Iterator[str]:
    size = case.load.message_bytes
    client = lookup(case.producer, "message.max.bytes") or _CLIENT_MAX_BYTES
    if is_whole(client) and size > int(client):  # else the client refuses it
        yield f"Messages of {size} bytes exceed the producer's message.max.bytes={client}."
    broker = case.cluster.settings.get(BROKER, {}).get("message.max.bytes", _TOPIC_MAX_BYTES)
    limit = int(case.topic.get("max.message.bytes", broker))
    if size + _FRAMING_BYTES > limit:
        yield f"Messages of {size} bytes and their framing exceed the topic's max.message.bytes={limit}."


def _retention(case: Case) -> Iterator[str]:
    """Refuse what would delete messages before the full read looks for them, unless that is what the steps wait for."""
    if case.only_waits:
        return
    for name, least in _KEEPS.items():
        value = case.topic.get(name)
        if value is not None and 0 <= int(value) < least:
            yield f"{name}={value} may delete messages before the full read looks for them: {least} is the least."
    if "compact" in str(case.topic.get("cleanup.policy", "")):
        yield "cleanup.policy=compact deletes messages before the full read looks for them."


def _reserved_properties(case: Case) -> Iterator[str]:
    for role, settings in case.cluster.settings.items():
        for name in sorted(_SERVERS_OWN & set(settings)):
            yield f"{name} can't be set for a {role}: the suite gives each node its own."
    for client, settings in (("producer", case.producer), ("consumer", case.consumer)):
        for name in sorted(_CLIENTS_OWN[client] & set(settings)):
            yield f"{name} can't be set for the {client}: the suite needs its own value there."


def _partitioner(case: Case) -> Iterator[str]:
    if case.load.keys and PARTITIONER in case.producer:
        yield f"With load.keys the key's number decides the partition: leave the producer's {PARTITIONER} out."


def _processor(case: Case) -> Iterator[str]:
    yield from processing.why_wrong(case.processor, COMMIT, COMMITS)


def _group(case: Case) -> Iterator[str]:
    yield from membership.why_wrong(
        case.consumer_group, GROUP_TYPES, case.load.consumers, case.cluster.spare.get(MEMBER, 0)
    )
    kind, version = str(case.consumer_group.get(membership.TYPE)), case.cluster.version
    if version and (first := _GROUPS_FROM.get(kind)) and tuple(map(int, version.split(".")[:2])) < first:
        yield f"Kafka {version} has no groups of the type {kind}: they are there from {'.'.join(map(str, first))} on."


def _aliases(case: Case) -> Iterator[str]:
    for client, settings in (("producer", case.producer), ("consumer", case.consumer)):
        for name in settings:
            canonical_name = _canonical(name)
            if canonical_name != name and canonical_name in settings:
                yield f"The {client}'s {name} and {canonical_name} are one property under two names: give one of them."


def _client_refusals(case: Case) -> Iterator[str]:
    """Ask the client itself, which knows its ranges and what does not go together (idempotence, acks)."""
    clients: tuple[tuple[str, Settings, Callable[[dict[str, str]], object]], ...] = (
        ("producer", case.producer, Producer),
        ("consumer", {"group.id": "check", **case.consumer}, Consumer),
    )
    for client, settings, make in clients:
        valid_names = _client_names(client[0].upper()) - _CLIENTS_OWN[client]
        try:
            make(
                {name: text(value) for name, value in settings.items() if name in valid_names}
                | {"log_level": "0"}
            )
        except KafkaException as error:
            yield f"Kafka's client refuses these {client} settings: {error.args[0].str()}."
