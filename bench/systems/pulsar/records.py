"""A message of the C++ client as the suite records it."""

from __future__ import annotations

from typing import Any

from bench.systems.protocols import ReceivedMessage

_new = tuple.__new__  # a named tuple's own constructor takes twice as long


def convert_message(message: Any, now: int) -> ReceivedMessage:  # noqa: ANN401 - pulsar has no types
    """Return content and position of a message that was handed over `now`."""
    return _new(ReceivedMessage, (message.data(), now, *position(message.message_id())))


def position(message_id: Any) -> tuple[int, int, int, int]:  # noqa: ANN401 - pulsar has no types
    """Return partition, ledger, entry and batch index; -1 (NOT_GIVEN) is the client's own word for none."""
    return message_id.partition(), message_id.ledger_id(), message_id.entry_id(), message_id.batch_index()
