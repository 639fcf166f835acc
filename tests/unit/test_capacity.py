"""Capacities of several cluster starts as one."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.capacity.capacity import Capacity, SearchStep, combine_starts, pass_shares
from bench.capacity.judgement import HoldVerdict, Judgement

PASSED, FAILED, UNDECIDED, CLIENT_LIMITED = HoldVerdict


def step(rate: float, verdict: HoldVerdict, seconds: float = 60) -> SearchStep:
    return SearchStep(rate, seconds, Judgement(verdict, ""), confirms=True)


def capacity(passed: float | None, failed: float | None) -> Capacity:
    steps = [step(passed, PASSED)] if passed else []
    return Capacity((*steps, step(failed, FAILED) if failed else step(1e6, CLIENT_LIMITED)))


def test_medians_and_the_interval_over_starts() -> None:
    """Logarithms of 100, 110, 121 differ by ln 1.1; t(2) = 4.3027, so an end is 4.3027 ln 1.1 / sqrt(3) away."""
    result = combine_starts([capacity(100, 110), capacity(121, 133.1), capacity(110, 121)])
    reach = math.exp(4.302653 * math.log(1.1) / math.sqrt(3))

    assert (result.starts, result.passed_rate, result.failed_rate) == (3, 110, 121)
    assert result.interval is not None
    assert result.interval.low == pytest.approx(110 / reach)
    assert result.interval.high == pytest.approx(121 * reach)


def test_equal_starts_leave_the_interval_of_one() -> None:
    result = combine_starts([capacity(100, 110)] * 5)

    assert result.interval is not None
    assert result.interval.low == pytest.approx(100)
    assert result.interval.high == pytest.approx(110)


def test_below_three_starts_there_is_no_interval_over_starts() -> None:
    result = combine_starts([capacity(100, 110), capacity(110, 121)])

    assert (result.passed_rate, result.failed_rate, result.interval) == (105, 115.5, None)


def test_a_start_that_no_rate_passed_takes_the_interval_to_zero() -> None:
    result = combine_starts([capacity(100, 110), capacity(None, 10), capacity(100, 110)])

    assert result.passed_rate == 100
    assert result.interval is not None
    assert result.interval.low == 0


def test_a_start_that_the_client_limited_leaves_the_interval_open() -> None:
    result = combine_starts([capacity(100, 110), capacity(100, None), capacity(100, None)])

    assert (result.failed_rate, result.limited_by_client) == (math.inf, 2)
    assert result.interval is not None
    assert result.interval.high == math.inf


def test_starts_where_a_higher_rate_passed_are_counted() -> None:
    odd = Capacity((step(100, FAILED), step(110, PASSED), step(121, FAILED)))

    assert combine_starts([odd, capacity(100, 110)]).non_monotone == 1


def test_pass_shares_fall_with_the_rate() -> None:
    """At 110 one of two holds passed, at 120 both: three of four passed at both together."""
    steps = [
        *(step(100, PASSED), step(110, PASSED), step(110, FAILED)),
        *(step(120, PASSED), step(120, PASSED), step(130, FAILED)),
    ]

    assert [(share.rate, round(share.share, 6)) for share in pass_shares(steps)] == [
        (100, 1),
        (110, 0.75),
        (120, 0.75),
        (130, 0),
    ]


def test_longer_holds_weigh_more() -> None:
    (share,) = pass_shares([step(100, PASSED, 60), step(100, FAILED, 20)])

    assert share.share == pytest.approx(0.75)


def test_rates_that_were_not_decided_have_no_pass_share() -> None:
    assert pass_shares([step(100, UNDECIDED), step(200, CLIENT_LIMITED)]) == ()


def test_without_starts_there_is_nothing_to_combine() -> None:
    with pytest.raises(statistics.StatisticsError):
        combine_starts([])


bounds = st.floats(1, 1e5).flatmap(lambda low: st.tuples(st.just(low), st.floats(1.01 * low, 2 * low)))


@given(st.lists(bounds, min_size=3, max_size=8))
def test_the_interval_reaches_over_both_medians(starts: list[tuple[float, float]]) -> None:
    result = combine_starts([capacity(low, high) for low, high in starts])

    assert result.interval is not None
    assert result.interval.low <= result.passed_rate < result.failed_rate <= result.interval.high
