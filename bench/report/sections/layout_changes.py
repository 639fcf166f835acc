"""Leaders, owners and replicas of a topic during faults, change by change, as the servers report them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from bench import numbers
from bench.records.trial import HistoryRecord
from bench.report.results import Results
from bench.report.sections.fact import Fact
from bench.systems.layout import PartitionLayout, Segment, partition_layout

_SHOWN = 3
"""So many partitions of one change, and segments of one partition, are written out."""


@dataclass(frozen=True, slots=True)
class _SegmentChange:
    """What changed of a partition whose log is kept in segments, which are called `noun`: its owner, and segments.

    `new` segments were not there before, `moved` are on other nodes now, or go on on others, `gone` there no more.
    """

    partition: int
    noun: str
    owner: str | None = None
    new: Sequence[Segment] = ()
    moved: Sequence[Segment] = ()
    gone: Sequence[int] = ()

    @property
    def is_rollover(self) -> bool:
        """Whether all that happened is that one segment followed another, on the nodes it began on."""
        quiet = self.owner is None and not self.moved and not self.gone
        return quiet and all(len(segment.spans) == 1 for segment in self.new)

    def __str__(self) -> str:
        parts = [
            *([f"owner {self.owner}"] if self.owner is not None else []),
            *self._new(),
            *(self._placement(segment, "now on") for segment in self.moved[:_SHOWN]),
            *_more(len(self.moved) - _SHOWN, self.noun, "now on other nodes"),
            *([f"{numbers.plural(len(self.gone), self.noun)} gone"] if self.gone else []),
        ]
        return f"partition {self.partition}: {'; '.join(parts)}"

    def _new(self) -> list[str]:
        placements = [self._placement(segment, "on") for segment in self.new]
        too_many = len(placements) > _SHOWN
        return (
            [f"{len(placements)} new {self.noun}s, the last of them {placements[-1]}"]
            if too_many
            else placements
        )

    def _placement(self, segment: Segment, preposition: str) -> str:
        spans = ", ".join(f"{'/'.join(nodes)} from entry {first}" for first, nodes in segment.spans)
        return f"{self.noun} {segment.number} {preposition} {spans}"


_Change = _SegmentChange | str


def by_case(results: Results) -> list[Fact]:
    """Return who served and kept the topic, change by change, in each case's first trial with faults."""
    facts_by_case: dict[str, list[Fact]] = {}
    for trial, record in results.trial_records.items():
        case = record.case.name
        if case not in facts_by_case and (changes := in_trial(results, trial)):
            facts_by_case[case] = [Fact(f"{case}, {change.term}", change.text) for change in changes]
    return [fact for facts in facts_by_case.values() for fact in facts]


def in_trial(results: Results, trial: int) -> list[Fact]:
    """Return who served and kept the topic of one trial, change by change, from its first send."""
    record, first_ns = results.trial_records[trial], results.first_send_ns(trial)
    if first_ns is None:
        return []
    return layout_changes(record.history, first_ns, record.case.description.segment)


def layout_changes(history: Sequence[HistoryRecord], first_ns: int, noun: str) -> list[Fact]:
    """Say what changed at each entry of a trial's history, in seconds from `first_ns`; segments are called `noun`.

    Entries in a row at which segments did nothing but follow each other are put together.
    """
    facts = []
    by_time = _changes(history, first_ns, noun)
    for rolled, group in groupby(by_time, key=lambda change: _has_only_rollovers(change[1])):
        changes = list(group)
        facts += [_together(changes)] if rolled else [Fact(_seconds(at), _text(all_)) for at, all_ in changes]
    return facts


def _changes(
    history: Sequence[HistoryRecord], first_ns: int, noun: str
) -> Iterator[tuple[float, list[_Change]]]:
    layouts_by_partition: dict[int, PartitionLayout] = {}
    for entry in history:
        layouts = [partition_layout(partition) for partition in entry.partitions]
        changes = [_change(now, layouts_by_partition.get(now.partition), noun) for now in layouts]
        if changed := [change for change in changes if change is not None]:
            yield (entry.at_ns - first_ns) / 1e9, changed
        layouts_by_partition |= {now.partition: now for now in layouts}


def _change(now: PartitionLayout, previous_layout: PartitionLayout | None, noun: str) -> _Change | None:
    """Return what changed of a partition, None where nothing did; of one that is kept as whole logs how it is now."""
    if now.segments is None:
        return f"partition {now.partition}: {_leader_state(now)}"
    old = {segment.number: segment.spans for segment in (previous_layout and previous_layout.segments) or ()}
    segment_numbers = {segment.number for segment in now.segments}
    owner_changed = previous_layout is None or previous_layout.server != now.server
    change = _SegmentChange(
        now.partition,
        noun,
        (now.server or "nobody") if owner_changed else None,
        [segment for segment in now.segments if segment.number not in old],
        [segment for segment in now.segments if old.get(segment.number, segment.spans) != segment.spans],
        [number for number in old if number not in segment_numbers],
    )
    return None if not change.new and change.is_rollover else change


def _has_only_rollovers(changes: Sequence[_Change]) -> bool:
    return all(isinstance(change, _SegmentChange) and change.is_rollover for change in changes)


def _together(changes: Sequence[tuple[float, list[_Change]]]) -> Fact:
    """Put changes in a row, in which segments followed each other, into one."""
    merged: dict[int, _SegmentChange] = {}
    for change in (change for _, all_ in changes for change in all_ if isinstance(change, _SegmentChange)):
        earlier_change = merged.get(change.partition, _SegmentChange(change.partition, change.noun))
        merged[change.partition] = replace(earlier_change, new=[*earlier_change.new, *change.new])
    first_s, last_s = changes[0][0], changes[-1][0]
    period = _seconds(first_s) if len(changes) == 1 else f"{first_s:.1f} to {_seconds(last_s)}"
    return Fact(period, _text(list(merged.values())))


def _text(changes: Sequence[_Change]) -> str:
    shown = [*map(str, changes[:_SHOWN]), *_more(len(changes) - _SHOWN, "partition", "changed")]
    return "; ".join(shown) + "."


def _more(count: int, of: str, state: str) -> list[str]:
    return [f"{numbers.plural(count, f'more {of}')} {state}"] if count > 0 else []


def _leader_state(layout: PartitionLayout) -> str:
    if layout.server is None:
        return "nobody leads it"
    if layout.epoch is None:
        more = "which does not tell its epoch and high watermark yet"
    else:
        more = f"epoch {layout.epoch}, high watermark {layout.high_watermark:,}"
    return f"leader {layout.server}, in sync {', '.join(layout.in_sync or ())}, {more}"


def _seconds(at_s: float) -> str:
    return f"{at_s:.1f} s"
