"""What an fsync takes on typical disks, as published; docs/method/load.md names the sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DiskType:
    """A kind of disk, and from what to what an fsync of a few KiB takes on it, in ms.

    `row` is where a figure names it above its panels, to the right of its range or to the left.
    """

    name: str
    low_ms: float
    high_ms: float
    row: int
    named_right: bool = False


TYPICAL = (
    DiskType("cloud block storage", 0.7, 1.42, 0),
    DiskType("consumer SSD", 0.71, 3.5, 1, named_right=True),
    DiskType("hard disk", 10.0, 12.2, 0, named_right=True),
)
