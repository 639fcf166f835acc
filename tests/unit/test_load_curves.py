"""Latency over load: the curve through a case's held rates, and its knee."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report.load_curves import LoadCurve, load_curves

_MS = 1_000_000


def results(*holds: tuple[int, float, float | None, float], capacity: float | None = 1000.0) -> Any:
    """Holds as trial, rate, p99 in ms and seconds; every trial has the same capacity."""
    table = pd.DataFrame(
        [(trial, rate, p99 and p99 * _MS, seconds) for trial, rate, p99, seconds in holds],
        columns=["trial", "rate", "response_p99_ns", "seconds"],
    )
    trials = sorted({trial for trial, *_ in holds})
    valid = pd.DataFrame({"trial": trials, "case": "one", "capacity_msgs_per_s": capacity})
    return SimpleNamespace(holds=table, valid=valid)


def curve(*holds: tuple[int, float, float | None, float]) -> LoadCurve:
    return load_curves(results(*holds))["one"]


def test_loads_are_shares_of_the_capacity_and_the_curve_never_falls() -> None:
    """The example in docs/method/capacity.md."""
    found = curve((0, 100, 2, 3), (0, 500, 2, 3), (0, 900, 8, 3), (0, 1000, 4, 3))

    assert list(found.curve_loads) == [0.1, 0.5, 0.9, 1.0]
    assert found.curve_ns / _MS == pytest.approx([2, 2, math.sqrt(32), math.sqrt(32)])
    assert found.knee == pytest.approx(0.5 + 0.4 * math.log(2) / math.log(math.sqrt(32) / 2))
    assert found.knee == pytest.approx(0.7667, abs=1e-4)


def test_between_two_loads_the_logarithm_is_straight() -> None:
    found = curve((0, 100, 1, 3), (0, 200, 1, 3), (0, 600, 4, 3), (0, 1000, 16, 3))

    assert found.p99_at(0.4) == pytest.approx(2 * _MS)
    assert found.p99_at(1.0) == pytest.approx(16 * _MS)
    assert found.p99_at(0.05) is None
    assert found.p99_at(1.01) is None


def test_what_never_came_counts_as_the_longest_that_is_known() -> None:
    found = curve((0, 100, 1, 3), (0, 500, 1, 3), (1, 900, 3, 3), (1, 1200, None, 3))

    assert found.curve_ns / _MS == pytest.approx([1, 1, 3, 3])
    assert np.isinf(found.p99_ns[-1])


def test_without_growth_there_is_no_knee() -> None:
    assert curve((0, 100, 2, 3), (0, 500, 2, 3), (0, 900, 2, 3), (0, 1000, 3, 3)).knee is None


def test_a_case_without_a_capacity_or_with_few_holds_has_no_curve() -> None:
    holds = ((0, 100, 2, 3), (0, 500, 2, 3), (0, 900, 2, 3), (0, 1000, 3, 3))

    assert load_curves(results(*holds, capacity=None)) == {}
    assert load_curves(results(*holds[:3])) == {}


def test_holds_at_one_load_count_as_their_weighted_mean() -> None:
    """2 and 8 ms for 3 s each: 4 ms, on a logarithmic scale; with 9 s of the 8 ms 2 * 4 ** 0.75 = 5.66 ms."""
    same = curve((0, 100, 2, 3), (1, 100, 8, 3), (0, 500, 9, 3), (0, 900, 9, 3), (0, 1000, 9, 3))
    longer = curve((0, 100, 2, 3), (1, 100, 8, 9), (0, 500, 9, 3), (0, 900, 9, 3), (0, 1000, 9, 3))

    assert (same.lightest[0], longer.lightest[0]) == (0.1, 0.1)
    assert same.lightest[1] == pytest.approx(4 * _MS)
    assert longer.lightest[1] == pytest.approx(2 * 4**0.75 * _MS)


def test_without_a_light_load_there_is_no_knee() -> None:
    assert curve((0, 400, 2, 3), (0, 600, 3, 3), (0, 900, 8, 3), (0, 1000, 9, 3)).knee is None


RATES = st.sampled_from([50.0, 100.0, 400.0, 900.0, 1000.0, 1200.0]) | st.floats(10, 2000)


@given(st.lists(st.tuples(RATES, st.floats(0.1, 500)), min_size=4, max_size=30))
def test_every_curve_rises_and_its_knee_is_where_it_has_doubled(points: list[tuple[float, float]]) -> None:
    found = load_curves(results(*((0, rate, p99, 3.0) for rate, p99 in points))).get("one")
    if found is None:
        assert len({rate for rate, _ in points}) < 4
        return

    assert np.all(np.diff(found.curve_ns) >= -1e-6 * found.curve_ns[:-1])
    if (knee := found.knee) is not None:
        assert found.curve_loads[0] <= knee <= found.curve_loads[-1]
        beyond = found.curve_ns[found.curve_loads > knee]
        assert np.all(beyond >= 2 * found.curve_ns[0] * (1 - 1e-6))
