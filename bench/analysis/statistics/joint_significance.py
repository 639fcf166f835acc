"""Many cases at once: how often chance alone makes any of them look as much worse as one of them does."""

from __future__ import annotations

from functools import cache
from itertools import chain, combinations
from math import comb

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_MOST_DEALS = 20_000
_SEED = 1
"""One seed for the deals that are drawn, so that the same runs always get the same verdict."""
_ROUNDING = 1e-9


def chances(first: Values, second: Values, threshold: float) -> Values:
    """Return by case in which share of all deals any case looks as much worse as it does, or more.

    `first` and `second` hold a row a round and a column a case, nan where there is no value; more is worse.
    `threshold` is a share (0.05). Were the runs equal, every way to deal their rounds to two runs of these sizes
    would be as likely as the one that was (P. H. Westfall and S. S. Young, "Resampling-Based Multiple Testing",
    1993). So a share of 5 % or less comes in 5 % of pairs of equal runs at most. That holds however many cases they
    have, and whatever the cases of a round have in common. Above 20,000 deals so many are drawn.
    """
    worse = _worse(np.concatenate([first, second]), _deals(len(first), len(second)), threshold)
    worst = worse.max(axis=1)
    shares: Values = (worst[:, None] >= worse[0] - _ROUNDING).mean(axis=0)
    return shares


def _worse(rounds: Values, deals: npt.NDArray[np.bool_], threshold: float) -> Values:
    """Return by deal and case how much worse the second side's mean is; -inf where that cannot be said.

    It is a share of the mean of all, over the sum of `threshold` and the standard error. So a case that varies much
    does not set the scale for the others. Nor does one that hardly varies stand out by a trifle (V. G. Tusher, R.
    Tibshirani and G. Chu, "Significance analysis of microarrays", 2001).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = rounds / np.abs(np.nanmean(rounds, axis=0))
        (mean, error), (other_mean, other_error) = (_moments(scaled, side) for side in (~deals, deals))
        scores: Values = (other_mean - mean) / (threshold + np.sqrt(error + other_error))
    return np.where(np.isnan(scores), -np.inf, scores)


def _moments(rounds: Values, side: npt.NDArray[np.bool_]) -> tuple[Values, Values]:
    """Return by deal and case the mean and its variance over one side's rounds; nan below two values."""
    present, values, of = ~np.isnan(rounds), np.nan_to_num(rounds), side.astype(float)
    count = of @ present
    mean = of @ values / count
    variance = np.maximum(of @ values**2 / count - mean**2, 0) / (count - 1)
    return np.where(count > 1, mean, np.nan), variance


@cache
def _deals(first: int, second: int) -> npt.NDArray[np.bool_]:
    """Give which rounds each deal puts on the second side; the first row is how they were."""
    total = first + second
    if comb(total, first) > _MOST_DEALS:
        actual = np.arange(total) >= first
        draw = np.random.default_rng(_SEED)
        return np.vstack([actual, draw.permuted(np.tile(actual, (_MOST_DEALS - 1, 1)), axis=1)])
    places = np.fromiter(chain.from_iterable(combinations(range(total), first)), dtype=int)
    deals = np.ones((comb(total, first), total), dtype=bool)
    np.put_along_axis(deals, places.reshape(len(deals), first), values=False, axis=1)
    return deals
