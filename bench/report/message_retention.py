"""What is left of acknowledged messages in a run in which nothing breaks: for new readers, for groups, and on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import pandas as pd

from bench import numbers
from bench.columns import SEGMENTS, STORED
from bench.report import case_groups, sweep
from bench.report.presentation import Labels
from bench.report.results import Results
from bench.systems.registry import system_title

_FEW = 0.1
"""A smaller share is said as a limit, in whole percent."""


@dataclass(frozen=True, slots=True)
class FoundMessages:
    """How many messages of those acknowledged by then somebody found, by valid trial."""

    acked: tuple[int, ...]
    found_counts: tuple[int, ...]

    @property
    def text(self) -> str:
        """Say it: "all 20,000", "none of 20,000", "4,800 to 5,100 of 20,000"."""
        if self.complete:
            return f"all {_counts(self.acked)}"
        return f"{_counts(self.found_counts) if any(self.found_counts) else 'none'} of {_counts(self.acked)}"

    @property
    def brief(self) -> str:
        """Say it without counts: "all", "none", "at most 2 %", "24 to 26 %"."""
        if self.complete:
            return "all"
        if not any(self.found_counts):
            return "none"
        shares = [
            found_count / acked for found_count, acked in zip(self.found_counts, self.acked, strict=True)
        ]
        if max(shares) < _FEW:
            return f"at most {ceil(100 * max(shares))} %"
        least, most = numbers.percent(min(shares)), numbers.percent(max(shares))
        return most if least == most else f"{least.removesuffix(' %')} to {most}"

    @property
    def complete(self) -> bool:
        """Whether every message was found."""
        return self.found_counts == self.acked

    @property
    def share(self) -> float:
        """How much of all that were acknowledged was found, over the trials."""
        return sum(self.found_counts) / max(1, sum(self.acked))


@dataclass(frozen=True, slots=True)
class MessageRetention:
    """What is left with some of a system's cases, called `label` among all of its cases.

    `new` is what a reader finds that comes new at the end. `groups` is what consumer groups of steps find: by the
    group's name, with that of the step where it reads in several. `most` and `last` are bytes on all disks
    together: the most, and at the end; `segments` the most of a partition. They are medians over trials, NaN where
    nobody looked.
    """

    system: str
    label: str
    cases: tuple[str, ...]
    new: FoundMessages | None
    groups: Mapping[str, FoundMessages]
    most: float
    last: float
    segments: float

    @property
    def title(self) -> str:
        """The system's name."""
        return system_title(self.system)


def message_retention(
    results: Results, parts: Sequence[sweep.Part], labels: Labels
) -> list[MessageRetention]:
    """Return what is left with each case that has a valid trial, in the scenario's order."""
    return [
        _of_cases(results, part, labels, [str(case)])
        for part in parts
        for case in part.cases[part.cases["rounds"] > 0]["case"]
    ]


def _of_cases(results: Results, part: sweep.Part, labels: Labels, cases: Sequence[str]) -> MessageRetention:
    trials = results.valid[results.valid["case"].isin(cases)]
    stored = trials.reindex(columns=[*STORED, SEGMENTS]).apply(pd.to_numeric).median()
    return MessageRetention(
        system=part.system,
        label=case_groups.name(labels, part, cases),
        cases=tuple(cases),
        new=_new(trials),
        groups=dict(_groups(results, trials)),
        most=float(stored[STORED[0]]),
        last=float(stored[STORED[1]]),
        segments=float(stored[SEGMENTS]),
    )


def _new(trials: pd.DataFrame) -> FoundMessages | None:
    """Return what the full read found; None where it did not come to the end."""
    lost = pd.to_numeric(trials["lost"])
    if trials.empty or lost.isna().any():
        return None
    acked = tuple(map(int, trials["acked"]))
    return FoundMessages(acked, tuple(all_ - gone for all_, gone in zip(acked, map(int, lost), strict=True)))


def _groups(results: Results, trials: pd.DataFrame) -> Iterator[tuple[str, FoundMessages]]:
    readings = results.readings[results.readings["trial"].isin(trials["trial"])]
    readings = readings[readings["group"].notna()]
    steps = Counter(group for group, _ in set(zip(readings["group"], readings["reading"], strict=True)))
    for (group, step), rows in readings.groupby(["group", "reading"], sort=False):
        name = f"{group}, {step}" if steps[str(group)] > 1 else str(group)
        if rows["acked"].notna().all():
            yield name, FoundMessages(tuple(map(int, rows["acked"])), tuple(map(int, rows["found"])))


def _counts(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return numbers.count(low) if low == high else f"{numbers.count(low)} to {numbers.count(high)}"


def bytes_text(value: float) -> str:
    """Bytes on disk, in two significant digits: 61 MB."""
    if numbers.absent(value):
        return numbers.NOTHING
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{float(f'{value / size:.2g}'):g} {unit}"
    return f"{value:.0f} bytes"
