"""How long after a fault every copy of a topic was there again, by what trial.json tells of who kept it (`history`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_TAKES_AWAY = frozenset({"kill", "stop", "pause", "power-loss"})
"""Kinds of fault under which what a node keeps cannot be had."""

Partition = Mapping[str, Any]
Known = Mapping[int, Partition]


def back_ns(history: Sequence[Mapping[str, Any]], fault: Mapping[str, Any]) -> int | None:
    """Return the time from a fault's effect until nothing was missing; 0 where nothing was, null if never.

    Kafka: a copy is missing while a partition has fewer replicas in sync than before the effect, or no leader.
    Pulsar: while a segment of a ledger lies on a struck node that is not healed, so this is the time until it was
    re-replicated; where the fault took no node away, nothing can be said.
    """
    if _untold(history, fault):
        return None
    nodes: Sequence[str] = fault["nodes"] or ()
    effect_ns: int = fault["effect_ns"]
    healed_ns: int | None = fault.get("healed_ns")
    before: Known = {}
    missing = False
    for at_ns, known in _states(history):
        if at_ns <= effect_ns:
            before = known
            missing = _on(nodes, known)
            continue
        if missing and healed_ns is not None and healed_ns <= at_ns and _has_ledgers(before):
            return healed_ns - effect_ns
        missing_now = _on(nodes, known) or _out_of_sync(before, known)
        if missing and not missing_now:
            return at_ns - effect_ns
        missing = missing_now
    if not before:
        return None
    if missing and healed_ns is not None and _has_ledgers(before):
        return healed_ns - effect_ns
    return None if missing else 0


def missing_ns(faults: Sequence[Mapping[str, Any]], history: Sequence[Mapping[str, Any]]) -> int | None:
    """Return how long copies were missing after any of a trial's faults, the longest; null where nothing can be said.

    Where they did not come back, until the last thing that was seen of the trial.
    """
    times = [int(change["at_ns"]) for change in history]
    times += [
        step[name] for step in faults for name in ("asked_ns", "effect_ns", "healed_ns") if step.get(name)
    ]
    found = []
    for fault in faults:
        if "proven" not in fault or not fault.get("effect_ns"):
            continue
        back = back_ns(history, fault)
        if back is not None:
            found.append(back)
        elif history and not _untold(history, fault):
            found.append(max(times) - fault["effect_ns"])
    return max(found, default=None)


def _untold(history: Sequence[Mapping[str, Any]], fault: Mapping[str, Any]) -> bool:
    """Whether a fault took no node away that ledgers lie on: then ensembles tell nothing."""
    return fault["kind"] not in _TAKES_AWAY and any(_has_ledgers(known) for _, known in _states(history))


def _states(history: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Known]]:
    known: dict[int, Partition] = {}
    for change in history:
        known = {**known, **{int(one["partition"]): one for one in change["partitions"]}}
        yield int(change["at_ns"]), known


def _has_ledgers(known: Known) -> bool:
    return any("ledgers" in one for one in known.values())


def _on(nodes: Sequence[str], known: Known) -> bool:
    kept = (
        bookies
        for one in known.values()
        for ledger in one.get("ledgers", ())
        for _, bookies in ledger["segments"]
    )
    return any(set(nodes) & set(bookies) for bookies in kept)


def _out_of_sync(before: Known, known: Known) -> bool:
    return any(
        len(one["in_sync"]) < len(before.get(number, one)["in_sync"])
        for number, one in known.items()
        if "in_sync" in one
    )
