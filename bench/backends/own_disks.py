"""The disks of one cluster's nodes that have one of their own: to be filled, or to lose their power."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.backends.disks import Disk
from bench.errors import FaultError
from bench.model import Node


class OwnDisks:
    """A disk a data folder. Close them whatever happens."""

    def __init__(self) -> None:
        """Begin without any."""
        self._disks: dict[Path, Disk] = {}

    def make(self, folders: Sequence[Path]) -> None:
        """Mount an empty disk at each folder. Raises SetupError; those made until then are there to be closed."""
        for folder in folders:
            self._disks[folder] = Disk(folder)

    def of(self, node: Node) -> Disk:
        """Return a node's disk. Raises FaultError where it has none of its own."""
        disks = [disk for folder, disk in self._disks.items() if folder.is_relative_to(node.directory)]
        if not disks:
            raise FaultError(f"{node.name} has no disk of its own, so its power cannot be cut.")
        return disks[0]

    def sync(self) -> None:
        """Bring everything written so far to the disks."""
        for disk in self._disks.values():
            disk.sync()

    def fill(self, node: Node) -> str:
        """Leave no free block on a node's disk; return how that was seen. Raises FaultError."""
        filled = self.of(node).fill()
        return (
            f"The disk of {node.name} took {filled / 2**20:,.0f} MiB and then refused a write: no space left."
        )

    def stayed_full(self, node: Node) -> str | None:
        """Return how it was seen that a node's disk has had no room until now, None where it has."""
        refilled = self.of(node).stayed_full()
        if refilled is None:
            return None
        freed_bytes, roomy_ns = refilled
        refill = f" {freed_bytes:,} bytes that came free meanwhile were taken within {roomy_ns / 1e6:.0f} ms."
        return (
            f"Until then the disk of {node.name} had no room: a write failed.{refill if freed_bytes else ''}"
        )

    def make_room(self, node: Node) -> str:
        """Give a node's disk its space back; return how that was seen, a clause. Raises FaultError."""
        disk = self.of(node)
        disk.free()
        if disk.is_full():
            raise FaultError(f"The disk of {node.name} took no write after room was made on it.")
        return f"A write to the disk of {node.name} succeeded, {disk.free_bytes() / 2**20:,.0f} MiB are free"

    def close(self) -> None:
        """Unmount and delete them, each whatever becomes of the others."""
        with ExitStack() as last:
            for disk in self._disks.values():
                last.callback(disk.close)
