"""<trial>/telemetry/samples.parquet (docs/event-log.md): a row a figure a sample."""

from __future__ import annotations

import pyarrow as pa

from bench.systems import server_metrics
from bench.telemetry import host

MACHINE = "machine"
PRODUCERS = "producers"
CONSUMERS = "consumers"
CLIENT = "client"
SUITE = "suite"
"""What the suite itself does beside the load: the runner, whoever holds packets, readers of steps."""
FAILED = "scrape_failed"
"""Counts the scrapes of a server that brought nothing."""
SCRAPED = "scraped_bytes"
"""What scrapes have had from a server: it is among the bytes that the server sent."""

SAMPLES = pa.schema(
    [
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("node", pa.string(), nullable=False),
        pa.field("role", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("counter", pa.bool_(), nullable=False),
        pa.field("slice", pa.int32(), nullable=False),
    ]
)

COUNTERS = frozenset({*host.COUNTERS, *server_metrics.COUNTERS, SCRAPED})
"""Figures that only grow while a process lives; the difference of two samples is what happened between them."""
