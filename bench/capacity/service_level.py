"""What a rate must meet to count as sustained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.model import NANOS

LATE_SHARE = 0.01
"""A p99 is at most T exactly where at most this share of the messages took longer than T."""


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """The limits that a hold must keep.

    Times are in ns. `least_sent_share` is the least share of the due messages that must be sent. `most_failed` is the
    most messages that may fail. `most_backlog_growth` is the most that any backlog may grow by in a second, as a share
    of the messages that are due in a second: 0.01 is 1 %. It is also the largest share of copies that a storage node
    may write late.
    """

    response_p99_ns: int = 50_000_000
    end_to_end_p99_ns: int = 100_000_000
    least_sent_share: float = 1.0
    most_failed: int = 0
    most_backlog_growth: float = 0.01


def service_level(capacity: Mapping[str, Any]) -> ServiceLevel:
    """Return the level that a case asks for (Case.capacity)."""
    return ServiceLevel(
        response_p99_ns=round(float(capacity["response_p99_s"]) * NANOS),
        end_to_end_p99_ns=round(float(capacity["end_to_end_p99_s"]) * NANOS),
    )
