"""Published rules for the size of a cluster, beside which measured costs are put; none states an error.

Kafka. AWS counts what brokers write to disk and what they send ("Best practices for right-sizing your Apache Kafka
clusters to optimize performance and cost", AWS Big Data Blog, equation 1). Google Cloud counts 20 MB/s of writes a
core; a byte that is read counts there as a quarter of one that is written ("Plan the size of your Managed Service for
Apache Kafka cluster"). Redpanda counts what the links of its own brokers carry each way: producers and replication in,
replication and consumers out ("Sizing Use Cases"). Alibaba Cloud, which runs Confluent's platform, counts every byte
that a broker takes in or sends against 400 MB/s, and asks for four brokers at least ("Estimate cluster resources for
ApsaraMQ for Confluent"). Confluent itself states a number of partitions only (J. Rao, "How to Choose the Number of
Topics/Partitions in a Kafka Cluster?").

Pulsar. StreamNative gives a compute unit of its cloud 50 MB/s in and 150 MB/s out, a MB being 2^20 bytes
("StreamNative Cloud Billing"); its limits on entries and its storage units are left out. DataStax counts what bookies
store, and a broker for every three bookies ("Production cluster sizing", Luna Streaming).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.sizing.cluster import NodeType, Requirement

_MB_S_A_CORE, _READ_OVER_WRITE = 20e6, 4
_ALIBABA_BROKER, _ALIBABA_FEWEST = 400e6, 4
_UNIT_IN, _UNIT_OUT = 50 * 2**20, 150 * 2**20
_BOOKIES_A_BROKER = 3


@dataclass(frozen=True, slots=True)
class RuleSize:
    """What a rule asks for, such as 4 brokers; `counts` names what it counts."""

    rule: str
    counts: str
    number: int
    unit: str = "broker"


@dataclass(frozen=True, slots=True)
class _Flow:
    """Bytes a second at the peak: from producers, into all copies, to followers, to consumers."""

    taken_in: float
    written: float
    followers: float
    read: float


def _flow(requirement: Requirement) -> _Flow:
    peak = requirement.peak
    taken_in = peak.messages_per_s * peak.message_bytes
    return _Flow(taken_in, taken_in * peak.copies, taken_in * (peak.copies - 1), taken_in * peak.groups)


def published_for_kafka(requirement: Requirement, node: NodeType) -> list[RuleSize]:
    """Return how many brokers of a type each rule for Kafka, or for a server of its protocol, asks for.

    At the same peak, utilisation, copies and failed nodes as `size` takes, so that only what a byte costs differs.
    """
    flow, share = _flow(requirement), requirement.utilisation
    sent = flow.read + flow.followers
    cores = math.ceil((flow.written + sent / _READ_OVER_WRITE) / _MB_S_A_CORE / share)
    rules = (
        (
            *("AWS, for MSK", "bytes written to disk, bytes sent"),
            max(flow.written / node.disk_write, sent / node.network) / share,
        ),
        ("Google Cloud, for its managed Kafka", "bytes written and read a core", cores / node.cores),
        (
            *("Redpanda, for its own brokers", "bytes each way of the links"),
            max(flow.written, sent) / node.network / share,
        ),
        (
            *("Alibaba Cloud, for Confluent's platform", "bytes taken in and sent"),
            max((flow.written + sent) / _ALIBABA_BROKER / share, _ALIBABA_FEWEST),
        ),
    )
    return [RuleSize(rule, counts, _with_spare(working, requirement)) for rule, counts, working in rules]


def published_for_pulsar(requirement: Requirement, bookie: NodeType) -> list[RuleSize]:
    """Return what each rule for Pulsar asks for: compute units, or brokers and bookies of a type.

    At the same peak, utilisation, filled disks, copies and failed nodes as `size` takes. A compute unit is no node, so
    none is added for those that may fail.
    """
    flow, share = _flow(requirement), requirement.utilisation
    units = math.ceil(max(flow.taken_in / _UNIT_IN, flow.read / _UNIT_OUT) / share)
    stored = math.ceil(requirement.stored_bytes / (bookie.disk * requirement.disk_filled))
    brokers = math.ceil(max(stored, 1) / _BOOKIES_A_BROKER) + requirement.node_failures
    rule, counts = "DataStax, for Luna Streaming", "bytes stored; a broker for three bookies"
    return [
        RuleSize("StreamNative, for its cloud", "bytes in and out", units, "compute unit"),
        RuleSize(rule, counts, brokers),
        RuleSize(rule, counts, _with_spare(stored, requirement), "bookie"),
    ]


def partitions(requirement: Requirement, rates: Sequence[float]) -> int:
    """Return how many partitions Confluent's rule asks for: t / p or t / c, whichever is more.

    `rates` are p and c: bytes a second that one partition takes in, and hands to a consumer.
    """
    return max(1, math.ceil(_flow(requirement).taken_in / min(rates)))


def _with_spare(working: float, requirement: Requirement) -> int:
    """Return how many nodes there are with those that may be gone, and as many working as copies."""
    return max(math.ceil(working), requirement.mean.copies) + requirement.node_failures
