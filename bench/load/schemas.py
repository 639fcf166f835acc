"""The event log's tables (docs/event-log.md): fixed records in memory, Arrow columns on disk."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.model import Outcome
from bench.systems.protocols import NOT_GIVEN

SENDS = pa.schema(
    [
        pa.field("producer", pa.int32(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("due_ns", pa.int64(), nullable=False),
        pa.field("sent_ns", pa.int64(), nullable=False),
        pa.field("done_ns", pa.int64()),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("error", pa.string()),
        pa.field("bytes", pa.int32(), nullable=False),
        pa.field("ledger", pa.int64()),
        pa.field("entry", pa.int64()),
        pa.field("batch_index", pa.int32()),
        pa.field("slice", pa.int32(), nullable=False),
    ]
)

RECEIVES = pa.schema(
    [
        pa.field("consumer", pa.int32(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("producer", pa.int32(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("sent_ns", pa.int64(), nullable=False),
        pa.field("received_ns", pa.int64(), nullable=False),
        pa.field("ledger", pa.int64()),
        pa.field("entry", pa.int64()),
        pa.field("batch_index", pa.int32()),
    ]
)

SEND_RECORD = "<iiiiqqqqqqii"
"""struct format of a send in memory, field by field as in SEND_DTYPE."""

SEND_DTYPE = np.dtype(
    {
        "names": [
            *("producer", "partition", "outcome", "error", "sequence", "due_ns", "sent_ns", "done_ns"),
            *("ledger", "entry", "batch_index", "slice"),
        ],
        "formats": ["<i4"] * 4 + ["<i8"] * 6 + ["<i4"] * 2,
        "offsets": [0, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 68],
        "itemsize": 72,
    }
)

NO_ERROR = -1
"""Stands for a null in `error`, which otherwise is an index into a list of names."""


def send_table(rows: NDArray[Any], errors: list[str], message_bytes: int) -> pa.Table:
    """Turn records of SEND_DTYPE into a table of SENDS; `errors` are the names behind the error codes."""
    columns = {
        name: _plain(rows[name])
        for name in ("producer", "sequence", "partition", "due_ns", "sent_ns", "slice")
    }
    columns |= {name: _nullable(rows[name]) for name in ("done_ns", "ledger", "entry", "batch_index")}
    columns["outcome"] = _outcomes().take(_plain(rows["outcome"]))
    columns["error"] = pa.array(errors, pa.string()).take(_nullable(rows["error"], null=NO_ERROR))
    columns["bytes"] = pa.array(np.full(len(rows), message_bytes, np.int32))
    return pa.table([columns[name] for name in SENDS.names], schema=SENDS)


def receive_table(columns: dict[str, NDArray[Any]], consumer: int, stage: str) -> pa.Table:
    """Turn numpy columns into a table of RECEIVES; the missing ones, consumer and stage, are constant."""
    count = len(columns["sequence"])
    arrays = {
        name: _nullable(column) if RECEIVES.field(name).nullable else _plain(column)
        for name, column in columns.items()
    }
    arrays["consumer"] = pa.array(np.full(count, consumer, np.int32))
    arrays["stage"] = pa.array([stage]).take(pa.array(np.zeros(count, np.int8)))
    return pa.table([arrays[name] for name in RECEIVES.names], schema=RECEIVES)


@cache
def _outcomes() -> pa.Array:
    return pa.array([outcome.label for outcome in Outcome])


def _plain(column: NDArray[Any]) -> pa.Array:
    return pa.array(np.ascontiguousarray(column))


def _nullable(column: NDArray[Any], null: int = NOT_GIVEN) -> pa.Array:
    return pa.array(np.ascontiguousarray(column), mask=column == null)
