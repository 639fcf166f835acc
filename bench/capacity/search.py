"""The search for the highest sustained rate on one cluster start: which rate to hold next."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

from bench.capacity.capacity import Capacity, SearchStep
from bench.capacity.hold import Hold
from bench.capacity.judgement import HoldVerdict, Judgement, judge, probably_passes
from bench.capacity.service_level import ServiceLevel

_FEWEST_MESSAGES = 400
"""Fewer do not show that at most one in 100 is late, even where none is."""
_EXACT = 1 + 1e-9
"""Two rates that are a width apart are not further apart by a rounding."""


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """A hold to be made next: a rate in messages a second, and its seconds after the settling, which do not count.

    `confirms`: a long hold, on which the result rests.
    """

    rate: float
    seconds: float
    settle_seconds: float
    confirms: bool = False


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How far and how long a search looks.

    Shares are of a closed-loop rate: no rate below `lowest_share` of it or above `highest_share` is tried. Widths are
    ratios of two rates. A long hold that does not decide is repeated until it is `most_lengths` times as long.
    """

    first_share: float = 0.1
    lowest_share: float = 0.01
    highest_share: float = 10.0
    search_seconds: float = 20.0
    confirm_seconds: float = 60.0
    settle_seconds: float = 10.0
    search_width: float = 1.05
    confirm_width: float = 1.1
    most_lengths: int = 4


_PLAN = SearchPlan()
_Walk = Generator[HoldRequest, Hold, None]
_Decision = Generator[HoldRequest, Hold, HoldVerdict]
_Bracket = Generator[HoldRequest, Hold, float | None]


class Search:
    """Asks for one hold after the other until both ends of the interval are confirmed.

    Make the hold of `request`, hand it to `add`, and go on until `request` is None; then `result` is what was found.
    Several searches can take turns. The same holds lead to the same search, so that one that broke off goes on once its
    recorded holds were added again.

    Short holds find a candidate: the rate doubles to the first failure, then the logarithm of the rate is bisected. A
    short hold that does not decide counts by its figures themselves. Long holds confirm: the candidate must pass, and a
    rate 10 % above it must fail. Where the candidate does not pass, lower rates are tried, in steps that grow; where
    the rate above passes, higher ones. So short holds only save time, and nothing rests on them (as the preceding
    targets of MLRsearch: M. Konstantynowicz and V. Polak,
    draft-ietf-bmwg-mlrsearch).
    """

    def __init__(self, closed_loop_rate: float, level: ServiceLevel, plan: SearchPlan = _PLAN) -> None:
        """Take the throughput of a closed loop, in messages a second: it sets where the search begins and ends."""
        self._level = level
        self._plan = plan
        self._first = plan.first_share * closed_loop_rate
        self._lowest = plan.lowest_share * closed_loop_rate
        self._highest = plan.highest_share * closed_loop_rate
        self._steps: list[SearchStep] = []
        self._judgement: Judgement | None = None
        self._walk = self._rates()
        self.request: HoldRequest | None = next(self._walk)

    def add(self, hold: Hold) -> None:
        """Take the hold that `request` asked for. Raises ValueError for another one."""
        if self.request is None or hold.rate != self.request.rate:
            raise ValueError(f"a hold at {hold.rate} messages/s was not asked for")
        try:
            self.request = self._walk.send(hold)
        except StopIteration:
            self.request = None

    @property
    def judgement(self) -> Judgement:
        """The judgement on the last hold, joined with its repeats. Raises ValueError before the first."""
        if self._judgement is None:
            raise ValueError("no hold was added yet")
        return self._judgement

    def result(self) -> Capacity:
        """Return what is known. Raises ValueError while a hold is still asked for."""
        if self.request is not None:
            raise ValueError("the search is not over")
        return Capacity(tuple(self._steps))

    def _rates(self) -> _Walk:
        stage = _Stage(self._plan.search_width, up=2.0, up_growth=1.0, down=2.0, confirms=False)
        candidate = yield from self._bracket(self._first, stage)
        if candidate is not None:
            yield from self._confirmation(candidate)

    def _confirmation(self, candidate: float) -> _Walk:
        """Hold rates around a candidate for long: first to a bracket, then upwards until one fails for certain."""
        width = self._plan.confirm_width
        stage = _Stage(width, up=width, up_growth=2.0, down=math.sqrt(width), confirms=True)
        passed = yield from self._bracket(candidate, stage)
        rate = max(step.rate for step in self._steps if step.confirms)
        while passed is not None and self._open_above() and rate < self._highest:
            rate = min(self._highest, rate * width)
            width **= 2
            yield from self._decision(rate, confirms=True)

    def _open_above(self) -> bool:
        """Whether no long hold has failed yet, nor was limited by the client."""
        verdicts = {step.verdict for step in self._steps if step.confirms}
        return not verdicts & {HoldVerdict.FAILED, HoldVerdict.CLIENT_LIMITED}

    def _bracket(self, first: float, stage: _Stage) -> _Bracket:
        """Close in on the highest rate that passes, from `first` on; return it, None where the lowest does not pass.

        What is undecided after long holds did not pass.
        """
        passed, not_passed, rate = 0.0, math.inf, first
        up, down = stage.up, stage.down
        while not_passed > stage.width * passed * _EXACT:
            verdict = yield from self._decision(rate, confirms=stage.confirms)
            if verdict is HoldVerdict.PASSED:
                passed = rate
            else:
                not_passed = rate
            if rate == (self._highest if verdict is HoldVerdict.PASSED else self._lowest):
                break
            if not passed:
                rate, down = max(self._lowest, rate / down), down**2
            elif math.isinf(not_passed):
                rate, up = min(self._highest, rate * up), up**stage.up_growth
            else:
                rate = math.sqrt(passed * not_passed)
        return passed or None

    def _decision(self, rate: float, *, confirms: bool) -> _Decision:
        """Hold a rate: once, or to confirm it until it is decided, or as long as it may be held."""
        seconds = self._plan.confirm_seconds if confirms else self._plan.search_seconds
        seconds = max(seconds, _FEWEST_MESSAGES / rate)
        request = HoldRequest(rate, seconds, self._plan.settle_seconds, confirms)
        hold = yield request
        judgement = self._judgement = judge(hold, self._level)
        for _ in range(1, self._plan.most_lengths if confirms else 1):
            if judgement.verdict is not HoldVerdict.UNDECIDED:
                break
            hold = hold.merge((yield request))
            judgement = self._judgement = judge(hold, self._level)
        self._steps.append(SearchStep(rate, hold.seconds, judgement, confirms))
        if judgement.verdict is HoldVerdict.UNDECIDED and not confirms and probably_passes(hold, self._level):
            return HoldVerdict.PASSED
        return judgement.verdict


@dataclass(frozen=True, slots=True)
class _Stage:
    """How a bracket is found: its width at the end, and the factors of its steps; steps down grow with each."""

    width: float
    up: float
    up_growth: float
    down: float
    confirms: bool
