"""Which acknowledged messages a fault cost: how many in a trial, and over what span of time they were sent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pandas as pd

from bench import numbers
from bench.model import NANOS
from bench.report import outage
from bench.report.results import Results

_NEAR_NS = NANOS // 2
"""Losses that begin or end so near to something begin or end with it."""
_ALL_OF_IT = 0.8
"""With this share of what was sent within a span lost, all of the span counts as lost."""


class Span(StrEnum):
    """Where the lost messages lie: all writes of a time before or after the fault, or some of those around it."""

    BEFORE = "before"
    AFTER = "after"
    SOME = "some"


@dataclass(frozen=True, slots=True)
class Loss:
    """The lost messages of a configuration.

    `counts` has those of each valid trial that was read to the end, but for trials that other work disturbed where
    these lost less. `low_ns` and `high_ns` are the shortest and the
    longest span over the trials that lost any; of Span.SOME when the first and the last were sent, since the first
    fault. `scripted`: the scenario's script set where the span begins or ends, so a longer one would lose more.
    """

    counts: tuple[int, ...]
    span: Span = Span.SOME
    low_ns: float = 0.0
    high_ns: float = 0.0
    scripted: bool = False

    @property
    def most(self) -> int:
        """The most messages that a trial lost."""
        return max(self.counts)

    @property
    def losing(self) -> tuple[int, ...]:
        """The counts of the trials that lost any."""
        return tuple(count for count in self.counts if count)


@dataclass(frozen=True, slots=True)
class _TrialLoss:
    """One trial's losses: how many, and when the first and the last were sent, since the first fault."""

    count: int
    first_ns: float
    last_ns: float
    asked_ns: float
    rate: float
    script_ns: float | None

    @property
    def whole(self) -> bool:
        """Whether all that was sent within the span is lost, by the rate before the fault."""
        sent = self.rate * (self.last_ns - self.first_ns) / NANOS
        return sent <= 0 or self.count >= _ALL_OF_IT * sent

    @property
    def before(self) -> bool:
        """Whether the span lies before the fault, and reaches to it."""
        return self.first_ns < 0 and -_NEAR_NS <= self.last_ns <= _NEAR_NS / 5

    @property
    def after(self) -> bool:
        """Whether the span lies after the fault."""
        return self.first_ns >= -_NEAR_NS and self.last_ns > _NEAR_NS


def loss(results: Results, trials: pd.DataFrame) -> Loss | None:
    """Return what the valid trials of a configuration lost; None where none of them was read to the end."""
    valid = trials[trials["verdict"] == "valid"]
    counts = tuple(int(count) for count in valid["lost"].dropna())
    if not counts:
        return None
    quiet = outage.undisturbed(valid)
    shown = quiet if quiet["lost"].max() == valid["lost"].max() else valid
    losses = _losses(results, shown)
    if not losses:
        return Loss(counts)
    counts = tuple(int(count) for count in shown["lost"].dropna())
    whole = all(one.whole for one in losses)
    if whole and all(one.before for one in losses):
        spans = [-one.first_ns for one in losses]
        scripted = all(-one.first_ns >= one.asked_ns - _NEAR_NS for one in losses)
        return Loss(counts, Span.BEFORE, min(spans), max(spans), scripted)
    if whole and all(one.after for one in losses):
        spans = [one.last_ns - max(0.0, one.first_ns) for one in losses]
        ends = [one.script_ns is not None and one.last_ns >= one.script_ns - _NEAR_NS for one in losses]
        return Loss(counts, Span.AFTER, min(spans), max(spans), all(ends))
    return Loss(counts, Span.SOME, min(one.first_ns for one in losses), max(one.last_ns for one in losses))


def _losses(results: Results, valid: pd.DataFrame) -> list[_TrialLoss]:
    known = valid.reindex(columns=["trial", "lost", "lost_first_ns", "lost_last_ns"]).dropna()
    first = outage.first_faults(results)
    rows = [row for _, row in known.iterrows() if row["lost"] and int(row["trial"]) in first.index]
    return [_trial_loss(results, row, first.loc[int(row["trial"])]) for row in rows]


def _trial_loss(results: Results, row: pd.Series[Any], fault: pd.Series[Any]) -> _TrialLoss:
    steps = results.trial_files.get(int(row["trial"]), {}).get("faults") or ()
    return _TrialLoss(
        count=int(row["lost"]),
        first_ns=float(row["lost_first_ns"]),
        last_ns=float(row["lost_last_ns"]),
        asked_ns=float(fault["asked_ns"]),
        rate=0.0 if numbers.absent(fault["rate_before"]) else float(fault["rate_before"]),
        script_ns=outage.script_ns(steps, str(fault["fault"])),
    )
