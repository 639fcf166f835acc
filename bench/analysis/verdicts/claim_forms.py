"""What a comparison of two cases claims, and how it is decided: by an interval, or by how many rounds agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bench.model import Interval
from bench.statistics.interval import direction, ratios

HELD, NOT, NO_DIFFERENCE, UNDECIDED = "held", "did not hold", "no difference", "undecided"

Pairs: TypeAlias = Sequence[tuple[float, float]]
"""The metric on both sides of a comparison, round by round."""


class Form(Protocol):
    """A claim on the ratio of a left side to a right side."""

    def agreement(self, pairs: Pairs) -> tuple[int, int]:
        """Count the rounds for the claim and those against it."""

    def verdict(self, ratio: float, interval: Interval) -> str:
        """Decide by a ratio and its interval."""

    def limit(self, ratio: float) -> float:
        """Return the ratio at which the claim turns, of two the one nearer to `ratio`."""

    def reach(self, ratio: float) -> float:
        """Return the half-width, a logarithm, at which the interval decides, were the ratio to stay as it is."""


@dataclass(frozen=True, slots=True)
class Order:
    """The left side is the larger one (`falls`), or the smaller; `smallest_effect` is a share: 0.05 is 5 %."""

    smallest_effect: float
    falls: bool

    def agreement(self, pairs: Pairs) -> tuple[int, int]:
        """Count rounds; a tie agrees with neither side."""
        above, below = sum(left > right for left, right in pairs), sum(left < right for left, right in pairs)
        return (above, below) if self.falls else (below, above)

    def verdict(self, ratio: float, interval: Interval) -> str:
        """Decide where the interval leaves out 1 and the ratio matters, or where no part of the interval matters."""
        larger = direction(ratio, interval, self.smallest_effect)
        if larger is None:
            return UNDECIDED
        if larger == 0:
            return NO_DIFFERENCE
        return HELD if (larger > 0) == self.falls else NOT

    def limit(self, ratio: float) -> float:  # noqa: ARG002 - an order turns at 1, whatever the ratio
        """Return 1."""
        return 1.0

    def reach(self, ratio: float) -> float:
        """Return the distance to 1 of a ratio that matters; that to what matters of one that does not."""
        distance, matters = abs(math.log(ratio)), math.log1p(self.smallest_effect)
        return distance if distance >= matters else matters - distance


@dataclass(frozen=True, slots=True)
class Bounds:
    """The ratio lies between two bounds; None leaves a side open."""

    low: float | None
    high: float | None

    def agreement(self, pairs: Pairs) -> tuple[int, int]:
        """Count the rounds whose ratio lies within the bounds, and those whose does not."""
        rounds = ratios(pairs)
        inside = sum(not self._below(ratio) and not self._above(ratio) for ratio in rounds)
        return inside, len(rounds) - inside

    def verdict(self, ratio: float, interval: Interval) -> str:  # noqa: ARG002 - the interval alone decides
        """Decide where the whole interval lies within the bounds, or beyond one of them."""
        if self._below(interval.high) or self._above(interval.low):
            return NOT
        return UNDECIDED if self._below(interval.low) or self._above(interval.high) else HELD

    def limit(self, ratio: float) -> float:
        """Return the bound that is nearer."""
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        return min(bounds, key=lambda bound: abs(math.log(ratio / bound)))

    def reach(self, ratio: float) -> float:
        """Return the distance to the nearer bound."""
        return abs(math.log(ratio / self.limit(ratio)))

    def _below(self, ratio: float) -> bool:
        return self.low is not None and ratio < self.low

    def _above(self, ratio: float) -> bool:
        return self.high is not None and ratio > self.high
