"""Which acknowledged messages a fault cost: how many in a trial, and over what span of time they were sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pandas as pd

from bench import numbers
from bench.fault_kinds import fault_kind
from bench.model import NANOS
from bench.report import outage
from bench.report.results import Results

_NEAR_NS = NANOS // 2
"""Losses that begin or end so near to a fault, or to a repair, begin or end with it."""
_ALL_OF_IT = 0.8
"""With this share of what was sent within a span lost, all of the span counts as lost."""


class LossPosition(StrEnum):
    """Where the lost messages lie: all writes of a time before or after a fault, or some of those around the first."""

    BEFORE_FAULT = "before"
    AFTER_FAULT = "after"
    SOME = "some"


@dataclass(frozen=True, slots=True)
class Loss:
    """The lost messages of a configuration.

    `counts` has those of each valid trial that was read to the end. `low_ns` and `high_ns` are the shortest and the
    longest span over the trials that lost any, before or after a fault of this `kind`. Of LossPosition.SOME they are
    when the first and the last were sent, since the first fault. `scripted`: the scenario's script set where the span
    begins or ends, so a longer one would lose more.
    """

    counts: tuple[int, ...]
    position: LossPosition = LossPosition.SOME
    low_ns: float = 0.0
    high_ns: float = 0.0
    scripted: bool = False
    kind: str = ""

    @property
    def most(self) -> int:
        """The most messages that a trial lost."""
        return max(self.counts)

    @property
    def losing_counts(self) -> tuple[int, ...]:
        """The counts of the trials that lost any."""
        return tuple(count for count in self.counts if count)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault of a trial: when it was asked for, since the first one, and when the script last repaired anything."""

    kind: str
    at_ns: float
    script_ns: float | None


@dataclass(frozen=True, slots=True)
class _TrialLoss:
    """One trial's losses: how many, and when the first and the last were sent, since the first fault.

    `begun_ns` is when the first fault was asked for, since the first send; `rate` what was acknowledged a second then.
    """

    count: int
    first_ns: float
    last_ns: float
    begun_ns: float
    rate: float
    faults: Sequence[_Fault]

    @property
    def complete(self) -> bool:
        """Whether all that was sent within the span is lost, by the rate before the fault."""
        sent = self.rate * (self.last_ns - self.first_ns) / NANOS
        return sent <= 0 or self.count >= _ALL_OF_IT * sent

    @property
    def fault_at_end(self) -> _Fault | None:
        """The fault up to which all writes are lost."""
        return next(
            (
                fault
                for fault in self.faults
                if self.first_ns < fault.at_ns and -_NEAR_NS <= self.last_ns - fault.at_ns <= _NEAR_NS / 5
            ),
            None,
        )

    @property
    def fault_at_start(self) -> _Fault | None:
        """The last fault after which all lost writes lie."""
        earlier = [fault for fault in self.faults if self.first_ns - fault.at_ns >= -_NEAR_NS]
        return earlier[-1] if earlier and self.last_ns - earlier[-1].at_ns > _NEAR_NS else None


def loss(results: Results, trials: pd.DataFrame) -> Loss | None:
    """Return what the valid trials of a configuration lost; None where none of them was read to the end."""
    valid = trials[trials["verdict"] == "valid"]
    if valid["lost"].dropna().empty:
        return None
    counts = tuple(int(count) for count in valid["lost"].dropna())
    losses = _losses(results, valid)
    if not losses:
        return Loss(counts)
    return (
        _loss_before(counts, losses)
        or _loss_after(counts, losses)
        or Loss(
            counts,
            low_ns=min(trial_loss.first_ns for trial_loss in losses),
            high_ns=max(trial_loss.last_ns for trial_loss in losses),
        )
    )


def _loss_before(counts: tuple[int, ...], losses: Sequence[_TrialLoss]) -> Loss | None:
    """Return the loss where each trial lost all writes up to a fault of one kind; scripted from the first send on."""
    faults = [trial_loss.fault_at_end for trial_loss in losses if trial_loss.complete]
    known_faults = [fault for fault in faults if fault is not None]
    if len(known_faults) < len(losses) or len({fault.kind for fault in known_faults}) > 1:
        return None
    spans = [
        fault.at_ns - trial_loss.first_ns for fault, trial_loss in zip(known_faults, losses, strict=True)
    ]
    scripted = all(-trial_loss.first_ns >= trial_loss.begun_ns - _NEAR_NS for trial_loss in losses)
    return Loss(counts, LossPosition.BEFORE_FAULT, min(spans), max(spans), scripted, known_faults[0].kind)


def _loss_after(counts: tuple[int, ...], losses: Sequence[_TrialLoss]) -> Loss | None:
    """Return the loss where each trial lost all writes from a fault of one kind on; scripted up to a repair."""
    faults = [trial_loss.fault_at_start for trial_loss in losses if trial_loss.complete]
    known_faults = [fault for fault in faults if fault is not None]
    if len(known_faults) < len(losses) or len({fault.kind for fault in known_faults}) > 1:
        return None
    pairs = list(zip(known_faults, losses, strict=True))
    spans = [trial_loss.last_ns - max(fault.at_ns, trial_loss.first_ns) for fault, trial_loss in pairs]
    scripted = all(
        fault.script_ns is not None and trial_loss.last_ns - fault.at_ns >= fault.script_ns - _NEAR_NS
        for fault, trial_loss in pairs
    )
    return Loss(counts, LossPosition.AFTER_FAULT, min(spans), max(spans), scripted, known_faults[0].kind)


def _losses(results: Results, valid: pd.DataFrame) -> list[_TrialLoss]:
    known_rows = valid.reindex(columns=["trial", "lost", "lost_first_ns", "lost_last_ns"]).dropna()
    return [
        trial_loss
        for _, row in known_rows.iterrows()
        if row["lost"]
        and (trial_loss := _trial_loss(results, int(row["trial"]), int(row["lost"]), _span(row))) is not None
    ]


def _span(row: pd.Series[Any]) -> tuple[float, float]:
    return float(row["lost_first_ns"]), float(row["lost_last_ns"])


def _trial_loss(results: Results, trial: int, count: int, sent_ns: tuple[float, float]) -> _TrialLoss | None:
    trial_faults = results.faults[results.faults["trial"] == trial].sort_values("asked_ns")
    if trial_faults.empty:
        return None
    steps = results.trial_records[trial].faults
    begun_ns, rate = float(trial_faults["asked_ns"].iloc[0]), trial_faults["rate_before"].iloc[0]
    faults = [
        _Fault(
            str(fault["kind"]),
            float(fault["asked_ns"]) - begun_ns,
            outage.script_ns(steps, str(fault["fault"])),
        )
        for _, fault in trial_faults.iterrows()
        if not fault_kind(str(fault["kind"])).only_slows
    ]
    return _TrialLoss(count, *sent_ns, begun_ns, 0.0 if numbers.absent(rate) else float(rate), faults)
