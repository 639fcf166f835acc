"""The levels of looks at a run that goes on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bench.analysis.statistics.look_levels import FIRST_LOOK, cumulative_alpha, level


def test_nobody_looked_means_95_percent() -> None:
    assert level(0) == 0.95


def test_the_first_look_spends_half() -> None:
    """k / (k + 1) of 5 %: 2.5 % at the first look."""
    assert level(1) == pytest.approx(0.975)
    assert cumulative_alpha(1) == pytest.approx(0.025)


def test_the_second_look_may_spend_two_thirds_in_all() -> None:
    """After Armitage: P(|z1| > c1 or |z2| > c2) of sums over 2 and 3 rounds, by the bivariate normal distribution."""
    first, second = (float(stats.norm.isf((1 - level(look)) / 2)) for look in (1, 2))
    together = stats.multivariate_normal(cov=[[1, (2 / 3) ** 0.5], [(2 / 3) ** 0.5, 1]])
    inside = together.cdf([first, second], lower_limit=[-first, -second])

    assert 1 - inside == pytest.approx(0.05 * 2 / 3, abs=1e-4)


def test_levels_rise_so_that_no_number_of_looks_spends_it_all() -> None:
    levels = [level(look) for look in range(1, 13)]

    assert levels == sorted(levels)
    assert cumulative_alpha(10**9) < 0.05 + 1e-12


def test_twelve_looks_at_equal_cases_decide_falsely_in_4_6_percent() -> None:
    """12 / 13 of 5 %; 20,000 runs: a share beyond 5.2 % comes once in 100,000 times."""
    rounds = np.random.default_rng(11).normal(size=(20_000, 13)).cumsum(axis=1)
    numbers = np.arange(FIRST_LOOK, 14)
    bounds = np.array([stats.norm.isf((1 - level(look)) / 2) for look in range(1, 13)])
    crossed = np.abs(rounds[:, FIRST_LOOK - 1 :]) > bounds * np.sqrt(numbers)

    assert 0.040 < crossed.any(axis=1).mean() < 0.052
