"""One direction of a link, on a clock that the test moves."""

from itertools import pairwise

import pytest

from bench.backends.packet_delay import LinkDirection

MS = 1_000_000


def link(delay_ms: float = 0.0, jitter_ms: float = 0.0, bytes_per_s: float = 0.0) -> LinkDirection:
    return LinkDirection(round(delay_ms * MS), round(jitter_ms * MS), bytes_per_s)


def serve(one: LinkDirection, came_ms: list[float], length: int = 1000, late_ms: float = 0.0) -> list[int]:
    """Take packets in as they come and let them go as they are due, `late_ms` later; return when each went."""
    went = []
    for number, at_ms in enumerate(came_ms):
        one.add(number, length, round(at_ms * MS))
    while one.waiting:
        now_ns = one.waiting[0].due_ns + round(late_ms * MS)
        before = len(one.waiting)
        one.due(now_ns)
        went += [now_ns] * (before - len(one.waiting))
    return went


def test_each_packet_waits_its_delay() -> None:
    one = link(delay_ms=20)

    assert serve(one, [0, 1, 7]) == [20 * MS, 21 * MS, 27 * MS]
    assert one.figures()["packets"] == 3
    assert one.figures()["p50_ns"] == one.figures()["delayed_p50_ns"] == 20 * MS


def test_packets_wait_behind_each_other_on_a_narrow_link() -> None:
    one = link(bytes_per_s=1e6)

    assert serve(one, [0, 0, 0, 10]) == [1 * MS, 2 * MS, 3 * MS, 11 * MS]
    told = one.figures()
    assert (told["busy_bytes"], told["busy_ns"]) == (0, 0)  # no 5 ms in a row
    assert told["p50_ns"] == 1 * MS
    assert told["delayed_p50_ns"] == 0


def test_a_rate_is_told_by_all_packets_in_a_row_that_take_the_link_five_milliseconds() -> None:
    """Rows of 5, 4 and 6 packets of 1 ms each: the second is too short, the last one's end still waits."""
    one = link(delay_ms=2, bytes_per_s=1e6)
    serve(one, [0.0] * 5 + [100.0] * 4, late_ms=0.5)
    for number in range(7):
        one.add(number, 1000, 200 * MS)
    one.due(208 * MS)

    assert (one.figures()["busy_bytes"], one.figures()["busy_ns"]) == (11_000, 11.5 * MS)


def test_the_wait_for_the_link_is_no_delay() -> None:
    one = link(delay_ms=20, bytes_per_s=1e6)
    serve(one, [0] * 100, late_ms=0.5)

    told = one.figures()
    assert told["delayed_p50_ns"] == 20.5 * MS
    assert told["p99_ns"] == 119.5 * MS
    assert (told["busy_bytes"], told["busy_ns"]) == (100_000, 100.5 * MS)


def test_a_link_that_goes_at_another_rate_than_its_packets_were_due_at_is_told() -> None:
    """The clock counts, not what was meant: half a second late for what takes a tenth."""
    one = link(bytes_per_s=1e6)
    for number in range(100):
        one.add(number, 1000, 0)
    one.due(600 * MS)

    assert (one.figures()["busy_bytes"], one.figures()["busy_ns"]) == (100_000, 600 * MS)


@pytest.mark.parametrize("jitter_ms", [5, 20])
def test_jitter_keeps_the_order_and_no_run_is_faster_than_the_link(jitter_ms: int) -> None:
    one = link(delay_ms=20, jitter_ms=jitter_ms, bytes_per_s=1e6)
    went = serve(one, [number / 2 for number in range(200)])

    assert all(earlier <= later for earlier, later in pairwise(went))
    told = one.figures()
    assert told["busy_bytes"] / told["busy_ns"] * 1e9 <= 1e6


def test_what_still_waits_in_the_end_is_not_counted() -> None:
    one = link(delay_ms=20)
    for number in range(5):
        one.add(number, 100, number * MS)

    assert one.due(21 * MS) == 1
    assert one.due(21 * MS) is None
    assert one.figures()["packets"] == 2
    assert one.figures()["bytes"] == 200


def test_a_link_through_which_nothing_came_tells_nothing() -> None:
    assert set(link(delay_ms=20).figures().values()) == {0}
