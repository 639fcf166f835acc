"""Faults of single messages: pure functions, so that a test can count beforehand."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, fields
from enum import StrEnum

from bench.model import Settings

_MASK = (1 << 64) - 1
_FAULT_STREAM = 0x6661756C74
_DELAY_STREAM = 0x64656C6179

# Where bench.load.payload, which this room must not import, puts producer and sequence; a test compares.
_IDENTITY = struct.Struct("<12xiq")


class MessageFault(StrEnum):
    """What happens to a message; the values are the names of the settings that make it happen."""

    NONE = "none"
    LOSS = "loss"
    DUPLICATE = "duplicates"
    SWAP = "swaps"
    GHOST_FAIL = "ghost_fails"
    GHOST_UNKNOWN = "ghost_unknowns"
    UNKNOWN_ABSENT = "unknown_absent"
    FAIL = "fails"


@dataclass(frozen=True, slots=True)
class Faults:
    """The producer settings of the memory system: shares (0 to 1) of messages, at most one fault a message.

    `loss`: acked, not stored. `duplicates`: stored twice. `swaps`: stored after the next message that the same
    producer stores in the same partition. It is stored at once if one waits already, at close if none follows; its
    ack has no position. `ghost_fails`, `ghost_unknowns`: outcome fail / unknown, but stored. `unknown_absent`,
    `fails`: outcome unknown / fail, not stored. `delay_ms`: mean of an exponential service time.
    """

    seed: int = 0
    loss: float = 0.0
    duplicates: float = 0.0
    swaps: float = 0.0
    ghost_fails: float = 0.0
    ghost_unknowns: float = 0.0
    unknown_absent: float = 0.0
    fails: float = 0.0
    delay_ms: float = 0.0

    @classmethod
    def of(cls, producer: Settings) -> Faults:
        """Read them from producer settings; what is not a setting of this system is ignored."""
        return cls(**{name: value for name, value in producer.items() if name in NAMES})  # type: ignore[arg-type]

    def share(self, fault: MessageFault) -> float:
        """Return the share of messages that this fault hits."""
        share: float = getattr(self, fault.value)
        return share


NAMES = tuple(field.name for field in fields(Faults))
SHARES = tuple(fault for fault in MessageFault if fault is not MessageFault.NONE)


def identity(payload: bytes) -> tuple[int, int] | None:
    """Read (producer, sequence) from a message's header; None where there is none."""
    return _IDENTITY.unpack_from(payload) if len(payload) >= _IDENTITY.size else None


def fault_of(faults: Faults, producer: int, sequence: int) -> MessageFault:
    """Say what happens to this message."""
    draw = _uniform(faults.seed, _FAULT_STREAM, producer, sequence)
    for fault in SHARES:
        draw -= faults.share(fault)
        if draw < 0:
            return fault
    return MessageFault.NONE


def delay_ns_of(faults: Faults, producer: int, sequence: int) -> int:
    """Say how long this message's ack takes: exponential with mean `delay_ms`."""
    if not faults.delay_ms:
        return 0
    draw = _uniform(faults.seed, _DELAY_STREAM, producer, sequence)
    return round(-math.log1p(-draw) * faults.delay_ms * 1e6)


def _uniform(seed: int, stream: int, producer: int, sequence: int) -> float:
    """Return a number in [0, 1), from splitmix64 over the four."""
    state = 0
    for part in (seed, stream, producer, sequence):
        state = _mix(state ^ (part & _MASK))
    return (state >> 11) / (1 << 53)


def _mix(state: int) -> int:
    state = (state + 0x9E3779B97F4A7C15) & _MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)
