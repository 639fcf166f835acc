"""How long after a fault every copy of a topic was there again, by what trial.json tells of who kept it (`history`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TAKES_AWAY = frozenset({"kill", "stop", "pause", "power-loss"})
"""Kinds of fault under which what a node keeps cannot be had."""

Partition = Mapping[str, Any]
Known = Mapping[int, Partition]


def back_ns(
    history: Sequence[Mapping[str, Any]],
    nodes: Sequence[str],
    effect_ns: int,
    healed_ns: int | None,
    *,
    away: bool,
) -> int | None:
    """Return the time from a fault's effect on `nodes` until nothing was missing; 0 where nothing was, null if never.

    Kafka: a copy is missing while a partition has fewer replicas in sync than before the effect, or no leader.
    Pulsar: while a segment of a ledger lies on a struck node that is not healed, so this is the time until it was
    re-replicated; where the fault took no node `away`, nothing can be said.
    """
    if not away and any(_has_ledgers(known) for _, known in _states(history)):
        return None
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
