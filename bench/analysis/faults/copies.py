"""How long after a fault every copy of a topic was there again, by the `history` of trial.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bench.records.steps import StallRecord, StepRecord, StrikeRecord, healed_ns
from bench.records.trial import HistoryRecord
from bench.systems.layout import PartitionLayout, partition_layout

Changes = Sequence[HistoryRecord]
Layouts = Mapping[int, PartitionLayout]
Copy = tuple[int, str]
"""A partition, and a node that keeps a copy of it."""


class Restoration(NamedTuple):
    """How long after a fault was asked for every copy was there again, and why: `node back`, `copied`, or "" for 0."""

    after_ns: int
    cause: str


def back(
    changes: Changes, steps: Sequence[StepRecord], fault: StrikeRecord, until_ns: int
) -> Restoration | None:
    """Tell when the copies that a fault took away were there again; None if never, or where nothing can be said.

    Of whole logs: the copies on the struck nodes while these are away, and those that left the replicas in sync before
    `until_ns` (when the next fault was asked for). Of segments: what lies of them on struck nodes that are away. A node
    is away until it is healed, by itself or with all of them. Of nodes with segments that a fault left running nobody
    can say when others had given them up: only that what lay on them was copied elsewhere, where it was.
    """
    asked_ns = fault.asked_ns
    states = list(_states(changes))
    layouts_before = _at(states, asked_ns)
    if layouts_before is None:
        return None
    running = _has_running_segments(states, fault)
    healed = dict.fromkeys(fault.nodes) if running else _heal_times(steps, fault)
    moments = {at_ns for at_ns, _ in states} | {at_ns for at_ns in healed.values() if at_ns is not None}
    keepers = _keepers(states)
    owed: set[Copy] = set()
    restored: Restoration | None = None
    for now_ns in (asked_ns, *sorted(at_ns for at_ns in moments if at_ns > asked_ns)):
        if now_ns >= until_ns and restored is not None:
            break
        layouts = _at(states, now_ns) or layouts_before
        away = {node for node, at_ns in healed.items() if at_ns is None or at_ns > now_ns}
        missing = _fallen_behind(layouts_before, layouts) | _copies_away(away, layouts, keepers)
        if now_ns < until_ns:
            owed |= missing
        if owed & missing:
            restored = None
        elif owed and restored is None:
            restored = Restoration(
                now_ns - asked_ns, "copied" if away & {node for _, node in owed} else "node back"
            )
    return restored if owed or running else Restoration(0, "")


class Absence(NamedTuple):
    """How long copies were missing; `cut` where some were so still when last looked at."""

    for_ns: int
    cut: bool


def longest_absence(
    changes: Changes, steps: Sequence[StepRecord], faults: Sequence[tuple[StrikeRecord, int]]
) -> Absence | None:
    """Tell how long copies were missing after any of a trial's faults, the longest; None where nothing can be said.

    `faults` with when the next one was asked for. Where copies did not come back, until the last look at it or the last
    step.
    """
    states = list(_states(changes))
    times = [at_ns for at_ns, _ in states]
    for step in steps:
        healed = step.healed_ns if isinstance(step, StrikeRecord) else None
        times += [at_ns for at_ns in (step.asked_ns, step.effect_ns, healed) if at_ns]
    absences = []
    for fault, until_ns in faults:
        if (restored := back(changes, steps, fault, until_ns)) is not None:
            absences.append(Absence(restored.after_ns, cut=False))
        elif _at(states, fault.asked_ns) is not None and not _has_running_segments(states, fault):
            absences.append(Absence(max(times) - fault.asked_ns, cut=True))
    return Absence(max(absences).for_ns, any(absence.cut for absence in absences)) if absences else None


def moves(changes: Changes) -> int | None:
    """Count how often another node came to lead or own a partition than the last one; None where nobody told."""
    count = 0
    served: dict[int, str] = {}
    for _, layouts in _states(changes):
        for number, layout in layouts.items():
            if server := layout.server:
                count += served.get(number, server) != server
                served[number] = server
    return count if any(change.partitions for change in changes) else None


def short_of(changes: Changes, stall: StallRecord) -> int | None:
    """Count the entries that were left of the fragments in which a reader stood still, over all partitions.

    None where nothing had come to it, and where no later fragment tells where those end.
    """
    states = list(_states(changes))
    if not stall.at or not states:
        return None
    layouts = states[-1][1]
    left = [
        end - entry - 1
        for partition, segment, entry in stall.at
        if (end := _fragment_end(layouts.get(partition), segment, entry)) is not None
    ]
    return sum(left) if left else None


def _fragment_end(layout: PartitionLayout | None, segment: int, entry: int) -> int | None:
    """Return the first entry of the fragment that comes after the one an entry lies in; None where there is none."""
    firsts = [
        first
        for stored_segment in (layout and layout.segments) or ()
        if stored_segment.number == segment
        for first, _ in stored_segment.spans
    ]
    return min((first for first in firsts if first > entry), default=None)


def _heal_times(steps: Sequence[StepRecord], fault: StrikeRecord) -> dict[str, int | None]:
    """Give each node taken away with when it was healed: by a step that undid it, or with all that were left."""
    if not fault.away:
        return {}
    return {node: healed_ns(node, fault, steps) for node in fault.nodes}


def _has_running_segments(states: Sequence[tuple[int, Layouts]], fault: StrikeRecord) -> bool:
    """Whether segments lie on nodes that a fault left running: then layouts do not tell when these were missed."""
    layouts = (partition for _, by_partition in states for partition in by_partition.values())
    return not fault.away and any(layout.segments is not None for layout in layouts)


def _states(changes: Changes) -> Iterator[tuple[int, Layouts]]:
    by_partition: dict[int, PartitionLayout] = {}
    for change in changes:
        layouts = map(partition_layout, change.partitions)
        by_partition = {**by_partition, **{layout.partition: layout for layout in layouts}}
        if by_partition:  # the last look may have been the only one, and nobody told anything
            yield change.at_ns, by_partition


def _at(states: Sequence[tuple[int, Layouts]], now_ns: int) -> Layouts | None:
    """Return what was known at a time, None before anything was."""
    return next((layouts for at_ns, layouts in reversed(states) if at_ns <= now_ns), None)


def _keepers(states: Sequence[tuple[int, Layouts]]) -> set[Copy]:
    """Return every replica of a whole log that was ever in sync."""
    return {
        (number, node)
        for _, layouts in states
        for number, layout in layouts.items()
        for node in layout.in_sync or ()
    }


def _fallen_behind(layouts_before: Layouts, layouts: Layouts) -> set[Copy]:
    """Return the replicas that were in sync and are not."""
    return {
        (number, node)
        for number, layout in layouts_before.items()
        for node in layout.in_sync or ()
        if node not in (layouts[number].in_sync or ())
    }


def _copies_away(away: set[str], layouts: Layouts, keepers: set[Copy]) -> set[Copy]:
    """Return the copies that lie on nodes that are away."""
    replicas = {(number, node) for number, node in keepers if node in away}
    stored = {
        (number, node)
        for number, layout in layouts.items()
        for segment in layout.segments or ()
        for _, nodes in segment.spans
        for node in nodes
        if node in away
    }
    return replicas | stored
