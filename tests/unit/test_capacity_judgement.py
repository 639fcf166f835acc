"""Judgements on holds: the interval of a share that comes in bursts, growing backlogs, and each limit of a level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bench.capacity.hold import Hold, Slope, backlog_slope
from bench.capacity.judgement import HoldVerdict, judge
from bench.capacity.service_level import ServiceLevel
from bench.capacity.share_interval import share_interval

LEVEL = ServiceLevel()


def held(late: list[int], due: int = 1000) -> Hold:
    """A hold with so many late messages in each second, of `due`; all of them reached a consumer in time."""
    seconds = len(late)
    return Hold(
        rate=due,
        seconds=seconds,
        due=[due] * seconds,
        sent=due * seconds,
        late=late,
        late_end_to_end=[0] * seconds,
    )


CLEAN = held([0] * 20)


def test_late_messages_that_come_evenly_have_nearly_the_exact_binomial_interval() -> None:
    """Each of 27 ** (2 / 3) = 9 batches has the same share, so each message counts, but for t(8) = 2.306."""
    interval = share_interval([5] * 27, [1000] * 27)

    size = 27_000 * (1.959964 / 2.306004) ** 2
    assert interval.low == pytest.approx(stats.beta.ppf(0.025, 0.005 * size, 0.995 * size + 1), rel=1e-4)
    assert interval.high == pytest.approx(stats.beta.ppf(0.975, 0.005 * size + 1, 0.995 * size), rel=1e-4)


def test_one_burst_tells_less_than_as_many_single_late_messages() -> None:
    burst = share_interval([105] + [0] * 20, [1000] * 21)
    even = share_interval([5] * 21, [1000] * 21)

    assert burst.low < even.low / 10
    assert burst.high > 2 * even.high


def test_without_late_messages_the_interval_is_that_of_independent_ones() -> None:
    """1 - 0.025 ** (1 / 368) = 0.00997: a p99 takes 368 messages that were all in time."""
    assert share_interval([0] * 4, [92] * 4).high < 0.01
    assert share_interval([0] * 3, [122] * 3).high > 0.01


def test_where_all_are_late_the_share_may_be_one() -> None:
    interval = share_interval([1000] * 20, [1000] * 20)

    assert interval.low > 0.999
    assert interval.high == 1


def test_without_due_messages_nothing_is_known() -> None:
    interval = share_interval([0, 0], [0, 0])

    assert (interval.low, interval.high) == (0, 1)


def test_one_second_tells_next_to_nothing() -> None:
    interval = share_interval([5], [1000])

    assert interval.low < 0.001
    assert interval.high > 0.9


@given(st.lists(st.integers(0, 50), min_size=1, max_size=80))
def test_an_interval_holds_the_share(late: list[int]) -> None:
    interval = share_interval(late, [50] * len(late))

    assert 0 <= interval.low <= sum(late) / (50 * len(late)) <= interval.high <= 1


def test_the_interval_covers_shares_that_come_in_bursts() -> None:
    """Bursts of 2 s at random, each second with one of 40 %: 19 of 20 intervals should hold the true share."""
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        bursts = np.repeat(random.random(30) < 0.1, 2)
        interval = share_interval([int(late) for late in 400 * bursts], [1000] * 60)
        covered += interval.low <= 0.04 <= interval.high

    assert covered >= 0.92 * 300


def test_a_backlog_that_grows_evenly_has_no_error() -> None:
    slope = backlog_slope([0, 1, 2, 3], [10, 13, 16, 19])

    assert slope.messages_per_s == pytest.approx(3)
    assert slope.standard_error == pytest.approx(0, abs=1e-9)


def test_independent_samples_have_the_usual_standard_error() -> None:
    """Residuals -1, 2, -1, 0 (but for the line): neighbours are not alike, so that all four samples count."""
    slope = backlog_slope([0, 1, 2, 3], [0, 3, 0, 1])

    assert slope.messages_per_s == pytest.approx(0)
    assert slope.standard_error == pytest.approx((6 / 2 / 5) ** 0.5)


def test_samples_that_are_alike_count_as_fewer() -> None:
    waves = [float(value) for value in 100 * np.sin(np.arange(60) / 10)]
    usual = stats.linregress(np.arange(60), waves).stderr

    assert backlog_slope(list(range(60)), waves).standard_error > 3 * usual


def test_two_samples_of_a_backlog_are_too_few() -> None:
    with pytest.raises(ValueError, match="three samples"):
        backlog_slope([0, 1], [0, 1])


def test_a_hold_within_all_limits_passes() -> None:
    judgement = judge(CLEAN, LEVEL)

    assert judgement.verdict is HoldVerdict.PASSED
    assert "0 % of the messages had no acknowledgement 50 ms after they were due" in judgement.reason
    assert "the limit is 1 %" in judgement.reason


@pytest.mark.parametrize(
    ("late", "verdict"),
    [
        ([5] * 20, HoldVerdict.PASSED),
        ([20] * 20, HoldVerdict.FAILED),
        ([10] * 20, HoldVerdict.UNDECIDED),
        ([300] + [0] * 19, HoldVerdict.UNDECIDED),
    ],
    ids=["0.5 %", "2 %", "1 %", "1.5 % in one burst"],
)
def test_the_late_share_decides(late: list[int], verdict: HoldVerdict) -> None:
    assert judge(held(late), LEVEL).verdict is verdict


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"late_end_to_end": [20] * 20}, "2 % of the messages had not reached a consumer 100 ms after"),
        ({"sent": 19_999}, "19,999 of 20,000 due messages were sent; at least 100 % must be."),
        ({"failed": 1}, "1 message failed; the limit is 0."),
        ({"copies_missing": True}, "At its end copies were missing: a server did not keep up."),
        (
            {"late_copies_share": 0.02},
            "A storage node wrote 2 % of its copies more than 50 ms after the end; the limit is 1 %.",
        ),
        (
            {"backlogs": {"compaction": Slope(12, 0.5)}},
            "The backlog of compaction grew by 12 messages a second (95 % interval 11 to 13); the limit is 10.",
        ),
    ],
    ids=["end to end", "sent", "failed", "copies", "late copies", "backlog"],
)
def test_each_limit_fails_a_hold_and_says_why(change: dict[str, object], reason: str) -> None:
    judgement = judge(replace(CLEAN, **change), LEVEL)  # type: ignore[arg-type]

    assert judgement.verdict is HoldVerdict.FAILED
    assert reason in judgement.reason


@pytest.mark.parametrize(
    ("slope", "verdict"),
    [
        (Slope(-500, 1), HoldVerdict.PASSED),
        (Slope(9, 0.4), HoldVerdict.PASSED),
        (Slope(9, 1), HoldVerdict.UNDECIDED),
        (Slope(13, 1), HoldVerdict.FAILED),
    ],
)
def test_a_backlog_may_grow_by_a_hundredth_of_the_rate(slope: Slope, verdict: HoldVerdict) -> None:
    assert judge(replace(CLEAN, backlogs={"producers": slope}), LEVEL).verdict is verdict


def test_a_hundredth_of_the_copies_may_be_late() -> None:
    assert judge(replace(CLEAN, late_copies_share=0.01), LEVEL).verdict is HoldVerdict.PASSED


def test_a_level_can_allow_more() -> None:
    generous = ServiceLevel(least_sent_share=0.99, most_failed=5, most_backlog_growth=0.02)
    hold = replace(CLEAN, sent=19_900, failed=5, backlogs={"producers": Slope(19, 0)})

    assert judge(hold, generous).verdict is HoldVerdict.PASSED


@pytest.mark.parametrize("late", [[20] * 20, [10] * 20], ids=["failed", "undecided"])
def test_a_client_at_its_limit_takes_the_blame(late: list[int]) -> None:
    judgement = judge(replace(held(late), limited_by_client=True), LEVEL)

    assert judgement.verdict is HoldVerdict.CLIENT_LIMITED
    assert judgement.reason.startswith("The client was at its own limit. ")


def test_a_hold_that_passes_does_so_with_a_client_at_its_limit() -> None:
    assert judge(replace(CLEAN, limited_by_client=True), LEVEL).verdict is HoldVerdict.PASSED


def test_a_hold_goes_on_as_a_longer_one() -> None:
    one = replace(held([1, 2]), failed=1, backlogs={"producers": Slope(2, 3), "consumers": Slope(5, 1)})
    other = replace(
        held([3, 4, 5, 6]), limited_by_client=True, copies_missing=True, backlogs={"producers": Slope(8, 2)}
    )
    joined = one.merge(other)

    assert (joined.seconds, joined.sent, joined.failed) == (6, 6000, 1)
    assert list(joined.late) == [1, 2, 3, 4, 5, 6]
    assert joined.limited_by_client
    assert joined.copies_missing
    assert joined.late_copies_share is None
    assert joined.backlogs["producers"].messages_per_s == pytest.approx((2 * 2 + 8 * 4) / 6)
    assert joined.backlogs["producers"].standard_error == pytest.approx((6**2 + 8**2) ** 0.5 / 6)
    assert joined.backlogs["consumers"].messages_per_s == pytest.approx(5)
    assert joined.backlogs["consumers"].standard_error == pytest.approx(1)


def test_holds_of_two_rates_are_not_one() -> None:
    with pytest.raises(ValueError, match="not the same hold"):
        held([0]).merge(held([0], due=999))


def test_counts_of_different_seconds_are_refused() -> None:
    with pytest.raises(ValueError, match="same seconds"):
        replace(CLEAN, late=[0])


@pytest.mark.parametrize(("share", "mean"), [(0.05, 0.03), (None, 0.02)])
def test_late_copies_of_a_repeated_hold_are_averaged_where_they_were_counted(
    share: float | None, mean: float
) -> None:
    one = replace(held([0] * 4), late_copies_share=0.02)
    other = replace(held([0] * 2), late_copies_share=share)

    assert one.merge(other).late_copies_share == pytest.approx(mean)
