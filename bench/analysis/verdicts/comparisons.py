"""One comparison of an expectation: decided by an interval over rounds, by how many rounds agree, or by a bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import scipy

from bench import numbers
from bench.analysis.statistics.look_levels import level
from bench.analysis.verdicts.claim_forms import HELD, NOT, UNDECIDED, Form, Pairs
from bench.model import Interval
from bench.statistics.interval import pair_by_round, paired_ratio, values_by_case
from bench.statistics.round_ratios import Group, Groups, RoundRatio, RoundRatios
from bench.statistics.slice_series import SliceSeries

Row = Mapping[str, Any]

CHANCE = 0.05
SMALLEST_EFFECT = 0.05


@dataclass(frozen=True, slots=True)
class Basis:
    """What a run in which nothing was broken is judged by.

    `clusters` names the cluster of each case. `looks` is how often the run was evaluated, to decide whether to go
    on. `smallest_effect` is a share: 0.05 is 5 %. `slices` has what the cases' slices came to.
    """

    clusters: Groups = field(default_factory=dict)
    looks: int = 0
    smallest_effect: float = SMALLEST_EFFECT
    slices: SliceSeries = field(default_factory=dict)

    @property
    def level(self) -> float:
        """The confidence level of each interval."""
        return level(self.looks)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared, and what came of it.

    `ratio` is the left side over the right. `distance` is that of its logarithm from the ratio at which the claim
    turns. `chance` is the probability of such a distance were that the true ratio. It is None where rounds were
    counted. `rounds_needed` estimates in how many rounds it would be decided. `values` has each valid trial's
    value, where it was held against a bound.
    """

    subject: str
    rounds_for: int
    rounds_against: int
    rounds: int
    verdict: str
    ratio: float | None = None
    interval: Interval | None = None
    distance: float | None = None
    chance: float | None = None
    rounds_needed: int | None = None
    values: tuple[float | None, ...] | None = None

    def record(self) -> dict[str, Any]:
        """Return the comparison as results/expectations.json has it."""
        return {
            "what": self.subject,
            "rounds_for": self.rounds_for,
            "rounds_against": self.rounds_against,
            "rounds": self.rounds,
            "rounds_needed": self.rounds_needed,
            "ratio_median": self.ratio,
            "ratio_low": self.interval.low if self.interval else None,
            "ratio_high": self.interval.high if self.interval else None,
            "values": None
            if self.values is None
            else [numbers.NEVER if value == math.inf else value for value in self.values],
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a figure of a case."""

    case: str
    metric: str

    @property
    def key(self) -> str:
        """The side's name among all figures of all cases."""
        return f"{self.metric} of {self.case}"


def _of_metric(group: Group, metric: str) -> Group:
    """Return the group of a case for one metric: each metric varies in its own way."""
    return Group(f"{metric} on {group.cluster}", f"{metric} of {group.kind}")


class Comparator:
    """Compares cases over rounds: by intervals where there is a basis for them, else by how many rounds agree."""

    def __init__(self, rows: Sequence[Row], metrics: Sequence[str], basis: Basis | None) -> None:
        """Take the valid trials' rows, the metrics that are compared, and the basis of intervals."""
        self._basis = basis
        sides = {
            Side(case, metric): rounds
            for metric in dict.fromkeys(metrics)
            for case, rounds in values_by_case(rows, metric).items()
        }
        self._values = {side.key: rounds for side, rounds in sides.items()}
        clusters = basis.clusters if basis else {}
        groups = {
            side.key: _of_metric(clusters.get(side.case, Group(side.case)), side.metric) for side in sides
        }
        slices = basis.slices if basis else {}
        series = {
            side.key: slices[side.metric][side.case]
            for side in sides
            if side.case in slices.get(side.metric, {})
        }
        self._ratios = RoundRatios(self._values, groups, series)

    def compare(self, subject: str, form: Form, left: Side, right: Side) -> Comparison:
        """Compare two sides, round by round.

        A value that is zero or infinite has no logarithm: then rounds are counted in any run.
        """
        pairs = pair_by_round(self._values.get(left.key, {}), self._values.get(right.key, {}))
        if self._basis is None:
            return by_signs(subject, form, pairs)
        if any(value <= 0 or math.isinf(value) for pair in pairs for value in pair):
            return by_signs(subject, form, pairs, 1 - self._basis.level)
        return by_interval(subject, form, pairs, self._ratios.ratio(left.key, right.key), self._basis.level)


def by_interval(
    subject: str, form: Form, pairs: Pairs, ratio: RoundRatio | None, confidence: float
) -> Comparison:
    """Decide by the interval of a ratio; without one it is undecided."""
    rounds_for, rounds_against = form.agreement(pairs)
    interval = ratio.interval(confidence) if ratio else None
    if ratio is None or interval is None:
        comparison = Comparison(subject, rounds_for, rounds_against, len(pairs), UNDECIDED)
        return comparison if ratio is None else _with_ratio(comparison, ratio.ratio, None, form)
    comparison = Comparison(
        subject,
        rounds_for,
        rounds_against,
        len(pairs),
        form.verdict(ratio.ratio, interval),
        chance=ratio.chance(form.limit(ratio.ratio)),
        rounds_needed=ratio.rounds_for(form.reach(ratio.ratio), confidence),
    )
    return _with_ratio(comparison, ratio.ratio, interval, form)


def by_signs(subject: str, form: Form, pairs: Pairs, chance: float = CHANCE) -> Comparison:
    """Decide by a sign test over rounds, which errs with a probability of `chance` at most."""
    rounds_for, rounds_against = form.agreement(pairs)
    verdict = _signs(rounds_for, rounds_against, len(pairs), chance)
    comparison = Comparison(subject, rounds_for, rounds_against, len(pairs), verdict)
    ratio = paired_ratio(pairs)
    return _with_ratio(comparison, ratio.median, ratio.interval, form) if ratio else comparison


def _with_ratio(comparison: Comparison, ratio: float, interval: Interval | None, form: Form) -> Comparison:
    distance = abs(math.log(ratio / form.limit(ratio))) if ratio > 0 else None
    return replace(comparison, ratio=ratio, interval=interval, distance=distance)


def _signs(rounds_for: int, rounds_against: int, rounds: int, chance: float) -> str:
    """Decide where so many rounds would agree by chance with a probability of `chance` at most."""
    for verdict, agree in ((HELD, rounds_for), (NOT, rounds_against)):
        if rounds and scipy.stats.binomtest(agree, rounds, alternative="greater").pvalue <= chance:
            return verdict
    return UNDECIDED


def is_refuted(comparisons: Sequence[Comparison], confidence: float) -> bool:
    """Whether more goes against a claim than chance would bring among so many comparisons.

    A trial beyond a bound is no chance. Of intervals the one that leaves least to chance decides, times their number
    (S. Holm, 1979). Of sign tests so many must go against the claim as come with a probability of 5 % at most.
    """
    against = [comparison for comparison in comparisons if comparison.verdict == NOT]
    if any(comparison.values is not None for comparison in against):
        return True
    tested = [comparison for comparison in comparisons if comparison.chance is not None]
    chances = [comparison.chance for comparison in against if comparison.chance is not None]
    if chances and min(chances) * len(tested) <= 1 - confidence:
        return True
    return _many_signs(
        [comparison for comparison in comparisons if comparison.chance is None], 1 - confidence
    )


def _many_signs(comparisons: Sequence[Comparison], chance: float) -> bool:
    """Whether as many sign tests would go against a claim with a probability of `chance` at most, were all equal.

    Each goes against it at most as often as it errs, and never where it has too few rounds to decide anything.
    """
    errors = [error for comparison in comparisons if (error := _error(comparison.rounds, chance))]
    against = sum(comparison.verdict == NOT for comparison in comparisons)
    return bool(against and scipy.stats.binom.sf(against - 1, len(errors), max(errors)) <= chance)


def _error(rounds: int, chance: float) -> float:
    """Return how often a sign test over so many rounds decides, by chance, for one side."""
    chances = (float(scipy.stats.binom.sf(agree - 1, rounds, 0.5)) for agree in range(rounds + 1))
    return next((error for error in chances if error <= chance), 0.0)
