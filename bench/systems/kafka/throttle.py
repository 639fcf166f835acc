"""How fast brokers may copy replicas that move: read back while it is set, and after it was lifted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource, ConfigSource

from bench.errors import ClusterError

_OF_BROKERS = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_OF_TOPICS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_SET = {ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG}
_SEEN_S = 10.0
_TURN_S = 0.1


def confirm_limit(client: AdminClient, places: Iterable[tuple[str, int]], bytes_per_s: int) -> str:
    """Say that every broker has the rate, and every topic with replicas on their way the list of those it is for.

    Raises ClusterError with what was read back where that is not so within seconds.
    """
    brokers, topics = _resources(client, places)
    rate = str(bytes_per_s)
    _until(client, brokers, _OF_BROKERS, lambda values: set(values) == {rate})
    _until(client, topics, _OF_TOPICS, any)
    return (
        f"Read back from {len(brokers)} brokers: {' and '.join(_OF_BROKERS)} were {bytes_per_s:,} meanwhile."
    )


def confirm_lifted(client: AdminClient, places: Iterable[tuple[str, int]]) -> str:
    """Say that no broker and no topic with moved replicas has any of it left. Raises ClusterError where one has."""
    brokers, topics = _resources(client, places)
    _until(client, brokers, _OF_BROKERS, lambda values: not any(values))
    _until(client, topics, _OF_TOPICS, lambda values: not any(values))
    return "Read back after it: neither brokers nor topics have any throttle left."


def _resources(
    client: AdminClient, places: Iterable[tuple[str, int]]
) -> tuple[list[ConfigResource], list[ConfigResource]]:
    kinds = ConfigResource.Type
    brokers = sorted(client.list_topics(timeout=_SEEN_S).brokers)
    topics = sorted({name for name, _ in places})
    return (
        [ConfigResource(kinds.BROKER, str(broker)) for broker in brokers],
        [ConfigResource(kinds.TOPIC, topic) for topic in topics],
    )


def _until(
    client: AdminClient,
    resources: Sequence[ConfigResource],
    names: Sequence[str],
    is_so: Callable[[Sequence[str | None]], bool],
) -> None:
    """Return once something is so of these settings of each resource. Raises ClusterError with those of the last."""
    deadline = time.monotonic() + _SEEN_S
    for resource in resources:
        while not is_so(values := _values(client, resource, names)):
            if time.monotonic() > deadline:
                read = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
                raise ClusterError(f"Reading the throttle of {resource.name} back: it has {read}.")
            time.sleep(_TURN_S)


def _values(client: AdminClient, resource: ConfigResource, names: Sequence[str]) -> list[str | None]:
    """Return what was set of a resource, None for what was not."""
    try:
        entries = client.describe_configs([resource], request_timeout=_SEEN_S)[resource].result()
    except KafkaException as error:
        raise ClusterError(f"Reading the throttle of {resource.name} back: {error.args[0].str()}.") from error
    values_by_name = {
        name: entry.value for name, entry in entries.items() if ConfigSource(entry.source) in _SET
    }
    return [values_by_name.get(name) for name in names]
