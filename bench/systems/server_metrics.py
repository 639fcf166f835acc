"""Metrics of servers, under names that all systems share (docs/event-log.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

COUNTERS = (
    "bytes_in",
    "bytes_out",
    "requests",
    "request_s",
    "flushes",
    "flush_s",
    "isr_changes",
    "gc_s",
)
"""What only grows while a server lives: bytes of entries taken and given, requests to append and the time that they
took, fsyncs and the time that they took, changes of a set of replicas in sync, time in garbage collection."""

GAUGES = ("under_replicated", "heap_bytes")
"""Levels: what lacks a copy, as this server knows it (a Kafka broker: of the partitions that it leads; every bookie: of
all ledgers); heap in use."""


@dataclass(frozen=True, slots=True)
class Series:
    """A series of a server's own figures; of several with these `labels` the sum counts.

    Its value times `scale` is in the unit of the common name. `times` is a series to multiply it with: a mean times its
    count is a sum, of which two scrapes give the difference.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    scale: float = 1.0
    times: str | None = None


@dataclass(frozen=True, slots=True)
class Scrape:
    """Where a server shows its figures, and which series make up each common name.

    They are in Prometheus' text format; with `json` the top level of an object, without labels.

    `listed` has, for common names that are in no series, the address of a list in JSON whose length counts; not found
    is an empty one.
    """

    url: str
    series: Mapping[str, tuple[Series, ...]]
    listed: Mapping[str, str] = field(default_factory=dict)
    json: bool = False
