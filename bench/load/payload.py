"""What every message carries: a header that makes it countable, then filler that does not compress.

Header, little-endian, 32 bytes: magic (4 bytes), hash of the run's id (uint32), trial (uint32), producer
(int32), sequence (int64), sent_ns (int64). The rest is filler.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.errors import LoadError

MAGIC = b"BNCH"

_HEADER = struct.Struct("<4sIIiqq")
_FIELDS = struct.Struct("<12siqq")  # the same bytes; what is constant within a trial is one field

HEADER_BYTES = _HEADER.size
HEADER_DTYPE = np.dtype(
    [
        ("magic", "S4"),
        ("run", "<u4"),
        ("trial", "<u4"),
        ("producer", "<i4"),
        ("sequence", "<i8"),
        ("sent_ns", "<i8"),
    ]
)

# Filler comes from a pool, so that no two messages of one batch share it: a batch of equal fillers would
# compress to almost nothing and flatter every setting that compresses.
_POOL_BYTES = 1 << 20
_POOL_MESSAGES = 1024

Encode: TypeAlias = Callable[[int, int, int], bytes]
"""(producer, sequence, sent_ns) -> a whole message."""


class Header(NamedTuple):
    """A message's header, decoded."""

    run: int
    trial: int
    producer: int
    sequence: int
    sent_ns: int


def run_hash(run: str) -> int:
    """Return the 32 bits that stand for a run's id in a message."""
    return zlib.crc32(run.encode())


def encoder(run: str, trial: int, message_bytes: int, seed: int) -> Encode:
    """Return a function that makes one trial's messages, in about 0.2 us each.

    Raises LoadError when `message_bytes` cannot hold the header.
    """
    if message_bytes < HEADER_BYTES:
        raise LoadError(
            f"Messages of {message_bytes} bytes cannot be counted: their header has {HEADER_BYTES} bytes. "
            f"Set message_bytes to {HEADER_BYTES} or more."
        )
    pack = _FIELDS.pack
    constant = struct.pack("<4sII", MAGIC, run_hash(run), trial)
    filler = cycle(_fillers(message_bytes - HEADER_BYTES, seed)).__next__

    def encode(producer: int, sequence: int, sent_ns: int) -> bytes:
        return pack(constant, producer, sequence, sent_ns) + filler()

    return encode


def _fillers(size: int, seed: int) -> list[bytes]:
    count = max(2, min(_POOL_MESSAGES, _POOL_BYTES // max(size, 1)))
    generator = random.Random(seed)
    return [generator.randbytes(size) for _ in range(count)]


def decode(payload: bytes) -> Header:
    """Read one message's header. Raises LoadError when it has none."""
    if len(payload) < HEADER_BYTES or payload[:4] != MAGIC:
        raise LoadError(
            f"A message of {len(payload)} bytes begins with {payload[:4]!r}: it has no header of ours."
        )
    return Header(*_HEADER.unpack_from(payload)[1:])


def join_headers(payloads: Sequence[bytes]) -> bytes:
    """Cut the headers off a batch, for `split_headers`; a message too short for one gives zeros."""
    heads = [payload[:HEADER_BYTES] for payload in payloads]
    joined = b"".join(heads)
    if len(joined) != HEADER_BYTES * len(heads):
        joined = b"".join(head.ljust(HEADER_BYTES, b"\0") for head in heads)
    return joined


def split_headers(joined: bytes) -> NDArray[Any]:
    """Read the headers of a batch into one array of HEADER_DTYPE, without copying."""
    return np.frombuffer(joined, dtype=HEADER_DTYPE)


def of_trial(headers: NDArray[Any], run: int, trial: int) -> NDArray[np.bool_]:
    """Tell which of these headers belong to this trial of this run."""
    is_own: NDArray[np.bool_] = (
        (headers["magic"] == MAGIC) & (headers["run"] == run) & (headers["trial"] == trial)
    )
    return is_own
