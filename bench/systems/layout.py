"""Who serves and keeps a partition, as `Admin.layout` tells it and trial.json keeps it (`history`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a partition's log: `spans` has, by the first entry, the nodes that keep copies from there on."""

    number: int
    spans: Sequence[tuple[int, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """Who leads or owns a partition (None: nobody), and where its copies are.

    Of a log that each node keeps whole, `in_sync` are the nodes whose replicas are in sync. Of one that is kept in
    `segments`, each lies on nodes of its own. The other of the two is None.
    """

    partition: int
    server: str | None
    in_sync: Sequence[str] | None = None
    segments: Sequence[Segment] | None = None
    epoch: int | None = None
    high_watermark: int | None = None


def partition_layout(record: Mapping[str, Any]) -> PartitionLayout:
    """Read one partition of an entry of `history` (docs/event-log.md)."""
    return PartitionLayout(
        partition=int(record["partition"]),
        server=record.get("leader", record.get("owner")),
        in_sync=record.get("in_sync"),
        segments=[
            Segment(ledger["ledger"], [(first, nodes) for first, nodes in ledger["segments"]])
            for ledger in record["ledgers"]
        ]
        if "ledgers" in record
        else None,
        epoch=record.get("epoch"),
        high_watermark=record.get("high_watermark"),
    )
