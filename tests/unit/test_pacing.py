import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.model import NANOS, Pacing
from bench.pacing import Schedule

steps = st.lists(
    st.tuples(st.floats(0.01, 20), st.floats(0.1, 50_000)), min_size=1, max_size=5
).map(tuple)  # fmt: skip
schedules = st.builds(Schedule, steps.map(Pacing), st.integers(1, 200), st.floats(0, 10))


def at_rate(rate: float, producers: int = 1) -> Schedule:
    return Schedule(Pacing(((1.0, rate),)), producers)


def test_a_closed_loop_has_no_schedule() -> None:
    with pytest.raises(ValueError, match="closed loop"):
        Schedule(Pacing(), 1)


def test_a_rate_is_kept_after_the_last_step() -> None:
    schedule = at_rate(100)

    assert [schedule.due_ns(0, hit) for hit in (0, 1, 100, 1000)] == [0, 10_000_000, NANOS, 10 * NANOS]


def test_producers_take_hits_in_turn() -> None:
    schedule = at_rate(1000, producers=4)

    assert [schedule.due_ns(producer, 0) for producer in range(4)] == [0, 1_000_000, 2_000_000, 3_000_000]
    assert schedule.due_ns(0, 1) == 4_000_000


def test_steps_follow_each_other_and_the_warm_up_has_the_first_rate() -> None:
    schedule = Schedule(Pacing(((1.0, 10), (2.0, 100), (1.0, 1))), 1, warm_up_s=1.0)

    assert schedule.due_before(2 * NANOS) == 20
    assert schedule.due_before(4 * NANOS) == 220
    assert schedule.due_before(14 * NANOS) == 230


@given(schedules, st.integers(0, 199), st.integers(0, 100_000))
def test_due_times_never_go_back(schedule: Schedule, producer: int, hit: int) -> None:
    assert 0 <= schedule.due_ns(producer, hit) <= schedule.due_ns(producer, hit + 1)


@given(schedules, st.integers(0, 100_000))
def test_due_times_grow_from_producer_to_producer(schedule: Schedule, hit: int) -> None:
    due = [schedule.due_ns(producer, hit) for producer in range(schedule.producers)]

    assert due == sorted(due)
    assert due[-1] <= schedule.due_ns(0, hit + 1)


@given(st.floats(0.5, 50_000), st.integers(1, 100), st.floats(0.01, 30))
def test_producers_together_give_the_rate(rate: float, producers: int, seconds: float) -> None:
    schedule = at_rate(rate, producers)

    assert abs(schedule.due_before(round(seconds * NANOS)) - rate * seconds) <= 1


@given(schedules, st.integers(0, 40 * NANOS))
def test_due_before_counts_the_hits_of_every_producer(schedule: Schedule, elapsed_ns: int) -> None:
    count = schedule.due_before(elapsed_ns)
    hits, rest = divmod(count, schedule.producers)

    assert schedule.due_ns(rest, hits) >= elapsed_ns
    if count:
        hits, rest = divmod(count - 1, schedule.producers)
        assert schedule.due_ns(rest, hits) < elapsed_ns


@given(st.floats(0.01, 5), st.floats(1, 10_000), st.floats(1, 10_000))
def test_a_step_gets_as_many_hits_as_its_length_says(seconds: float, first: float, second: float) -> None:
    schedule = Schedule(Pacing(((seconds, first), (1.0, second))), 3)

    in_first_step = schedule.due_before(round(seconds * NANOS))

    assert math.floor(seconds * first) <= in_first_step <= math.ceil(seconds * first) + 1
