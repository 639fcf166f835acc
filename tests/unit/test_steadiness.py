from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bench.analysis.statistics.steadiness import drift, flag, has_trend, outlier_mask, rounds_apart


def parts(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def test_drift_is_the_change_over_the_window_as_a_share_of_the_middle() -> None:
    assert drift(parts([100.0 + place for place in range(20)])) == pytest.approx(20 / 109.5)


def test_one_stalled_part_is_no_drift() -> None:
    assert drift(parts([100.0] * 19 + [100_000.0])) == 0


def test_half_empty_windows_tell_nothing() -> None:
    assert drift(parts([1.0] * 9)) is None


def test_a_steady_rise_is_a_trend_a_small_one_is_not() -> None:
    assert has_trend(parts([100.0 + place for place in range(20)]))
    assert not has_trend(parts([100.0 + place / 10 for place in range(20)]))


def test_noise_is_rarely_called_a_trend() -> None:
    """1,000 windows of pure noise: at 1 % more than 25 come once in 100,000 times."""
    draw = np.random.default_rng(3)
    assert sum(has_trend(parts(list(draw.lognormal(0, 0.3, 20)))) for _ in range(1000)) <= 25


def test_a_trial_far_from_its_case_is_an_outlier() -> None:
    assert outlier_mask([100.0, 101.0, 99.0, 102.0, 150.0]) == [False, False, False, False, True]


def test_within_a_tenth_of_the_median_nothing_is_an_outlier() -> None:
    assert not any(outlier_mask([100.0, 100.0, 100.0, 100.0, 109.0]))


@pytest.mark.parametrize(("far", "out"), [(119.0, False), (122.0, True)])
def test_where_trials_differ_more_an_outlier_is_further_off(far: float, out: bool) -> None:
    """The median absolute deviation of the logarithms is 0.036; 3.5 of it, times 1.4826, is the logarithm of 1.205."""
    steady = [math.exp(place) * 100 for place in (-0.036, -0.036, 0.0, 0.0, 0.036, 0.036)]
    assert outlier_mask([*steady, far])[-1] == out


def test_of_four_trials_nobody_can_say() -> None:
    assert not any(outlier_mask([1.0, 1.0, 1.0, 9.0]))


def trial(number: int, mean: float, case: str = "a") -> dict[str, Any]:
    return {"trial": number, "case": case, "verdict": "valid", "service_mean_ns": mean}


def test_flags_are_written_beside_each_other() -> None:
    rows = [*(trial(number, 100.0 + number) for number in range(4)), trial(4, 900.0)]
    flag(rows, {4: parts([float(place) for place in range(1, 21)])}, broken=())
    assert [row["flags"] for row in rows] == [None, None, None, None, "trend, outlier"]
    assert rows[0]["drift"] is None


def test_where_something_was_broken_nothing_is_flagged() -> None:
    rows = [trial(0, 100.0)]
    flag(rows, {0: parts([float(place) for place in range(1, 21)])}, broken={0})
    assert "flags" not in rows[0]


def in_rounds(system: str, case: str, means: list[float]) -> list[dict[str, Any]]:
    return [
        trial(number, mean, case) | {"system": system, "round": number} for number, mean in enumerate(means)
    ]


def test_a_round_that_is_slow_in_all_cases_is_apart() -> None:
    rows = [
        *in_rounds("pulsar", "a", [240.0, 100.0, 101.0, 99.0, 100.0]),
        *in_rounds("pulsar", "b", [30.0, 10.0, 10.2, 9.9, 10.0]),
        *in_rounds("pulsar", "c", [2.0, 1.0, 1.1, 0.9, 1.0]),
        *(row for case in "abc" for row in in_rounds("kafka", case, [100.0, 103.0, 98.0, 101.0, 99.0])),
    ]
    assert rounds_apart(rows) == [
        {"system": "pulsar", "round": 0, "ratio": pytest.approx(2.4), "cases": 3, "agree": 3}
    ]


def test_a_fast_round_is_apart_too_and_says_how_many_agree() -> None:
    rows = [
        *(row for case in "ab" for row in in_rounds("kafka", case, [100.0, 50.0, 101.0, 99.0, 100.0])),
        *in_rounds("kafka", "c", [100.0, 110.0, 101.0, 99.0, 100.0]),
    ]
    assert rounds_apart(rows) == [
        {"system": "kafka", "round": 1, "ratio": pytest.approx(0.5), "cases": 3, "agree": 2}
    ]


def test_one_slow_trial_of_three_leaves_its_round_in() -> None:
    rows = [
        *in_rounds("kafka", "a", [900.0, 100.0, 101.0, 99.0, 100.0]),
        *(row for case in "bc" for row in in_rounds("kafka", case, [100.0, 100.0, 101.0, 99.0, 100.0])),
    ]
    assert rounds_apart(rows) == []


@pytest.mark.parametrize(("cases", "rounds"), [(2, 5), (3, 4)])
def test_of_two_cases_or_four_rounds_no_round_is_apart(cases: int, rounds: int) -> None:
    means = [900.0, *[100.0] * (rounds - 1)]
    assert rounds_apart([row for case in "abc"[:cases] for row in in_rounds("kafka", case, means)]) == []


def test_a_round_less_than_a_quarter_off_stays_in() -> None:
    rows = [row for case in "abc" for row in in_rounds("kafka", case, [124.0, 100.0, 100.0, 100.0, 100.0])]
    assert rounds_apart(rows) == []


def test_invalid_trials_make_no_round_apart() -> None:
    rows = [row for case in "abc" for row in in_rounds("kafka", case, [100.0] * 5 + [900.0])]
    assert rounds_apart([row | {"verdict": "invalid"} if row["round"] == 5 else row for row in rows]) == []
