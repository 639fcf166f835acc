"""Nodes ended and started again: what `kill` and `stop` have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from bench.errors import BenchError, FaultError
from bench.faults.fault import FaultEffect, Place, raise_any
from bench.model import Node

_Result = TypeVar("_Result")


def end(place: Place, nodes: Sequence[Node], *, kill: bool) -> FaultEffect:
    """End nodes, all at once; the effect's `heal` starts them again. Where one does not end, none stays so."""
    statuses, failed = _at_once(nodes, lambda node: place.backend.end_node(node, kill=kill))
    still = [node.name for node in nodes if node.name in statuses and place.backend.listens(node)]
    if still:
        failed.append(FaultError(f"{', '.join(still)} still took connections after the process had ended."))
    if failed:
        _at_once([node for node in nodes if node.name in statuses], place.backend.start_node)
        raise_any(failed)
    sentence = ", ".join(f"{name} ended with status {status}" for name, status in statuses.items())
    return FaultEffect(
        f"{sentence}; nothing listens on its port.", lambda nodes_to_heal: _start(place, nodes_to_heal)
    )


def _start(place: Place, nodes: Sequence[Node]) -> str:
    _, failed = _at_once(nodes, place.backend.start_node)
    raise_any(failed)
    return f"{', '.join(node.name for node in nodes)} started again; the ports are open."


def _at_once(
    nodes: Sequence[Node], do: Callable[[Node], _Result]
) -> tuple[dict[str, _Result], list[BenchError]]:
    """Do something with all nodes at once; return what each gave, by name, and what failed."""
    results: dict[str, _Result] = {}
    failed: list[BenchError] = []
    with ThreadPoolExecutor(max(1, len(nodes))) as pool:
        for node, done in [(node, pool.submit(do, node)) for node in nodes]:
            try:
                results[node.name] = done.result()
            except BenchError as error:
                failed.append(error)
    return results, failed
