"""The interval of a share of messages that come in bursts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from bench.model import Interval
from bench.statistics.interval import LEVEL

_Sums = npt.NDArray[np.float64]


def share_interval(late: Sequence[int], due: Sequence[int], level: float = LEVEL) -> Interval:
    """Return the interval of the share of late messages, from both counts by second.

    Late messages come in bursts, so that n messages tell less than n independent ones. The variance over batches of
    seconds says how many independent messages would tell as much; with these the interval is the exact binomial one
    (C. J. Clopper and E. S. Pearson, 1934). This is the interval of E. L. Korn and B. I. Graubard ("Confidence
    intervals for proportions with small expected number of positive counts estimated from survey data", 1998). A batch
    is as long as the cube root of the number of seconds (P. Hall, J. L. Horowitz and B.-Y. Jing, "On blocking rules for
    the bootstrap with dependent data", 1995).

    Without any late message nothing tells of bursts, and each message counts as an independent one. Without a due
    message the interval is 0 to 1.
    """
    total, tail = sum(due), (1 - level) / 2
    if not total:
        return Interval(0.0, 1.0)
    share = sum(late) / total
    size = total if share in {0, 1} else _effective_size(_batches(late), _batches(due), share, tail)
    count = share * size
    low = scipy.special.betaincinv(count, size - count + 1, tail) if share > 0 else 0.0
    high = scipy.special.betaincinv(count + 1, size - count, 1 - tail) if share < 1 else 1.0
    return Interval(float(low), float(high))


def _effective_size(late: _Sums, due: _Sums, share: float, tail: float) -> float:
    """Return how many independent messages tell as much as these, which is never more than there are.

    Few batches tell the variance badly: the size shrinks as Student's quantile is above the normal one.
    """
    total, freedom = float(due.sum()), len(due) - 1
    if freedom < 1:
        return 1.0
    variance = float(((late - share * due) ** 2).sum()) * len(due) / freedom / total**2
    size = min(total, share * (1 - share) / variance) if variance else total
    return size * float(scipy.special.ndtri(1 - tail) / scipy.special.stdtrit(freedom, 1 - tail)) ** 2


def _batches(counts: Sequence[int]) -> _Sums:
    """Add up neighbouring seconds."""
    number = max(1, round(len(counts) ** (2 / 3)))
    starts = np.arange(number) * len(counts) // number
    return np.asarray(np.add.reduceat(np.asarray(counts, dtype=float), starts))
