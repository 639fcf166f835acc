"""What an fsync takes on typical disks, as published; docs/method.md names the sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Disk:
    """A kind of disk, and from what to what an fsync of a few KiB takes on it, in ms.

    `row` is where a figure names it above its panels, to the right of its range or to the left.
    """

    name: str
    low_ms: float
    high_ms: float
    row: int
    named_right: bool = False


TYPICAL = (
    Disk("NVMe with power-loss protection", 0.012, 0.058, 0, named_right=True),
    Disk("cloud block storage", 0.7, 1.42, 1),
    Disk("consumer SSD", 0.89, 3.5, 1, named_right=True),
    Disk("hard disk", 8.0, 12.0, 0, named_right=True),
)
