"""Published rules for the size of a Kafka cluster, beside which measured costs are put. For Pulsar none is known.

AWS counts what brokers write to disk and what they send ("Best practices for right-sizing your Apache Kafka clusters to
optimize performance and cost", AWS Big Data Blog, equation 1). Google Cloud counts 20 MB/s of writes a core. A byte
that is read counts there as a quarter of one that is written ("Plan the size of your Managed Service for Apache Kafka
cluster").
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.sizing.cluster import NodeType, Requirement

_MB_S_A_CORE, _READ_OVER_WRITE = 20e6, 4


@dataclass(frozen=True, slots=True)
class RuleSize:
    """How many brokers a rule asks for; `counts` names what it counts."""

    rule: str
    counts: str
    nodes: int


def published(requirement: Requirement, node: NodeType) -> list[RuleSize]:
    """Return how many brokers of a type each rule asks for.

    At the same peak, utilisation, copies and failed nodes as `size` takes, so that only what a byte costs differs.
    """
    peak = requirement.peak
    into = peak.messages_per_s * peak.message_bytes
    written, followers, read = into * peak.copies, into * (peak.copies - 1), into * peak.groups
    storage = written / (node.disk_write * requirement.utilisation)
    network = (read + followers) / (node.network * requirement.utilisation)
    cores = math.ceil(
        (written + (read + followers) / _READ_OVER_WRITE) / _MB_S_A_CORE / requirement.utilisation
    )
    rules = (
        ("AWS, for MSK", "bytes written to disk, bytes sent", max(storage, network)),
        ("Google Cloud, for its managed Kafka", "bytes written and read a core", cores / node.cores),
    )
    return [
        RuleSize(rule, counts, max(math.ceil(working), peak.copies) + requirement.node_failures)
        for rule, counts, working in rules
    ]
