"""How long a cluster is warmed up, on a clock that only turns of load move."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from bench.model import Case, Cluster, Load, Pacing
from bench.run import cluster_warm_up

CASE = Case(
    *("memory", "memory", {}, Cluster("memory", "1", {}), 1, {}, {}, {}),
    Load(1, 100, Pacing(), 1, 0, 0.0, 1.0, None),
)
MOST_S = 60.0

WarmUp = Callable[[Iterable[float]], list[dict[str, Any]]]


class Clock:
    """Its time, and the turns that made it pass."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.turns: list[str] = []
        self.beside_s = 0.0
        self.growth = 1.0

    def monotonic(self) -> float:
        return self.now_s

    def turn(self, case: str) -> int:
        self.now_s += 3.0 + self.beside_s
        self.turns.append(case)
        return round(7 * self.growth ** ((len(self.turns) - 1) // 5))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def warm_up(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> WarmUp:
    """Warm up for five cases; compilers take these shares of a core from round to round."""

    def warm_up(shares: Iterable[float]) -> list[dict[str, Any]]:
        left, looks = iter(shares), [clock.now_s]

        def took_s() -> float:
            looks.append(clock.now_s)
            return next(left) * (looks[-1] - looks[-2])

        monkeypatch.setattr(cluster_warm_up, "time", clock)
        compilers: Any = SimpleNamespace(took_s=took_s)
        return cluster_warm_up.in_rounds(
            [partial(clock.turn, f"case {number}") for number in range(5)], compilers, MOST_S
        )

    return warm_up


def test_cases_that_differ_in_their_disk_only_are_warmed_up_once() -> None:
    cases = [
        replace(CASE, name=f"{partitions} {disk}", partitions=partitions, disk={"emulated_fsync": disk})
        for disk in ("as is", "5ms")
        for partitions in (1, 2)
    ]

    assert [case.name for case in cluster_warm_up._distinct_cases(cases)] == ["1 as is", "2 as is"]


@pytest.mark.parametrize(
    ("cases", "most_s", "producers", "turn_s"),
    [(1, MOST_S, 16, 4.0), (1, 0.0, 16, 0.5), (2, 3.0, 16, 1.5), (8, MOST_S, 8, 0.5), (40, MOST_S, 2, 0.5)],
)
def test_the_number_of_cases_sets_producers_and_turns_and_a_short_warm_up_has_shorter_turns(
    cases: int, most_s: float, producers: int, turn_s: float
) -> None:
    load = cluster_warm_up._load(CASE, cases, most_s)

    assert (load.producers, load.duration_s, load.window) == (producers, turn_s, 1)


def test_rounds_of_a_turn_for_each_case_go_on_until_compilers_rest(clock: Clock, warm_up: WarmUp) -> None:
    rounds = warm_up([0.5, 0.3, 0.05])

    assert rounds == [
        {"turns": 5, "acks": 35, "compilers": 0.5, "rested": False},
        {"turns": 5, "acks": 35, "compilers": 0.3, "rested": False},
        {"turns": 5, "acks": 35, "compilers": 0.05, "rested": True},
    ]
    assert clock.turns == [f"case {number}" for number in range(5)] * 3


@pytest.mark.parametrize(("growth", "rested"), [(1.5, [False] * 4), (0.9, [False, True])])
def test_what_still_gets_faster_is_not_warm(
    clock: Clock, warm_up: WarmUp, growth: float, rested: list[bool]
) -> None:
    clock.growth = growth

    assert [found["rested"] for found in warm_up([0.05] * 9)] == rested


def test_a_warm_up_ends_in_its_time_where_compilers_never_rest(clock: Clock, warm_up: WarmUp) -> None:
    """A round has five turns of three seconds; a fifth one would not fit any more."""
    begun_s = clock.now_s

    rounds = warm_up([1.0] * 9)

    assert [found["rested"] for found in rounds] == [False] * 4
    assert clock.now_s - begun_s == MOST_S


def test_a_warm_up_stops_within_a_round_and_does_not_call_that_rest(clock: Clock, warm_up: WarmUp) -> None:
    """Each turn takes 4 s longer than its load: three of five fit into the second round."""
    clock.beside_s = 4.0
    begun_s = clock.now_s

    rounds = warm_up([1.0, 0.05])

    assert [(found["turns"], found["rested"]) for found in rounds] == [(5, False), (3, False)]
    assert clock.now_s - begun_s == 56.0
