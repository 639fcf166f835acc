"""Ratios between cases over rounds: a t interval on logarithms, its variance shared by all cases of a cluster."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from bench.model import Interval
from bench.statistics.interval import LEVEL, pair_by_round, paired_ratio, t_reach

Values = Mapping[str, Mapping[int, float]]
"""One figure by case and round."""
Series = Mapping[str, Mapping[int, Mapping[int, float]]]
"""One figure by case, round and cycle of slices."""


class Group(NamedTuple):
    """Where a case was measured: cases with equal clusters on the same cluster starts.

    `kind` is what else decides how much a case varies from start to start: its system, and whether anybody waits for
    an acknowledgement.
    """

    cluster: str
    kind: str = ""


Groups = Mapping[str, Group]
"""The group of each case."""
_Table = npt.NDArray[np.float64]
_Kind = tuple[str, ...]

PRIOR_FREEDOM = 4
"""The variance of like pairs counts as much as so many further rounds of a pair (docs/method/statistics.md)."""
SLICED_FREEDOM = 12
"""The same where a pair's own slices tell its noise."""
BLOCKS = 8
"""The cycles of a cluster start are averaged in so many blocks, as slices that follow one another are alike."""
LEAST_BLOCKS = 4
"""From so many blocks on they tell the noise."""
LEAST_ROUNDS = 2
"""From so many rounds on a ratio has an interval."""
MOST_ROUNDS = 999
"""Stands for so many rounds or more, in estimates of how many it would take."""


@dataclass(frozen=True, slots=True)
class RoundRatio:
    """One case's value over another's: the geometric mean of the rounds' ratios.

    `error` is the standard error of its logarithm and `freedom` that error's degrees of freedom; both None where the
    rounds allow no interval.
    """

    ratio: float
    rounds: int
    error: float | None = None
    freedom: float | None = None

    def interval(self, level: float = LEVEL) -> Interval | None:
        """Return the interval that holds the ratio with confidence `level` (0.95: 95 %); None where there is none."""
        reach = self.half_width(level)
        return (
            None if reach is None else Interval(self.ratio * math.exp(-reach), self.ratio * math.exp(reach))
        )

    def half_width(self, level: float = LEVEL) -> float | None:
        """Return how far the interval reaches to either side, as a logarithm: 0.05 is 5 %."""
        if self.error is None or self.freedom is None:
            return None
        return t_reach(self.error, self.freedom, level)

    def chance(self, ratio: float) -> float | None:
        """Return the two-sided p-value of `ratio` being the true one; None where there is no interval."""
        if self.error is None or self.freedom is None:
            return None
        distance = abs(math.log(self.ratio / ratio))
        if self.error == 0:
            return float(distance == 0)
        return float(2 * scipy.stats.t.sf(distance / self.error, self.freedom))

    def rounds_for(self, half_width: float, level: float = LEVEL) -> int | None:
        """Return in how many rounds the interval would reach no further than `half_width`, a logarithm.

        From today's variance; never fewer than there are, 999 for that many or more. None without an interval.
        """
        if self.error is None or self.freedom is None:
            return None
        numbers = np.arange(self.rounds, MOST_ROUNDS + 1)
        freedom = self.freedom * (numbers - 1) / (self.rounds - 1)
        reach = scipy.stats.t.isf((1 - level) / 2, freedom) * self.error * np.sqrt(self.rounds / numbers)
        enough = numbers[reach <= half_width]
        return int(enough[0]) if len(enough) else MOST_ROUNDS


@dataclass(frozen=True, slots=True)
class _Noise:
    """The variance that slices bring into a round's ratio (its logarithm), and its degrees of freedom."""

    variance: float
    freedom: int


@dataclass(frozen=True, slots=True)
class _Spread:
    """The variance of the logarithms of ratios over rounds, pooled over like pairs, and its degrees of freedom.

    `noise` is the mean of these pairs' noise: the part that slices explain.
    """

    variance: float
    freedom: int
    noise: float

    def expected_variance(self, noise: _Noise | None) -> tuple[float, float]:
        """Return the variance that a pair of such noise should have, and its degrees of freedom.

        The degrees of a sum of variances are those of F. E. Satterthwaite ("An approximate distribution of estimates of
        variance components", 1946).
        """
        if noise is None:
            return self.variance, self.freedom
        variance = max(0.0, self.variance - self.noise) + noise.variance
        uncertainty = self.variance**2 / self.freedom + noise.variance**2 / noise.freedom
        freedom = variance**2 / uncertainty if uncertainty else self.freedom
        return variance, freedom


class RoundRatios:
    """The ratios of any two of some cases, for one figure.

    Two things make a ratio vary from round to round: the noise of its slices, which they show themselves, and how each
    cluster start suits each case. Cases of one cluster share its start, so that their ratios vary by the cases' own
    part only; ratios between clusters vary by both starts, too. Pairs are like one another where they are on the same
    cluster, or both on different ones, and of the same kinds of cases. Like pairs have a pooled variance. With a pair's
    own noise in place of their mean noise it moderates the pair's own variance over rounds (G. K. Smyth, "Linear models
    and empirical Bayes methods", 2004).
    """

    def __init__(self, values: Values, groups: Groups, series: Series | None = None) -> None:
        """Take values by case and round, each case's group, and the slices of cases that were measured in slices.

        A case without a group is on a cluster of its own.
        """
        self._values = values
        self._groups = {case: groups.get(case, Group(f"alone: {case}")) for case in values}
        self._blocks = _blocks(series or {})
        self._cases = list(values)
        rounds = sorted({number for by_round in values.values() for number in by_round})
        self._logs = _logs(values, self._cases, rounds)
        self._spreads = self._pool_variances()

    def ratio(self, case: str, other_case: str) -> RoundRatio | None:
        """Return `case` over `other_case`; None where no round has both, or their ratio is no number.

        Without an interval where fewer than two rounds have both, or one of the values is zero or infinite: then the
        ratio is the median of the rounds' ratios.
        """
        pairs = pair_by_round(self._values.get(case, {}), self._values.get(other_case, {}))
        if not all(_ordinary(left) and _ordinary(right) for left, right in pairs):
            median = paired_ratio(pairs)
            return RoundRatio(median.median, len(pairs)) if median else None
        if not pairs:
            return None
        logs = [math.log(left / right) for left, right in pairs]
        ratio = math.exp(statistics.fmean(logs))
        if len(logs) < LEAST_ROUNDS:
            return RoundRatio(ratio, len(logs))
        error, freedom = self._error(case, other_case, logs)
        return RoundRatio(ratio, len(logs), error, freedom)

    def _error(self, case: str, other_case: str, logs: list[float]) -> tuple[float, float]:
        """Return the standard error of a pair's mean logarithm and its degrees of freedom.

        A pair whose noise is not known keeps its own variance where that is larger than what it should have.
        """
        own_variance, own_freedom = statistics.variance(logs), len(logs) - 1
        spread = self._spreads[_kind(self._groups[case], self._groups[other_case])]
        noise = self._noise(case, other_case)
        prior, prior_freedom = spread.expected_variance(noise)
        weight = PRIOR_FREEDOM if noise is None else min(SLICED_FREEDOM, prior_freedom)
        moderated = (weight * prior + own_freedom * own_variance) / (weight + own_freedom)
        variance = max(own_variance, moderated) if noise is None else moderated
        freedom = min(weight + own_freedom, max(prior_freedom, own_freedom))
        return math.sqrt(variance / len(logs)), freedom

    def _noise(self, case: str, other_case: str) -> _Noise | None:
        """Estimate a pair's noise from its slices; None where neither round has enough of them."""
        case_blocks, other_blocks = self._blocks.get(case, {}), self._blocks.get(other_case, {})
        compared = self._values[case].keys() & self._values[other_case].keys()
        variances = []
        for number in case_blocks.keys() & other_blocks.keys() & compared:
            is_finite = np.isfinite(case_blocks[number]) & np.isfinite(other_blocks[number])
            differences = case_blocks[number][is_finite] - other_blocks[number][is_finite]
            if len(differences) >= LEAST_BLOCKS:
                variances.append((float(differences.var(ddof=1)) / len(differences), len(differences) - 1))
        if not variances:
            return None
        return _Noise(_mean(variances), sum(freedom for _, freedom in variances))

    def _pool_variances(self) -> dict[_Kind, _Spread]:
        """Pool the variances of all pairs that are like one another."""
        kinds: dict[_Kind, list[tuple[float, int]]] = {}
        noises: dict[_Kind, list[float]] = {}
        for place, case in enumerate(self._cases):
            differences = self._logs[place] - self._logs[place + 1 :]
            for other_case, row in zip(self._cases[place + 1 :], differences, strict=True):
                logs = row[~np.isnan(row)]
                if len(logs) >= LEAST_ROUNDS:
                    kind = _kind(self._groups[case], self._groups[other_case])
                    kinds.setdefault(kind, []).append((float(logs.var(ddof=1)), len(logs) - 1))
                    noise = self._noise(case, other_case)
                    noises.setdefault(kind, []).append(noise.variance if noise else 0.0)
        return {
            kind: _Spread(_mean(variances), self._freedom(kind), statistics.fmean(noises[kind]))
            for kind, variances in kinds.items()
        }

    def _freedom(self, like: _Kind) -> int:
        """Count the degrees of freedom of residuals by case and round; between clusters by cluster and round."""
        has_value = ~np.isnan(self._logs)
        cluster, *kinds = like
        groups = [self._groups[case] for case in self._cases]
        if cluster:
            return _residual_freedom(
                has_value[[group.cluster == cluster and group.kind in kinds for group in groups]]
            )
        names = dict.fromkeys(group.cluster for group in groups if group.kind in kinds)
        members = [[group.cluster == name for group in groups] for name in names]
        return _residual_freedom(np.array([has_value[rows].any(axis=0) for rows in members]))


def relative_half_width(low: float, high: float) -> float:
    """Return how far an interval of a ratio reaches from its middle, as a share: 0.05 is 5 %."""
    return math.sqrt(high / low) - 1


def _kind(left: Group, right: Group) -> _Kind:
    """Name the pairs that are like one: their cluster, empty for two different ones, and the kinds of both cases."""
    return (left.cluster if left.cluster == right.cluster else "", *sorted((left.kind, right.kind)))


def _ordinary(value: float) -> bool:
    return 0 < value < math.inf


def _logs(values: Values, cases: Iterable[str], rounds: Iterable[int]) -> _Table:
    """Lay out logarithms by case and round; nan where there is no value, or none that has a logarithm."""
    numbers = list(rounds)
    rows = [
        [
            math.log(value)
            if (value := values[case].get(number)) is not None and _ordinary(value)
            else math.nan
            for number in numbers
        ]
        for case in cases
    ]
    return np.array(rows, dtype=float).reshape(len(rows), len(numbers))


def _blocks(series: Series) -> dict[str, dict[int, _Table]]:
    """Return by case and round the logarithm of each block's mean; nan for a block without a value."""
    cycles: dict[int, int] = {}
    for by_round in series.values():
        for number, by_cycle in by_round.items():
            cycles[number] = max(cycles.get(number, 0), *(cycle + 1 for cycle in by_cycle))
    return {
        case: {number: _block_logs(by_cycle, cycles[number]) for number, by_cycle in by_round.items()}
        for case, by_round in series.items()
    }


def _block_logs(by_cycle: Mapping[int, float], cycles: int) -> _Table:
    count = min(BLOCKS, cycles)
    places = np.array([cycle * count // cycles for cycle in by_cycle])
    figures = np.array(list(by_cycle.values()), dtype=float)
    sums, numbers = np.bincount(places, figures, count), np.bincount(places, minlength=count)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(sums / numbers))


def _mean(variances: Iterable[tuple[float, int]]) -> float:
    """Return the mean of variances, weighted by their degrees of freedom."""
    weighted = list(variances)
    return sum(variance * freedom for variance, freedom in weighted) / sum(freedom for _, freedom in weighted)


def _residual_freedom(has_value: npt.NDArray[np.bool_]) -> int:
    """Count what is left of the cells of a table once its rows and columns have a level each; at least 1."""
    rows = has_value[has_value.sum(axis=1) >= LEAST_ROUNDS]
    columns = rows[:, rows.sum(axis=0) >= 2]
    return max(1, int(columns.sum()) - len(columns) - len(columns.T) + 1)
