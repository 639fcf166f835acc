"""Published rules for the size of a Kafka cluster; none states an error.

AWS counts what brokers write to disk and what they send ("Best practices for right-sizing your Apache Kafka
clusters to optimize performance and cost", AWS Big Data Blog, equation 1). Google Cloud counts 20 MB/s of writes a
core ("Plan the size of your Managed Service for Apache Kafka cluster"). A byte that is read counts there as a
quarter of one that is written. Redpanda counts what the links of its own brokers carry each way: producers and
replication in, replication and consumers out ("Sizing Use Cases"). Alibaba Cloud, which runs Confluent's platform,
counts every byte that a broker takes in or sends against 400 MB/s. It asks for four brokers at least ("Estimate
cluster resources for ApsaraMQ for Confluent").
"""

from __future__ import annotations

import math

from bench.sizing.published_rules import RuleSize, flow, with_spare
from bench.sizing.requirement import NodeType, Requirement
from bench.systems.kafka.nodes import BROKER

_MB_S_A_CORE, _READ_OVER_WRITE = 20e6, 4
_ALIBABA_BROKER, _ALIBABA_FEWEST = 400e6, 4


def published_rules(requirement: Requirement, node: NodeType) -> list[RuleSize]:
    """Return how many brokers of a type each rule for Kafka, or for a server of its protocol, asks for.

    At the same peak, utilisation, copies and failed nodes as `size` takes, so that only what a byte costs differs.
    """
    bytes_, share = flow(requirement), requirement.utilisation
    sent = bytes_.read + bytes_.followers
    cores = math.ceil((bytes_.written + sent / _READ_OVER_WRITE) / _MB_S_A_CORE / share)
    rules = (
        (
            *("AWS, for MSK", "bytes written to disk, bytes sent"),
            max(bytes_.written / node.disk_write, sent / node.network) / share,
        ),
        ("Google Cloud, for its managed Kafka", "bytes written and read a core", cores / node.cores),
        (
            *("Redpanda, for its own brokers", "bytes each way of the links"),
            max(bytes_.written, sent) / node.network / share,
        ),
        (
            *("Alibaba Cloud, for Confluent's platform", "bytes taken in and sent"),
            max((bytes_.written + sent) / _ALIBABA_BROKER / share, _ALIBABA_FEWEST),
        ),
    )
    return [
        RuleSize(rule, counts, with_spare(working, requirement), BROKER) for rule, counts, working in rules
    ]
