"""Looking at a run while it goes on: the confidence level of each look, so that false decisions stay at 5 %."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import count, islice

import numpy as np
import numpy.typing as npt
import scipy

from bench.statistics.interval import LEVEL

FIRST_LOOK = 2
"""The first look is after so many rounds: one round has no interval."""
_PACE = 1
"""After so many looks half of the 5 % is spent: budgets allow for one to three (docs/method/statistics.md)."""
_POINTS = 401

_Numbers = npt.NDArray[np.float64]


@cache
def level(looks: int) -> float:
    """Return the confidence level of an interval at look `looks` (1, 2, …); 95 % where nobody looked (0).

    Alpha spending without a last look fixed beforehand (K. K. G. Lan and D. L. DeMets, 1983): by look k a share of
    k / (k + 1) of the 5 % is spent, so that any number of looks spends less than all of it. A look falls after each
    round from the second on; what each may spend beyond the looks before follows from how much of their evidence they
    have in common.
    """
    if looks <= 0:
        return LEVEL
    return next(islice(_levels(), looks - 1, None))


def cumulative_alpha(looks: int) -> float:
    """Return the probability of a false decision in any of the first `looks` looks."""
    return (1 - LEVEL) * looks / (looks + _PACE)


def _levels() -> Iterator[float]:
    """Give the level of each look, by the sums of rounds that no look before has decided on.

    Evidence is a sum of standard normal values, one a round; `density` is that of sums that have not crossed a bound.
    (P. Armitage, C. K. McPherson and B. C. Rowe, 1969.)
    """
    bound = math.sqrt(FIRST_LOOK) * float(scipy.stats.norm.isf(cumulative_alpha(1) / 2))
    sums = np.linspace(-bound, bound, _POINTS)
    density = scipy.stats.norm.pdf(sums, scale=math.sqrt(FIRST_LOOK))
    yield 1 - cumulative_alpha(1)
    for look in count(2):
        mass = density * _weights(sums)
        bound = _bound(sums, mass, cumulative_alpha(look) - cumulative_alpha(look - 1), look)
        yield float(1 - 2 * scipy.stats.norm.sf(bound / math.sqrt(FIRST_LOOK + look - 1)))
        following = np.linspace(-bound, bound, _POINTS)
        density = scipy.stats.norm.pdf(following[:, None] - sums) @ mass
        sums = following


def _bound(sums: _Numbers, mass: _Numbers, chance: float, look: int) -> float:
    """Return the bound that the sum after one more round crosses, to either side, with a probability of `chance`."""

    def excess(bound: float) -> float:
        return (
            float(mass @ (scipy.stats.norm.sf(bound - sums) + scipy.stats.norm.cdf(-bound - sums))) - chance
        )

    return float(scipy.optimize.brentq(excess, 0.0, 10 * math.sqrt(FIRST_LOOK + look)))


def _weights(sums: _Numbers) -> _Numbers:
    """Return the weights of the trapezoidal rule."""
    weights = np.full(len(sums), sums[1] - sums[0])
    weights[[0, -1]] /= 2
    return weights
