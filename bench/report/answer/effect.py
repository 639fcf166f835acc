"""An effect size: a ratio over rounds, with its interval and its outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from bench import numbers
from bench.model import Interval
from bench.statistics.interval import direction

CONFIDENT = "95 % interval"
"""The name of an interval of that confidence; others are only called interval."""


class EffectOutcome(StrEnum):
    """What an effect says of the first of two against the second."""

    MORE = "more"
    LESS = "less"
    SAME = "same"
    UNDECIDED = "undecided"

    @property
    def is_decided(self) -> bool:
        """Whether the run decides it."""
        return self is not EffectOutcome.UNDECIDED

    @property
    def differs(self) -> bool:
        """Whether one of the two is ahead."""
        return self in {EffectOutcome.MORE, EffectOutcome.LESS}


_OUTCOMES = {
    1: EffectOutcome.MORE,
    -1: EffectOutcome.LESS,
    0: EffectOutcome.SAME,
    None: EffectOutcome.UNDECIDED,
}


@dataclass(frozen=True, slots=True)
class Slots:
    """An effect as sentences have it: factor and the ends of its interval as text, empty where there are none."""

    factor: str
    low: str
    high: str
    interval: str
    rounds: str


@dataclass(frozen=True, slots=True)
class Effect:
    """The value of one case over another's; `low` and `high` are None where the rounds allow no interval.

    `interval` is the name of the interval: bootstrap intervals of few rounds hold less than they are asked for.
    """

    ratio: float | None
    low: float | None
    high: float | None
    rounds: int
    interval: str = CONFIDENT

    def outcome(self, smallest: float) -> EffectOutcome:
        """Decide by the interval and the smallest effect that matters, a share: 0.05 is 5 %.

        One is ahead where the interval leaves out 1 and the ratio is beyond the smallest effect.
        """
        if self.ratio is None or self.low is None or self.high is None:
            return EffectOutcome.UNDECIDED
        return _OUTCOMES[direction(self.ratio, Interval(self.low, self.high), smallest)]

    @property
    def inverse(self) -> Effect:
        """The value of the other case over the first's."""
        ratio, low, high = (_inverse(value) for value in (self.ratio, self.high, self.low))
        return Effect(ratio, low, high, self.rounds, self.interval)

    @property
    def upward(self) -> Effect:
        """The effect as a factor of 1 or more."""
        return self.inverse if self.ratio is not None and self.ratio < 1 else self

    @property
    def slots(self) -> Slots:
        """The effect as sentences have it."""
        factor = "" if self.ratio is None else numbers.factor(self.ratio)
        ends = [
            numbers.factor(end, like=self.ratio) if self.ratio is not None and end is not None else ""
            for end in (self.low, self.high)
        ]
        low, high = ends if all(ends) else ("", "")
        return Slots(factor, low, high, self.interval, numbers.plural(self.rounds, "round"))


def _inverse(value: float | None) -> float | None:
    if value is None:
        return None
    return 1 / value if value else math.inf
