"""The step that empties a node, as a scenario asks for it."""

from __future__ import annotations

from bench.scenario.values import DiskRate, StrictModel


class Drain(StrictModel):
    """An operator lets other nodes keep all that a node keeps: its name, or a mapping with these keys."""

    node: str
    """A broker of Kafka, a bookie of Pulsar, by its name; it goes on running."""
    rate: DiskRate | None = None
    """How much a node may copy a second, such as 5MB/s (Kafka); without it as fast as can be."""
