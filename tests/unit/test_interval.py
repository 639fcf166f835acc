from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.statistics.interval import median_interval, paired_ratio, timed
from bench.analysis.statistics.rounds import rounds_for_difference, rounds_needed

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


def test_a_paired_t_test_of_known_size() -> None:
    """Standard tables: a difference of one deviation, 5 % two-sided, power 80 %: 10 pairs; a median takes more."""
    assert rounds_needed(math.log1p(0.05), 0.05) in range(14, 18)


def test_never_fewer_rounds_than_an_interval_takes() -> None:
    assert rounds_needed(0.0, 0.05) == 5


def rows(case: str, rates: list[float]) -> list[dict[str, object]]:
    fixed = {"case": case, "verdict": "valid"}
    return [{**fixed, "round": number, "throughput_msgs_per_s": rate} for number, rate in enumerate(rates)]


def test_what_all_cases_of_a_round_share_takes_no_rounds() -> None:
    trials = [*rows("a", [1.0, 2.0, 3.0, 4.0, 5.0]), *rows("b", [2.0, 4.0, 6.0, 8.0, 10.0])]
    found = rounds_for_difference(trials, closed=True)
    assert found == {"difference": 0.05, "metric": "throughput_msgs_per_s", "half": 5, "most": 5}


def test_too_few_shared_rounds_tell_nothing() -> None:
    trials = [*rows("a", [1.0] * 5), *rows("b", [1.0] * 4)]
    assert rounds_for_difference(trials, closed=True) is None


def test_nine_in_ten_of_few_pairs_are_all_of_them() -> None:
    """Three cases: one pair agrees round by round, the two others vary by far more."""
    noisy = [1.0, 2.0, 1.0, 2.0, 1.0]
    trials = [*rows("a", [1.0] * 5), *rows("b", [1.0] * 5), *rows("c", noisy)]
    found = rounds_for_difference(trials, closed=True)
    assert found is not None
    assert found["most"] == found["half"] > 500

    quiet = [*rows("a", [1.0] * 5), *rows("b", [1.0] * 5), *rows("d", [1.0, 1.01, 1.0, 1.01, 1.0])]
    found = rounds_for_difference([*quiet, *rows("c", noisy)], closed=True)
    assert found is not None
    assert found["most"] > 500


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

    assert timed(row, "e2e_p50_ns") == expected
