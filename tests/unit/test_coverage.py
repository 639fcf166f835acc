"""Intervals and decisions over rounds, on simulated runs of few repetitions; tests/perf/coverage.py has the many."""

from __future__ import annotations

from tests.perf.coverage import APART, MACHINES, coverage, decisions


def test_intervals_hold_the_true_ratio_about_as_often_as_they_say() -> None:
    """60 runs of 5 ratios to the same case; 400 gave 95 to 98 %."""
    assert coverage(MACHINES[2], rounds=3, runs=60).held > 0.9


def test_intervals_between_clusters_hold_it_from_two_rounds_on() -> None:
    """Two clusters differ once only in two rounds: 40 runs of 6 ratios."""
    assert coverage(APART[0], rounds=2, runs=40).held > 0.9


def test_looking_after_each_round_rarely_claims_an_order_of_equals_or_the_wrong_one() -> None:
    """40 runs, 6 looks: at 4 % more than 7 come once in 10,000 times; a fifth slower is seen in nearly all of them."""
    found = decisions(MACHINES[2], runs=40, looks=6)

    assert found.held[0.0][-1] + found.denied[0.0][-1] <= 7 / 40
    assert found.denied[0.1][-1] + found.denied[0.2][-1] == 0
    assert found.held[0.2][-1] > 0.9
