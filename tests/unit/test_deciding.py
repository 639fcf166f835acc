"""When a run with a budget goes on."""

import math

import pytest

from bench.analysis.verdicts.outlook import Outlook
from bench.run import run_budget
from bench.run.progress import outlook_words
from bench.run.run_budget import Budget


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now_s = 50.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(run_budget, "time", clock)
    return clock


@pytest.mark.parametrize(
    ("seconds", "spent_s", "allowed"),
    [
        (600.0, 300.0, True),  # 300 s are left, a round takes 200 s
        (600.0, 420.0, True),  # 180 s are left: nine tenths of a round
        (600.0, 421.0, False),
        (0.0, 0.0, False),
        (math.inf, 1e6, True),
    ],
)
def test_a_round_begins_where_most_of_it_fits(
    clock: Clock, seconds: float, spent_s: float, allowed: bool
) -> None:
    budget = Budget(seconds, 50.0)
    clock.now_s += spent_s

    assert budget.allows(2, 200.0) == allowed


def test_no_run_goes_on_for_ever() -> None:
    assert Budget(math.inf).allows(29, 1.0)
    assert not Budget(math.inf).allows(30, 1.0)


@pytest.mark.parametrize(
    ("minutes_left", "said"),
    [
        (
            12.3,
            "1 of 2 expectations decided; ratios to within 4.2 % (median); the rest would take about 3 rounds, 12 min",
        ),
        (
            500.0,
            "1 of 2 expectations decided; ratios to within 4.2 % (median); more rounds would hardly decide the rest",
        ),
    ],
)
def test_a_look_is_told_in_one_line(minutes_left: float, said: str) -> None:
    assert outlook_words(Outlook(1, (("order", "undecided"),), 0.042, 3, minutes_left)) == said
