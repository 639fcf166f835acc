"""A message of the C++ client as the suite records it."""

from __future__ import annotations

from typing import Any

from bench.systems.protocols import Received


def received(message: Any, now: int) -> Received:  # noqa: ANN401 - pulsar has no types
    """Return content and position of a message that was handed over `now`."""
    where = message.message_id()
    return Received(
        message.data(), now, where.partition(), where.ledger_id(), where.entry_id(), where.batch_index()
    )
