"""Ratios over rounds: answers worked out by hand, and what has no interval."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.statistics.round_ratios import Group, RoundRatio, RoundRatios, relative_half_width


def values(**cases: list[float]) -> dict[str, dict[int, float]]:
    return {case: dict(enumerate(figures)) for case, figures in cases.items()}


def on_one_cluster(**cases: list[float]) -> RoundRatios:
    return RoundRatios(values(**cases), dict.fromkeys(cases, Group("cluster")))


def powers(*exponents: float) -> list[float]:
    return [math.exp(exponent) for exponent in exponents]


def present(ratio: RoundRatio | None) -> RoundRatio:
    assert ratio is not None
    return ratio


def test_two_cases_alone_have_the_t_interval_of_their_logarithms() -> None:
    """Logarithms 0.6, 0.8, 1.0: mean 0.8, deviation 0.2, t(2) = 4.3027, so 0.8 ± 4.3027 * 0.2 / sqrt(3)."""
    ratio = present(on_one_cluster(a=powers(0.6, 0.8, 1.0), b=powers(0, 0, 0)).ratio("a", "b"))

    assert ratio.ratio == pytest.approx(math.exp(0.8))
    assert ratio.rounds == 3
    assert ratio.half_width() == pytest.approx(4.3027 * 0.2 / math.sqrt(3), rel=1e-4)
    interval = ratio.interval()
    assert interval is not None
    assert interval.low == pytest.approx(math.exp(0.8 - 0.49684), rel=1e-4)
    assert interval.high == pytest.approx(math.exp(0.8 + 0.49684), rel=1e-4)


def test_the_variance_of_a_pair_is_moderated_with_that_of_all_pairs_of_its_cluster() -> None:
    """Two rounds, three cases: the ratios' logarithms differ by 0.02 (a, b), 0.06 (a, c) and 0.04 (b, c).

    Their variances are 0.0002, 0.0018 and 0.0008, the mean 0.00093333; of a over b, with four parts of the mean and
    one of its own, (4 * 0.00093333 + 0.0002) / 5 = 0.00078667. The pooled mean has (3 - 1) * (2 - 1) = 2 degrees.
    """
    ratios = on_one_cluster(a=powers(0, 0.06), b=powers(0, 0.04), c=powers(0, 0))
    ratio = present(ratios.ratio("a", "b"))

    assert ratio.error == pytest.approx(math.sqrt(0.00078667 / 2), rel=1e-4)
    assert ratio.freedom == 2


def test_a_pair_that_varies_more_than_its_neighbours_keeps_its_own_variance() -> None:
    """Of a over c 0.0018, more than (4 * 0.00093333 + 0.0018) / 5."""
    ratios = on_one_cluster(a=powers(0, 0.06), b=powers(0, 0.04), c=powers(0, 0))

    assert present(ratios.ratio("a", "c")).error == pytest.approx(math.sqrt(0.0018 / 2))


def test_many_cases_of_a_cluster_give_an_interval_of_four_rounds_more() -> None:
    cases = {name: powers(0, 0.01 * place) for place, name in enumerate("abcdefgh")}

    assert present(on_one_cluster(**cases).ratio("a", "b")).freedom == 5


def test_what_a_whole_round_has_in_common_falls_out() -> None:
    level = [1.0, 7.0, 0.3]
    ratios = on_one_cluster(a=[2 * value for value in level], b=level)

    interval = present(ratios.ratio("a", "b")).interval()
    assert interval is not None
    assert [interval.low, interval.high] == pytest.approx([2.0, 2.0])


def test_ratios_between_clusters_have_no_more_degrees_than_the_clusters_starts() -> None:
    """Four cases on each of two clusters, two rounds: the starts differ once only."""
    cases = {name: powers(0, 0.01 * place) for place, name in enumerate("abcd")}
    cases |= {name: powers(0, 0.3 + 0.01 * place) for place, name in enumerate("wxyz")}
    groups = {name: Group("first" if name in "abcd" else "second") for name in cases}
    ratios = RoundRatios(values(**cases), groups)

    between, within = present(ratios.ratio("a", "w")), present(ratios.ratio("a", "b"))

    assert (between.freedom, within.freedom) == (1, 3)
    assert between.error is not None
    assert between.error == pytest.approx(0.3 / 2, rel=0.1)  # variance 0.3 ** 2 / 2, over two rounds
    assert within.error is not None
    assert within.error < 0.02


def test_a_case_of_unknown_cluster_is_on_its_own() -> None:
    cases = values(a=powers(0, 0.1), b=powers(0, 0), c=powers(0, 0.01))
    ratios = RoundRatios(cases, {"a": Group("cluster"), "b": Group("cluster")})

    assert present(ratios.ratio("a", "c")).freedom == 1


@pytest.mark.parametrize(
    ("left", "right", "ratio"),
    [
        ([2.0], [1.0], 2.0),  # one round
        ([2.0, 0.0, 2.0], [1.0, 1.0, 1.0], 2.0),
        ([2.0, math.inf, 2.0], [1.0, 1.0, 1.0], 2.0),
        ([2.0, 2.0, 2.0], [1.0, 1.0, math.inf], 2.0),
    ],
)
def test_degenerate_values_leave_a_ratio_without_an_interval(
    left: list[float], right: list[float], ratio: float
) -> None:
    found = present(on_one_cluster(a=left, b=right, c=[1.0, 1.1, 1.2]).ratio("a", "b"))

    assert (found.ratio, found.interval(), found.rounds) == (ratio, None, len(left))


@pytest.mark.parametrize("right", [{}, {5: 1.0}, {0: 0.0}])
def test_without_a_ratio_in_any_round_there_is_none(right: dict[int, float]) -> None:
    assert RoundRatios({"a": {0: 1.0}, "b": right}, {}).ratio("a", "b") is None


def test_a_zero_of_one_case_leaves_the_intervals_of_the_others() -> None:
    ratios = on_one_cluster(a=[2.0, 2.1, 2.0], b=[1.0, 1.0, 1.1], c=[0.0, 1.0, 1.0])

    assert present(ratios.ratio("a", "b")).interval() is not None


def test_a_round_that_one_side_lacks_is_left_out() -> None:
    ratios = RoundRatios({"a": {0: 2.0, 1: 8.0, 2: 2.0}, "b": {0: 1.0, 2: 1.0}}, {})

    assert present(ratios.ratio("a", "b")).ratio == pytest.approx(2.0)


figures = st.lists(st.floats(0.1, 10), min_size=3, max_size=3)


@settings(max_examples=50)
@given(st.lists(figures, min_size=2, max_size=6))
def test_the_ratio_the_other_way_round_is_the_reciprocal(cases: list[list[float]]) -> None:
    ratios = on_one_cluster(**{f"case {place}": rates for place, rates in enumerate(cases)})
    one, other = (present(ratios.ratio(*names)) for names in (("case 0", "case 1"), ("case 1", "case 0")))

    assert one.ratio * other.ratio == pytest.approx(1)
    assert one.half_width() == pytest.approx(other.half_width() or 0)


@settings(max_examples=50)
@given(st.lists(figures, min_size=2, max_size=6), st.floats(0.5, 0.99), st.floats(0.5, 0.99))
def test_more_confidence_is_a_wider_interval(cases: list[list[float]], level: float, other: float) -> None:
    ratio = present(
        on_one_cluster(**{f"case {place}": rates for place, rates in enumerate(cases)}).ratio(
            "case 0", "case 1"
        )
    )
    narrow, wide = (ratio.interval(one) for one in sorted((level, other)))

    assert narrow is not None
    assert wide is not None
    assert wide.low <= narrow.low <= ratio.ratio * (1 + 1e-9)
    assert narrow.high <= wide.high


def test_four_times_the_rounds_halve_a_half_width_or_better() -> None:
    """The degrees of freedom grow as well, so that t shrinks."""
    ratio = present(on_one_cluster(a=powers(0.6, 0.8, 1.0), b=powers(0, 0, 0)).ratio("a", "b"))
    half_width = ratio.half_width()

    assert half_width is not None
    assert ratio.rounds_for(half_width) == 3
    assert ratio.rounds_for(half_width / 2) in range(5, 12)
    assert ratio.rounds_for(0.0) == 999


def test_a_half_width_is_told_as_a_share() -> None:
    assert relative_half_width(1 / 1.05, 1.05) == pytest.approx(0.05)


def test_a_kind_of_cases_that_varies_more_leaves_the_others_their_variance() -> None:
    """Of a, b and c ratios do not vary from round to round; those of x and y do, by 0.4."""
    cases = {
        "a": powers(0, 0),
        "b": powers(1, 1),
        "c": powers(2, 2),
        "x": powers(0, 0.2),
        "y": powers(0, -0.2),
    }
    one, two = Group("cluster", "steady"), Group("cluster", "restless")
    groups = {name: two if name in "xy" else one for name in cases}
    ratios = RoundRatios(values(**cases), groups)

    assert present(ratios.ratio("b", "a")).error == pytest.approx(0.0)
    assert present(ratios.ratio("x", "y")).error == pytest.approx(math.sqrt(0.4**2 / 2 / 2))
    pooled = present(RoundRatios(values(**cases), dict.fromkeys(cases, one)).ratio("b", "a"))
    assert pooled.error is not None
    assert pooled.error > 0.05


def test_ratios_between_clusters_of_one_kind_do_not_take_in_those_of_another() -> None:
    """Two clusters of one system start alike, the one of another does not: two rounds, so one degree of freedom."""
    cases = {"a": powers(0, 0.01), "b": powers(1, 1), "x": powers(0, 0.5)}
    groups = {"a": Group("first", "steady"), "b": Group("second", "steady"), "x": Group("third", "restless")}
    ratio = present(RoundRatios(values(**cases), groups).ratio("a", "b"))

    assert ratio.error == pytest.approx(math.sqrt(0.01**2 / 2 / 2))
    assert ratio.freedom == 1


def test_slices_tell_a_pairs_noise() -> None:
    """Two cases, two rounds of eight cycles, in which the ratio's logarithm goes up and down by 0.1.

    In each round the variance over the eight blocks is 8 * 0.01 / 7 = 0.0114286, so that of the round's ratio is
    w = 0.0114286 / 8 = 0.00142857, with 14 degrees in all. The rounds' logarithms are 0 and 0.02: S² = s² = 0.0002 with
    one degree, less than w, so that starts add nothing and V = w. Its degrees are
    0.00142857² / (0.0002² / 1 + 0.00142857² / 14) = 10.986, and the moderated variance is
    (10.986 * 0.00142857 + 0.0002) / 11.986 = 0.00132606.
    """
    cycles = {cycle: math.exp(0.1 if cycle % 2 else -0.1) for cycle in range(8)}
    even = dict.fromkeys(range(8), 1.0)
    ratios = RoundRatios(
        values(a=powers(0, 0.02), b=powers(0, 0)),
        dict.fromkeys("ab", Group("cluster")),
        {"a": {0: cycles, 1: cycles}, "b": {0: even, 1: even}},
    )
    ratio = present(ratios.ratio("a", "b"))

    assert ratio.error == pytest.approx(math.sqrt(0.00132606 / 2), rel=1e-4)
    assert ratio.freedom == pytest.approx(10.986, rel=1e-4)


def test_what_slices_do_not_explain_is_shared_by_like_pairs() -> None:
    """Slices without noise: V is S² alone, whatever the pair's own variance was."""
    cases = {"a": powers(0, 0.06), "b": powers(0, 0.04), "c": powers(0, 0)}
    even = {number: dict.fromkeys(range(8), 1.0) for number in (0, 1)}
    groups = dict.fromkeys(cases, Group("cluster"))
    ratio = present(RoundRatios(values(**cases), groups, dict.fromkeys(cases, even)).ratio("a", "b"))

    assert ratio.error == pytest.approx(math.sqrt((2 * 0.00093333 + 0.0002) / 3 / 2), rel=1e-4)
    assert ratio.freedom == pytest.approx(2)


def test_a_noisy_case_has_wider_intervals_than_its_neighbours() -> None:
    quiet = {number: {cycle: 1 + 0.01 * (cycle % 2) for cycle in range(16)} for number in range(3)}
    noisy = {number: {cycle: 1 + 0.5 * (cycle // 2 % 2) for cycle in range(16)} for number in range(3)}
    cases = {name: powers(0, 0.01, -0.01) for name in "abc"} | {"d": powers(0.01, 0, 0)}
    series = {"a": quiet, "b": quiet, "c": quiet, "d": noisy}
    ratios = RoundRatios(values(**cases), dict.fromkeys(cases, Group("cluster")), series)
    known, other = (present(ratios.ratio("a", name)).half_width() for name in "bd")

    assert known is not None
    assert other is not None
    assert other > 3 * known


@pytest.mark.parametrize("cycles", [{}, {0: 1.0, 1: 1.1, 2: 1.0}, dict.fromkeys(range(8), 0.0)])
def test_too_few_slices_and_slices_of_zero_tell_nothing(cycles: dict[int, float]) -> None:
    cases = values(a=powers(0, 0.06), b=powers(0, 0.04), c=powers(0, 0))
    groups = dict.fromkeys(cases, Group("cluster"))
    series = {name: {0: cycles, 1: cycles} for name in cases if cycles}
    with_slices, without = (RoundRatios(cases, groups, known).ratio("a", "b") for known in (series, None))

    assert with_slices == without
