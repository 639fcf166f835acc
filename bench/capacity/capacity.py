"""What searches found: an interval of rates on each cluster start, and over several of them."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from bench import numbers
from bench.capacity.hold import Hold
from bench.capacity.judgement import HoldVerdict, Judgement, judge
from bench.capacity.service_level import ServiceLevel
from bench.model import Interval
from bench.statistics.interval import FEWEST_STARTS, level_interval


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One rate of a search, in messages a second, how many seconds it was held, and the judgement on it.

    `confirms`: a long hold, on which the result rests.
    """

    rate: float
    seconds: float
    judgement: Judgement
    confirms: bool

    @property
    def verdict(self) -> HoldVerdict:
        return self.judgement.verdict


def steps_of(holds: Iterable[tuple[Hold, bool]], level: ServiceLevel) -> list[SearchStep]:
    """Judge the holds of a search, each with whether it confirms; what was held again counts as one hold."""
    last = {(hold.rate, confirms): hold for hold, confirms in merge_repeats(holds)}
    return [
        SearchStep(hold.rate, hold.seconds, judge(hold, level), confirms)
        for (_, confirms), hold in last.items()
    ]


def merge_repeats(holds: Iterable[tuple[Hold, bool]]) -> Iterator[tuple[Hold, bool]]:
    """Join each hold of a search with those before it at the same rate, as the search judges them."""
    by_rate: dict[tuple[float, bool], Hold] = {}
    for hold, confirms in holds:
        earlier_hold = by_rate.get((hold.rate, confirms))
        by_rate[hold.rate, confirms] = hold if earlier_hold is None else earlier_hold.merge(hold)
        yield by_rate[hold.rate, confirms], confirms


def bracket(holds: Iterable[tuple[float, str, bool]]) -> tuple[float | None, float | None]:
    """Return the highest rate that passed a search and the lowest that failed it; see Capacity.

    Each hold has its rate, its verdict, and whether it confirms.
    """
    rates: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for rate, verdict, confirms in holds:
        rates[verdict, confirms].append(rate)
    passed = max(rates[HoldVerdict.PASSED, True], default=None)
    long, short = rates[HoldVerdict.FAILED, True], rates[HoldVerdict.FAILED, False]
    return passed, min(long or (rate for rate in short if rate > (passed or 0)), default=None)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The result of a search on one cluster start: the interval from `passed_rate` to `failed_rate`.

    It follows from the steps in their order. Rates are in messages a second.
    """

    steps: tuple[SearchStep, ...]

    @property
    def passed_rate(self) -> float | None:
        """The highest rate that passed a long hold; None where none did."""
        return self._bracket()[0]

    @property
    def failed_rate(self) -> float | None:
        """The lowest rate that failed a long hold.

        Where none did, the lowest above `passed_rate` that failed a short one. None where none did either: the capacity
        has no upper bound then.
        """
        return self._bracket()[1]

    @property
    def middle_rate(self) -> float | None:
        """The geometric mean of both ends; None where one is missing."""
        passed, failed = self.passed_rate, self.failed_rate
        return math.sqrt(passed * failed) if passed and failed else None

    @property
    def undecided_rates(self) -> list[float]:
        """The rates that neither passed nor failed a long hold, the lowest first."""
        return sorted(self._rates(HoldVerdict.UNDECIDED, confirms=True))

    @property
    def limited_by_client(self) -> bool:
        """Whether the client, and not the servers, kept the search from going further up."""
        return self.failed_rate is None and HoldVerdict.CLIENT_LIMITED in {
            step.verdict for step in self.steps
        }

    @property
    def non_monotone(self) -> bool:
        """Whether a rate passed that lies above one that failed; of a rate that was held twice the later counts."""
        verdicts = {step.rate: step.verdict for step in self.steps}
        failed = [rate for rate, verdict in verdicts.items() if verdict is HoldVerdict.FAILED]
        passed = [rate for rate, verdict in verdicts.items() if verdict is HoldVerdict.PASSED]
        return max(passed, default=0.0) > min(failed, default=math.inf)

    @property
    def finding(self) -> str:
        """What was found, as a sentence."""
        passed, failed = self.passed_rate, self.failed_rate
        if passed is None:
            lowest = min(self.steps, key=lambda step: (step.rate, not step.confirms))
            meets = "meets" if lowest.verdict is HoldVerdict.FAILED else "is shown to meet"
            tried = f"The lowest that was tried is {numbers.rate(lowest.rate)} messages/s ({lowest.verdict})."
            return f"No rate {meets} the service level. {tried}"
        if failed is not None:
            return f"{numbers.rate(passed)} messages/s passed and {numbers.rate(failed)} failed."
        above = "above it the client was the limit" if self.limited_by_client else "no rate above it failed"
        return f"At least {numbers.rate(passed)} messages/s: {above}."

    def _bracket(self) -> tuple[float | None, float | None]:
        return bracket((step.rate, step.verdict, step.confirms) for step in self.steps)

    def _rates(self, verdict: HoldVerdict, *, confirms: bool) -> list[float]:
        return [step.rate for step in self.steps if (step.verdict, step.confirms) == (verdict, confirms)]


@dataclass(frozen=True, slots=True)
class PassShare:
    """At which share of the cluster starts a rate, in messages a second, passes: it never rises with the rate."""

    rate: float
    share: float


@dataclass(frozen=True, slots=True)
class CombinedCapacity:
    """The results of several cluster starts as one.

    `passed_rate` and `failed_rate` are medians, 0 where most starts have no rate that passed, and infinite where most
    have none that failed. `interval` holds the capacity of a typical cluster start with 95 % confidence; None below
    three starts. `limited_by_client` and `non_monotone` count the starts of which either is so.
    """

    starts: int
    passed_rate: float
    failed_rate: float
    interval: Interval | None
    pass_shares: tuple[PassShare, ...]
    limited_by_client: int
    non_monotone: int


def combine_starts(results: Sequence[Capacity]) -> CombinedCapacity:
    """Combine the results of one configuration over cluster starts. Raises StatisticsError without any.

    The interval begins where that of the rates that passed does, and ends where that of the rates that failed does
    (`level_interval`). Where a start has no rate that passed, or none that failed, it begins at 0, or has no end.
    """
    passed = [result.passed_rate or 0.0 for result in results]
    failed = [result.failed_rate or math.inf for result in results]
    return CombinedCapacity(
        starts=len(results),
        passed_rate=statistics.median(passed),
        failed_rate=statistics.median(failed),
        interval=_interval(passed, failed),
        pass_shares=pass_shares(step for result in results for step in result.steps),
        limited_by_client=sum(result.limited_by_client for result in results),
        non_monotone=sum(result.non_monotone for result in results),
    )


def pass_shares(steps: Iterable[SearchStep]) -> tuple[PassShare, ...]:
    """Return by rate the share of holds that passed, of those that were decided, weighted by their seconds.

    Where a higher rate passed more often than a lower one they are averaged: isotonic regression (R. E. Barlow et al.,
    "Statistical Inference under Order Restrictions", 1972).
    """
    passed: dict[float, float] = {}
    seconds: dict[float, float] = {}
    for step in steps:
        if step.verdict in {HoldVerdict.PASSED, HoldVerdict.FAILED}:
            share = step.seconds * (step.verdict is HoldVerdict.PASSED)
            passed[step.rate] = passed.get(step.rate, 0.0) + share
            seconds[step.rate] = seconds.get(step.rate, 0.0) + step.seconds
    rates = sorted(seconds)
    if not rates:
        return ()
    weights = np.array([seconds[rate] for rate in rates])
    shares = np.array([passed[rate] for rate in rates]) / weights
    fitted = scipy.optimize.isotonic_regression(shares, weights=weights, increasing=False).x
    return tuple(PassShare(rate, float(share)) for rate, share in zip(rates, fitted, strict=True))


def _interval(passed: Sequence[float], failed: Sequence[float]) -> Interval | None:
    if len(passed) < FEWEST_STARTS:
        return None
    low, high = level_interval(passed), level_interval(failed)
    return Interval(  # logarithms and back may round past a median that all starts share
        min(low.low if low else min(passed), statistics.median(passed)),
        max(high.high if high else max(failed), statistics.median(failed)),
    )
