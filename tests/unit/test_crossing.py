"""Where two lines cross, worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from bench.report.crossing import crossing


def line(*rounds: dict[float, float]) -> pd.DataFrame:
    """Trials of a configuration, a round a dictionary of y by x; its points are named by their place."""
    rows = [
        {"round": number, "point": place, "x": x, "y": y}
        for number, points in enumerate(rounds)
        for place, (x, y) in enumerate(points.items())
    ]
    return pd.DataFrame(rows)


FLAT = {0.1: 1.0, 10.0: 1.0}


def test_lines_are_straight_on_logarithmic_axes() -> None:
    found = crossing(line({0.1: 0.5, 10.0: 2.0}), line(FLAT))

    assert found is not None
    assert [found.at, found.y] == pytest.approx([1.0, 1.0])
    assert (found.low, found.high) == (None, None)  # of one round there is no interval


def test_the_interval_is_of_what_resampled_rounds_would_have_given() -> None:
    """A line of slope 1 crosses 1 where it is 1: in three rounds at 0.5, 1 and 2. All of one round are 1 of 27."""
    rising = [{0.1: 0.1 / at, 10.0: 10.0 / at} for at in (0.5, 1.0, 2.0)]

    found = crossing(line(*rising), line(FLAT, FLAT, FLAT))

    assert found is not None
    assert [found.at, found.low, found.high] == pytest.approx([1.0, 0.5, 2.0])


def test_rounds_that_agree_have_no_width() -> None:
    rising = [{0.1: 0.1, 10.0: 10.0}] * 5

    found = crossing(line(*rising), line(*[FLAT] * 5))

    assert found is not None
    assert [found.low, found.high] == pytest.approx([1.0, 1.0])


def test_there_is_no_interval_where_resampled_lines_often_do_not_cross() -> None:
    rising = [{0.1: 0.1, 10.0: 10.0}] * 2

    found = crossing(line(*rising, {0.1: 20.0, 10.0: 2000.0}), line(*[FLAT] * 3))

    assert found is not None
    assert found.low is None


def test_a_round_without_a_point_counts_with_its_others() -> None:
    rising = [{0.1: 0.1, 10.0: 10.0}] * 3
    trials = line(*rising)

    found = crossing(trials.drop(index=0), line(*[FLAT] * 3))

    assert found is not None
    assert found.at == pytest.approx(1.0)


def test_lines_that_do_not_cross_where_both_were_measured_have_no_crossing() -> None:
    assert crossing(line({0.1: 2.0, 10.0: 3.0}), line(FLAT)) is None
    assert crossing(line({0.1: 0.5, 0.9: 0.9}), line({1.0: 1.0, 10.0: 0.1})) is None
    assert crossing(line({0.1: 0.5}), line(FLAT)) is None
