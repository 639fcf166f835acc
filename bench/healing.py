"""When a node that a fault struck was healed, by the records of a trial's steps (docs/event-log.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Record = Mapping[str, Any]


def healed_ns(node: str, fault: Record, steps: Iterable[Record]) -> int | None:
    """Return when a node was healed: by a step that undid the fault for it, or with all that were left; or None.

    A record from before it was written down which fault a step undoes is taken to undo this one.
    """
    times = [
        int(step["effect_ns"])
        for step in steps
        if step["kind"] == "undo"
        and step.get("of", fault["name"]) == fault["name"]
        and node in step["nodes"]
        and (step["effect_ns"] or 0) > fault["asked_ns"]
    ]
    whole_ns = fault.get("healed_ns")
    return min([*times, *([int(whole_ns)] if whole_ns is not None else [])], default=None)
