"""Nodes ended and started again: what `kill` and `stop` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.errors import FaultError
from bench.faults.fault import Effect, Place
from bench.model import Node


def end(place: Place, nodes: Sequence[Node], *, kill: bool) -> Effect:
    """End nodes, all at once; the effect's `heal` starts them again."""
    with ThreadPoolExecutor(len(nodes)) as pool:
        statuses = list(pool.map(lambda node: place.backend.end_node(node, kill=kill), nodes))
    still = [node.name for node in nodes if place.backend.listens(node)]
    if still:
        raise FaultError(f"{', '.join(still)} still took connections after the process had ended.")
    said = ", ".join(
        f"{node.name} ended with status {status}" for node, status in zip(nodes, statuses, strict=True)
    )
    return Effect(f"{said}; nothing listens on its port.", lambda those: _start(place, those))


def _start(place: Place, nodes: Sequence[Node]) -> str:
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(place.backend.start_node, nodes))
    return f"{', '.join(node.name for node in nodes)} started again; the ports are open."
