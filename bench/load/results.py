"""What load processes say came of the runner's commands (commands.py), as typed values."""

from __future__ import annotations

from typing import Any

from bench.records.record import Record
from bench.records.trial import ClientRecord, SpanRecord, Window


class SendCounts(Record):
    """How many sends were made and how they ended; `never_told`: those whose end the client never reported."""

    sent: int
    acked: int
    failed: int
    unknown: int
    never_told: int


class LoadResult(SendCounts):
    """What came of a trial's whole load (commands.Produce); of one in slices, of all of them.

    `producer` has the client's effective settings. `due_unsent` are sends that were due within the load and never made.
    `stalled`: users still waited for acknowledgements when the grace was over.
    """

    window: Window | None
    client: ClientRecord
    producer: dict[str, Any]
    due_unsent: int
    stalled: bool


class SliceResult(Record):
    """What came of one slice (commands.RunSlice); `acked_before` counts what earlier ones had acknowledged."""

    slice: SpanRecord
    acked: int
    acked_before: int
    client: ClientRecord
    due_unsent: int
    stalled: bool


class ReadResult(Record):
    """What came of a read of the whole topic (commands.Verify)."""

    received: int
    complete: bool
    reason: str | None
