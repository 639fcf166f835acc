"""Leaders and replicas of each partition over a trial with faults: the table `served`, from trial.json's `history`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from bench.records.trial import HistoryRecord, TrialRecord
from bench.systems.layout import Segment, partition_layout

Row = dict[str, object]


def partition_history_rows(trials: Iterable[TrialRecord], first_ns: Mapping[int, int]) -> Iterator[Row]:
    """Give a row a change and partition; times count from the trial's first send."""
    for trial in trials:
        zero_ns = first_ns.get(trial.trial, 0)
        for change in trial.history:
            for record in change.partitions:
                yield {"trial": trial.trial, "at_ns": change.at_ns - zero_ns, **_row(record)}


def unstruck_partitions(trials: Iterable[TrialRecord]) -> list[tuple[int, int, int]]:
    """Return, by trial and place of a fault, each partition that a node served which the fault did not strike.

    As seen last before the fault was asked for; a partition that nobody served then is no one's.
    """
    return [
        (trial.trial, number, partition)
        for trial in trials
        for number, fault in trial.strikes.items()
        if fault.took_effect
        for partition, server in _servers(trial.history, fault.asked_ns).items()
        if server not in {None, *fault.nodes}
    ]


def _servers(changes: Iterable[HistoryRecord], until_ns: int) -> dict[int, str | None]:
    """Return who was seen last to serve each partition until then."""
    return {
        layout.partition: layout.server
        for change in changes
        if change.at_ns <= until_ns
        for layout in map(partition_layout, change.partitions)
    }


def moved_ns(changes: Iterable[HistoryRecord], partition: int, begun_ns: int, ended_ns: int) -> int | None:
    """Return when a partition was last seen to be served by another node, or by one again, within a time.

    None where it never was: who served it at first is no change.
    """
    servers = [
        (change.at_ns, partition_layout(record).server)
        for change in changes
        for record in change.partitions
        if record["partition"] == partition
    ]
    moves = [
        at_ns
        for (_, earlier), (at_ns, server) in pairwise(servers)
        if server not in {None, earlier} and begun_ns < at_ns <= ended_ns
    ]
    return max(moves, default=None)


def _row(partition: Mapping[str, Any]) -> Row:
    layout = partition_layout(partition)
    return {
        "partition": layout.partition,
        "served_by": layout.server,
        "in_sync": None if layout.in_sync is None else " ".join(layout.in_sync),
        "epoch": layout.epoch,
        "high_watermark": layout.high_watermark,
        "segments": None if layout.segments is None else _segments(layout.segments),
    }


def _segments(segments: Iterable[Segment]) -> str:
    """Write segments with their spans, as `12: 0 node-1/node-2, 4711 node-1/node-3`."""
    return "; ".join(
        f"{segment.number}: " + ", ".join(f"{first} {'/'.join(nodes)}" for first, nodes in segment.spans)
        for segment in segments
    )
