"""How busy nodes may be so that a response time is kept, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from bench.guarantee import LEVELS
from bench.sizing.busy_share import BusyShareError, HeldStart, busy_share, highest_passed

ONE_NODE, NO_COPY = LEVELS["survives one node"], LEVELS["no copy"]


def start(
    share: float, size: int = 1_000, rate: float | None = 500.0, p99_s: float = 0.05, **others: float
) -> HeldStart:
    shares = {} if rate is None else {"bookie": share} | others
    return HeldStart("pulsar", f"size={size}", ONE_NODE, size, p99_s, rate, shares)


def hold(
    rate: float, seconds: float, verdict: str, share: float | None, *, confirms: bool = True
) -> Mapping[str, Any]:
    held = {"rate": rate, "seconds": seconds, "verdict": verdict, "confirms": confirms}
    return held | {"broker_cpu_share": share, "bookie_cpu_share": math.nan}


def test_the_highest_rate_that_passed_its_long_holds() -> None:
    """Of 200 the last verdict counts: 10 s at 60 % and 30 s at 80 % are 75 %. 400 passed a short hold only."""
    rows = [
        hold(400, 3, "passed", 0.95, confirms=False),
        hold(100, 10, "passed", 0.4),
        hold(200, 10, "undecided", 0.6),
        hold(300, 10, "passed", 0.9),
        hold(300, 10, "failed", 0.9),
        hold(200, 30, "passed", 0.8),
    ]

    rate, shares = highest_passed(rows, ["broker", "bookie"])

    assert rate == 200
    assert shares == {"broker": pytest.approx(0.75)}


def test_without_a_passed_rate_or_a_look_there_is_no_share() -> None:
    assert highest_passed([hold(100, 10, "failed", 0.4)], ["broker"]) == (None, {})
    assert highest_passed([hold(100, 10, "passed", None)], ["broker"]) == (100, {})


def test_the_busiest_role_has_an_interval_over_starts() -> None:
    """Logarithms of 0.45, 0.5 and 0.55: mean -0.6965, standard error 0.0580; t is 4.303, so 0.498 (0.388 to 0.639)."""
    starts = [start(share, broker=0.3) for share in (0.45, 0.5, 0.55)]

    found = busy_share(starts, "pulsar", ONE_NODE, 0.05, 1_000)

    assert (found.role, found.starts, found.interval_known, found.outside) == ("bookie", 3, True, "")
    assert found.limit.share == pytest.approx(0.498, abs=5e-4)
    assert (found.limit.interval.low, found.limit.interval.high) == pytest.approx((0.388, 0.639), abs=5e-4)


def test_nodes_are_never_busier_than_their_quota() -> None:
    found = busy_share([start(share) for share in (0.9, 0.99, 1.04)], "pulsar", ONE_NODE, 0.05, 1_000)

    assert found.limit.share < found.limit.interval.high == 1.0


def test_of_two_starts_the_lower_share_is_the_limit() -> None:
    found = busy_share([start(0.7), start(0.8)], "pulsar", ONE_NODE, 0.05, 1_000)

    assert (found.limit.share, found.limit.interval.low, found.limit.interval.high) == (0.7, 0.7, 0.7)
    assert not found.interval_known


@pytest.mark.parametrize(
    ("message_bytes", "case", "far"),
    [
        (1_000, "size=1000", False),
        (3_000, "size=10000", False),
        (300, "size=1000", False),
        (20_000, "size=10000", False),
        (40, "size=100", True),
    ],
)
def test_of_the_sizes_on_both_sides_the_less_busy_one_counts(
    message_bytes: int, case: str, *, far: bool
) -> None:
    starts = [start(share, size) for size, share in ((100, 0.9), (1_000, 0.8), (10_000, 0.6))]

    found = busy_share(starts, "pulsar", ONE_NODE, 0.05, message_bytes)

    assert found.case == case
    assert bool(found.outside) is far


def test_a_shorter_response_time_keeps_a_longer_one() -> None:
    starts = [start(0.6, p99_s=0.02), start(0.9, p99_s=0.05)]

    assert busy_share(starts, "pulsar", ONE_NODE, 0.03, 1_000).limit.share == 0.6


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        ([start(0.6, p99_s=0.1)], "held to a p99 of 100 ms, more than the 50 ms"),
        ([start(0.6), start(0.0, rate=None)], "no rate passed on 1 of 2 cluster starts of size=1000"),
        (
            [HeldStart("pulsar", "a", ONE_NODE, 1_000, 0.05, 500.0, {})],
            "do not say how busy the nodes of a were",
        ),
        (
            [HeldStart("pulsar", "a", NO_COPY, 1_000, 0.05, 500.0, {"bookie": 0.5})],
            r"no case survives the loss of any one node.*Measured: neither the loss of its node nor a power cut",
        ),
        ([HeldStart("kafka", "a", ONE_NODE, 1_000, 0.05, 500.0, {"broker": 0.5})], "Measured: nothing"),
    ],
)
def test_searches_that_do_not_say_it_are_refused(starts: list[HeldStart], said: str) -> None:
    with pytest.raises(BusyShareError, match=said):
        busy_share(starts, "pulsar", ONE_NODE, 0.05, 1_000)
