"""A node that keeps messages is emptied while the cluster works: what a step of that kind gives and needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bench.model import Case

DRAIN = "drain"
"""The key of such a step: a node's name, or a mapping with `node` and `rate`."""


class DrainResult(NamedTuple):
    """When a node held nothing any more, by the monotonic clock, and the `evidence` of it, in full sentences."""

    done_ns: int
    evidence: str


def drains(case: Case) -> bool:
    """Whether a step of a case drains a node."""
    return any(DRAIN in step for step in case.faults)


def limits_rate(case: Case) -> bool:
    """Whether a step of a case limits how fast a node is drained."""
    return any(isinstance(step.get(DRAIN), Mapping) and "rate" in step[DRAIN] for step in case.faults)
