"""What published sizing rules have in common; each system's own are in its folder of bench/systems.

None states an error. Confluent's rule for the number of partitions (J. Rao, "How to Choose the Number of
Topics/Partitions in a Kafka Cluster?") counts nothing that is a system's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.sizing.requirement import Requirement


@dataclass(frozen=True, slots=True)
class RuleSize:
    """What a rule asks for, such as 4 brokers (`unit`); `counts` names what it counts."""

    rule: str
    counts: str
    number: int
    unit: str


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes a second at the peak: from producers, into all copies, to followers, to consumers."""

    taken_in: float
    written: float
    followers: float
    read: float


def flow(requirement: Requirement) -> Flow:
    """Return the bytes a second of a requirement's peak."""
    peak = requirement.peak
    taken_in = peak.messages_per_s * peak.message_bytes
    return Flow(taken_in, taken_in * peak.copies, taken_in * (peak.copies - 1), taken_in * peak.groups)


def with_spare(working: float, requirement: Requirement) -> int:
    """Return how many nodes there are with those that may be gone, and as many working as copies."""
    return max(math.ceil(working), requirement.mean.copies) + requirement.node_failures


def partitions(requirement: Requirement, rates: Sequence[float]) -> int:
    """Return how many partitions Confluent's rule asks for: t / p or t / c, whichever is more.

    `rates` are p and c: bytes a second that one partition takes in, and hands to a consumer.
    """
    return max(1, math.ceil(flow(requirement).taken_in / min(rates)))
