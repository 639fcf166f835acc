"""Which settings Pulsar and its client have, and which combinations of them can't exist."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from bench.model import MEMBER, Case, Scalar, Settings
from bench.systems import draining, membership, processing
from bench.systems.processing import PROCESSOR, SETTLE_AFTER, SETTLE_BEFORE
from bench.systems.properties import property_types, wrong_values
from bench.systems.pulsar import arguments, topics
from bench.systems.pulsar.arguments import ROUTER, ClientKind
from bench.systems.pulsar.group_types import EXCLUSIVE, GROUP_TYPES, KEY_SHARED
from bench.systems.pulsar.nodes import BOOKIE, BROKER, FOLDER, MOST_NODES, ROLES, ZOOKEEPER
from bench.systems.pulsar.topics import Quorums

ACKNOWLEDGE = "acknowledge"
DEDUPLICATED = "deduplicated"
ACKNOWLEDGES = (SETTLE_BEFORE, SETTLE_AFTER, DEDUPLICATED)
"""When a processor acknowledges what it has read: bench/systems/pulsar/processor.py."""

_SERVERS_OWN = {
    ZOOKEEPER: frozenset({"clientPort", "clientPortAddress", "dataDir", "dataLogDir"}),
    BOOKIE: frozenset({
        "advertisedAddress",
        "bookieId",
        "bookiePort",
        "httpServerPort",
        "indexDirectories",
        "journalDirectories",
        "journalDirectory",
        "ledgerDirectories",
        "metadataServiceUri",
        "zkServers",
    }),
    BROKER: frozenset({
        "advertisedAddress",
        "advertisedListeners",
        "bindAddress",
        "bindAddresses",
        "bookkeeperMetadataServiceUri",
        "brokerServicePort",
        "clusterName",
        "configurationMetadataStoreUrl",
        "configurationStoreServers",
        "forceDeleteNamespaceAllowed",
        "globalZookeeperServers",
        "metadataStoreUrl",
        "webServicePort",
        "zookeeperServers",
    }),
}  # fmt: skip
"""What the suite must decide itself: addresses, ports, folders, and that a trial's topic can be deleted."""

_INTEGERS = {ZOOKEEPER: ("tickTime", "minSessionTimeout", "maxSessionTimeout")}
"""Of ZooKeeper's properties, which nobody lists the types of, those that are reckoned with here."""

_SESSIONS = ((BROKER, "metadataStoreSessionTimeoutMillis"), (BOOKIE, "zkTimeout"))
_TICK_MS = 2000
_MAX_MESSAGE_BYTES = 5_242_880
_SHIPPED_QUORUM = 2
_READ_BACKOFF_MS = 60_000


def server_properties(role: str) -> Mapping[str, str]:
    """What a node's configuration may hold: types by name."""
    return property_types(FOLDER / f"{role}-properties.txt")


def owner_settings(case: Case) -> Iterator[tuple[str, Settings, Collection[str]]]:
    """Give who has settings in a case, which, and the names that exist."""
    for role, settings in case.cluster.settings.items():
        yield role, settings, server_properties(role) if role in ROLES else ()
    yield "topic", case.topic, {"partitions", *topics.SETTINGS}
    yield "producer", case.producer, arguments.names(ClientKind.PRODUCER)
    yield "consumer", case.consumer, arguments.names(ClientKind.CONSUMER)
    yield PROCESSOR, case.processor, processing.names(ACKNOWLEDGE)
    yield membership.GROUP, case.consumer_group, membership.NAMES


def pause_s(case: Case) -> float:
    """Return the longest pause of a broker that could not read for its consumers before it tries again, in seconds."""
    broker = case.cluster.settings.get(BROKER, {})
    return float(broker.get("dispatcherReadFailureBackoffMaxTimeInMs", _READ_BACKOFF_MS)) / 1000


def check(case: Case) -> list[str]:
    """Say why this case cannot exist, in full sentences; of one whose values are no values, only that."""
    checks = (_nodes, _topic, _quorums, _size, _sessions, _reserved_properties, _client, _processor, _group)
    return [*_values(case)] or [sentence for check_one in checks for sentence in check_one(case)]


def _values(case: Case) -> Iterator[str]:
    for role, settings in case.cluster.settings.items():
        kinds = server_properties(role) if role in ROLES else {}
        yield from wrong_values(role, settings, {**kinds, **dict.fromkeys(_INTEGERS.get(role, ()), "int")})


def _nodes(case: Case) -> Iterator[str]:
    if case.cluster.external:  # it runs, whatever it has
        return
    for role in ROLES:
        count = case.cluster.nodes.get(role, 0)
        if not 1 <= count <= MOST_NODES[role]:
            yield f"A Pulsar cluster needs 1 to {MOST_NODES[role]} nodes of the role {role}, not {count}."
    for role in {*case.cluster.nodes, *case.cluster.heap_mib} - set(ROLES):
        yield f"Pulsar has no role {role}: its roles are {', '.join(ROLES)}."


def _topic(case: Case) -> Iterator[str]:
    if case.partitions < 1:
        yield f"A topic has at least one partition, not {case.partitions}."
    if topics.BUNDLES in case.topic and any("rebalance" in step for step in case.faults):
        yield "A topic with `bundles` can't be rebalanced: only the suite's own bundles hold one partition each."
    if draining.limits_rate(case):
        yield "BookKeeper's recovery of a bookie has no rate that a step could set: leave `rate` out of `drain`."
    bundles = case.topic.get(topics.BUNDLES, 1)
    if not _is_whole(bundles) or int(bundles) < 1:
        yield f"bundles is a whole number from 1 on, not {bundles}."


def _is_whole(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def quorums(case: Case) -> Quorums | None:
    """Return the quorums of a case's topic, its own or the broker's; None where they can't be read."""
    return topics.quorums(case.topic) if topics.QUORUMS in case.topic else _of_broker(case)


def _quorums(case: Case) -> Iterator[str]:
    topic_quorums = quorums(case)
    bookies = case.cluster.nodes.get(BOOKIE, 0) - case.cluster.spare.get(BOOKIE, 0)
    if topic_quorums is None:
        yield f"quorums is E-Qw-Qa, three whole numbers such as 3-3-2, not {case.topic.get(topics.QUORUMS)}."
        return
    if topic_quorums.ack < 1:
        yield f"Quorums {topic_quorums} can't be: the ack quorum is at least 1."
    if topic_quorums.ack > topic_quorums.write:
        yield (
            f"Quorums {topic_quorums} can't be: "
            f"an ack can't wait for {topic_quorums.ack} copies of {topic_quorums.write}."
        )
    if topic_quorums.write > topic_quorums.ensemble:
        yield f"Quorums {topic_quorums} can't be: {topic_quorums.write} copies need an ensemble of as many bookies."
    elsewhere = case.cluster.nodes.get(BOOKIE, 0) - 1
    if draining.drains(case) and topic_quorums.ensemble > elsewhere:
        yield (
            f"Quorums {topic_quorums} need {topic_quorums.ensemble} bookies, "
            f"and a drained one leaves {elsewhere}: add one."
        )
    if topic_quorums.ensemble > bookies and (BOOKIE in case.cluster.nodes or not case.cluster.external):
        yield f"Quorums {topic_quorums} need {topic_quorums.ensemble} bookies, and the cluster has {bookies}."


def _of_broker(case: Case) -> Quorums | None:
    """Return the broker's default quorums; one that is no number at all is for the broker to refuse."""
    broker = case.cluster.settings.get(BROKER, {})
    names = (f"managedLedgerDefault{name}" for name in ("EnsembleSize", "WriteQuorum", "AckQuorum"))
    return Quorums.parse("-".join(str(broker.get(name, _SHIPPED_QUORUM)) for name in names))


def _size(case: Case) -> Iterator[str]:
    limit = int(case.cluster.settings.get(BROKER, {}).get("maxMessageSize", _MAX_MESSAGE_BYTES))
    if case.load.message_bytes > limit and not case.producer.get("chunking_enabled"):
        yield f"Messages of {case.load.message_bytes} bytes exceed the broker's maxMessageSize={limit}."


def _sessions(case: Case) -> Iterator[str]:
    """ZooKeeper grants 2 to 20 ticks, whatever is asked for."""
    if case.cluster.external:  # it grants what it does already
        return
    settings = case.cluster.settings
    tick = int(settings.get(ZOOKEEPER, {}).get("tickTime", _TICK_MS))
    low = int(settings.get(ZOOKEEPER, {}).get("minSessionTimeout", 2 * tick))
    high = int(settings.get(ZOOKEEPER, {}).get("maxSessionTimeout", 20 * tick))
    for role, name in _SESSIONS:
        timeout_ms = settings.get(role, {}).get(name)
        if timeout_ms is not None and not low <= int(timeout_ms) <= high:
            yield (
                f"{name}={timeout_ms} of the {role} would not hold: with tickTime={tick} ZooKeeper grants sessions "
                f"of {low} to {high} ms. Set tickTime, minSessionTimeout or maxSessionTimeout under zookeeper."
            )


def _reserved_properties(case: Case) -> Iterator[str]:
    for role, settings in case.cluster.settings.items():
        for name in sorted(_SERVERS_OWN.get(role, frozenset()) & set(settings)):
            yield f"{name} can't be set for a {role}: the suite gives each node its own."


def _client(case: Case) -> Iterator[str]:
    for side, settings in ((ClientKind.PRODUCER, case.producer), (ClientKind.CONSUMER, case.consumer)):
        for name in sorted(arguments.names(side) & set(settings)):
            if wrong := arguments.why_wrong(side, name, settings[name]):
                yield f"The {side}'s {wrong}"
    if case.producer.get("batching_enabled") and case.producer.get("chunking_enabled"):
        yield "The producer's batching_enabled and chunking_enabled exclude each other."


def _group(case: Case) -> Iterator[str]:
    yield from membership.why_wrong(
        case.consumer_group, GROUP_TYPES, case.load.consumers, case.cluster.spare.get(MEMBER, 0)
    )
    if case.consumer_group.get(membership.TYPE) == EXCLUSIVE and case.load.consumers > 1:
        yield f"An exclusive subscription takes one consumer, not {case.load.consumers}."
    if case.consumer_group.get(membership.TYPE) == KEY_SHARED and not case.load.keys:
        yield f"A {KEY_SHARED} subscription deals keys out: set load.keys to how many keys messages have."
    if case.consumer_group.get(membership.TYPE) == KEY_SHARED and _batches_mix_keys(case.producer):
        yield f"A {KEY_SHARED} subscription takes batches of one key: set batching_type to KeyBased or leave it out."
    if case.load.keys and ROUTER in case.producer:
        yield f"With load.keys the key decides the partition: leave the producer's {ROUTER} out."


def _batches_mix_keys(producer: Settings) -> bool:
    return bool(producer.get("batching_enabled")) and producer.get("batching_type", "KeyBased") != "KeyBased"


def _processor(case: Case) -> Iterator[str]:
    yield from processing.why_wrong(case.processor, ACKNOWLEDGE, ACKNOWLEDGES)
    drops = case.topic.get(
        "deduplicationEnabled", case.cluster.settings.get(BROKER, {}).get("brokerDeduplicationEnabled")
    )
    if case.processor.get(ACKNOWLEDGE) == DEDUPLICATED and not drops:
        yield "A processor with acknowledge=deduplicated needs deduplicationEnabled=true of its topic."
