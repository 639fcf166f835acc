from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.statistics.interval import (
    level,
    level_interval,
    median_interval,
    metric_value,
    most_unseen,
    paired_ratio,
)

values = st.lists(st.floats(1, 1e6), min_size=5, max_size=12)


@settings(max_examples=30)
@given(values)
def test_an_interval_lies_within_the_values(sample: list[float]) -> None:
    found = median_interval(sample)
    assert found is not None
    assert min(sample) <= found.low <= found.high <= max(sample)


def test_below_five_values_there_is_no_interval() -> None:
    assert median_interval([1.0, 2.0, 3.0, 4.0]) is None


def test_equal_values_leave_no_doubt() -> None:
    found = median_interval([3.0] * 5)
    assert found is not None
    assert (found.low, found.high) == (3.0, 3.0)


def test_mostly_equal_values_have_an_interval_though_no_acceleration_is_defined() -> None:
    found = median_interval([1.0, 2.0, 2.0, 2.0, 2.0])
    assert found is not None
    assert found.high == 2.0


def test_the_same_values_give_the_same_interval() -> None:
    assert median_interval([1.0, 5.0, 3.0, 4.0, 2.0]) == median_interval([1.0, 5.0, 3.0, 4.0, 2.0])


def test_intervals_hold_the_true_median_about_as_often_as_they_say() -> None:
    """200 samples of eight: with a true share of 95 % fewer than 180 hits come once in a thousand times."""
    draw = np.random.default_rng(7)
    samples = [list(np.exp(draw.normal(0.0, 0.1, 8))) for _ in range(200)]
    found = [median_interval(sample) for sample in samples]
    hits = sum(one is not None and one.low <= 1.0 <= one.high for one in found)
    assert hits >= 180


def test_a_ratio_is_that_of_each_round_not_of_the_medians() -> None:
    found = paired_ratio([(2.0, 1.0), (20.0, 10.0), (300.0, 100.0)])
    assert found is not None
    assert (found.median, found.interval) == (2.0, None)


def test_a_ratio_to_nothing_is_none() -> None:
    assert paired_ratio([(1.0, 0.0)]) is None
    assert paired_ratio([(0.0, 0.0)]) is None


@pytest.mark.parametrize(
    ("pairs", "median"),
    [
        ([(2.0, 1.0)] * 3 + [(math.inf, 1.0)] * 2, 2.0),
        ([(2.0, 1.0)] * 2 + [(math.inf, 1.0)] * 3, None),
        ([(2.0, 1.0)] * 3 + [(1.0, math.inf)] * 2, 2.0),
        ([(2.0, 1.0)] * 2 + [(1.0, math.inf)] * 3, None),
        ([(2.0, 1.0)] + [(math.inf, math.inf)] * 4, 2.0),
        ([(math.inf, math.inf)] * 5, None),
    ],
)
def test_what_never_came_is_longest_in_a_ratio_and_leaves_it_without_an_interval(
    pairs: list[tuple[float, float]], median: float | None
) -> None:
    found = paired_ratio(pairs)
    assert (found and (found.median, found.interval)) == (median and (median, None))


def test_a_level_has_the_t_interval_of_its_logarithms() -> None:
    """Logarithms 0, 0.1 and 0.2: mean 0.1, deviation 0.1, t(2) = 4.3027, so 0.1 ± 4.3027 * 0.1 / sqrt(3)."""
    found = level_interval([1.0, math.exp(0.1), math.exp(0.2)])

    assert found is not None
    assert math.log(found.low) == pytest.approx(0.1 - 0.24842, abs=1e-5)
    assert math.log(found.high) == pytest.approx(0.1 + 0.24842, abs=1e-5)


@pytest.mark.parametrize("sample", [[1.0, 2.0], [1.0, 2.0, 0.0], [1.0, 2.0, math.inf]])
def test_a_level_of_two_starts_or_without_a_logarithm_has_no_interval(sample: list[float]) -> None:
    assert level_interval(sample) is None


@settings(max_examples=50)
@given(st.lists(st.floats(1, 1e6), min_size=3, max_size=9))
def test_an_interval_of_a_level_holds_it(sample: list[float]) -> None:
    found = level_interval(sample)
    assert found is not None
    assert found.low <= level(sample) * (1 + 1e-12)
    assert found.high >= level(sample) * (1 - 1e-12)


def test_levels_have_the_ratio_of_their_rounds() -> None:
    """Rounds of 2 and 8, and of 1 and 2: ratios 2 and 4, whose geometric mean is that of 4 over that of sqrt 2."""
    assert level([2.0, 8.0]) / level([1.0, 2.0]) == pytest.approx(math.sqrt(2 * 4))


def test_a_level_without_a_logarithm_is_the_median() -> None:
    assert level([0.0, 3.0, 9.0]) == 3.0
    assert level([1.0, math.inf, 2.0]) == 2.0


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, math.inf),
        ({"e2e_min_ns": 5, "e2e_p50_ns": 9}, 9),
        ({"e2e_messages": None}, None),  # there were no consumers
        ({"throughput_msgs_per_s": 0.0}, None),  # there was nothing to come
        ({"throughput_msgs_per_s": None}, None),
    ],
)
def test_where_nothing_came_to_consumers_every_time_is_endless(
    changed: dict[str, float | None], expected: float | None
) -> None:
    row = {
        "e2e_messages": 0,
        "throughput_msgs_per_s": 100.0,
        "e2e_min_ns": None,
        "e2e_p50_ns": None,
        **changed,
    }

    assert metric_value(row, "e2e_p50_ns") == expected


def test_what_no_trial_showed_may_still_come_in_some() -> None:
    assert [round(most_unseen(trials), 3) for trials in (1, 5, 30, 300)] == [0.95, 0.451, 0.095, 0.01]
