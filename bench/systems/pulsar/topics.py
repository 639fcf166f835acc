"""A topic's place and promises: its namespace, its bundles, its quorums and the namespace's policies."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from bench.model import Settings, Topic
from bench.systems.pulsar.metadata import TENANT

QUORUMS = "quorums"
BUNDLES = "bundles"
TTL = "message_ttl_in_seconds"
POLICIES = ("deduplicationEnabled", TTL)
"""Namespace policies that a topic may set, by their REST name."""
SETTINGS = frozenset({QUORUMS, BUNDLES, *POLICIES})

_HIGHEST_HASH = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Quorums:
    """Over how many bookies a ledger is striped, how many copies an entry gets, how many an ack waits for."""

    ensemble: int
    write: int
    ack: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read E-Qw-Qa, such as 3-3-2; None where it isn't that."""
        sizes = re.fullmatch(r"(\d+)-(\d+)-(\d+)", text)
        return cls(*map(int, sizes.groups())) if sizes else None

    def __str__(self) -> str:
        return f"{self.ensemble}-{self.write}-{self.ack}"


def quorums(settings: Settings) -> Quorums | None:
    """Return the topic's own quorums; None where it leaves them to the broker, or names none (settings.check)."""
    return Quorums.parse(str(settings[QUORUMS])) if QUORUMS in settings else None


def namespace(topic: Topic) -> str:
    """Return the topic's namespace, which it has for itself: quorums are a policy of namespaces."""
    return f"{topic.tenant or TENANT}/{topic.name}"


def rest_path(topic: Topic) -> str:
    """Return the topic as the REST interface writes it."""
    return f"persistent/{namespace(topic)}/{topic.name}"


def partition_path(topic: Topic, partition: int) -> str:
    """Return one partition as the REST interface writes it."""
    return f"{rest_path(topic)}-partition-{partition}"


def full_name(topic: Topic) -> str:
    """Return the topic as clients write it."""
    return f"persistent://{namespace(topic)}/{topic.name}"


def partition_name(topic: Topic, partition: int) -> str:
    """Return one partition as clients write it: to Pulsar it is a topic of its own."""
    return f"{full_name(topic)}-partition-{partition}"


def policies(topic: Topic) -> dict[str, object]:
    """Return what creates the namespace: everything is in force before the topic's first ledger."""
    body: dict[str, object] = {name: topic.settings[name] for name in POLICIES if name in topic.settings}
    body["bundles"] = bundles(topic)
    if topic_quorums := quorums(topic.settings):
        body["persistence"] = {
            "bookkeeperEnsemble": topic_quorums.ensemble,
            "bookkeeperWriteQuorum": topic_quorums.write,
            "bookkeeperAckQuorum": topic_quorums.ack,
            "managedLedgerMaxMarkDeleteRate": 1.0,  # as managedLedgerDefaultMarkDeleteRateLimit is shipped
        }
    return body


def has_own_bundles(topic: Topic) -> bool:
    """Whether each partition gets a bundle of its own, because the scenario says nothing about bundles."""
    return BUNDLES not in topic.settings


def bundles(topic: Topic) -> dict[str, object]:
    """Return the namespace's bundles, as REST wants them."""
    if not has_own_bundles(topic):
        return {"numBundles": int(topic.settings[BUNDLES])}
    boundaries = own_boundaries([partition_name(topic, number) for number in range(topic.partitions)])
    return {"boundaries": [f"0x{bound:08x}" for bound in boundaries], "numBundles": len(boundaries) - 1}


def own_boundaries(names: list[str]) -> list[int]:
    """Cut the range of hashes so that each name falls into a bundle of its own.

    Brokers own bundles, and a topic falls into the bundle that holds the CRC-32 of its name. In a few bundles
    of equal width, as shipped, one broker may own most partitions, by chance of their names.
    """
    hashes = sorted({_hash(name) for name in names})
    between = [(low + high + 1) // 2 for low, high in pairwise(hashes)]
    return [0, *between, _HIGHEST_HASH]


def bundle_of(topic: Topic, partition: int) -> str:
    """Return the own bundle of a partition, as REST writes it."""
    bounds = own_boundaries([partition_name(topic, number) for number in range(topic.partitions)])
    place = min(bisect_right(bounds, _hash(partition_name(topic, partition))), len(bounds) - 1)
    return f"0x{bounds[place - 1]:08x}_0x{bounds[place]:08x}"


def falls_into(topic: Topic, partition: int, bundle: str) -> bool:
    """Whether a partition falls into a bundle, written as REST and ZooKeeper write it: 0x00000000_0x40000000."""
    low, high = (int(bound, 16) for bound in bundle.split("_"))
    spot = _hash(partition_name(topic, partition))
    return low <= spot < high or high == spot == _HIGHEST_HASH


def _hash(name: str) -> int:
    return zlib.crc32(name.encode())
