"""Servers that stand still while others are loaded: how long at most, and how long they run between two pauses."""

import threading

import pytest

from bench.run import paused_servers
from bench.run.paused_servers import PausedServers


class Clock:
    """Stands for `time`: it goes on only where somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(paused_servers, "time", clock)
    return clock


def ignore() -> None:
    """There are no servers."""


def pause_for(servers: PausedServers, clock: Clock, seconds: float) -> float:
    """Pause servers for so long; return how long they ran before, since this was asked for."""
    asked_s = clock.now_s
    with servers.keep_paused(ignore, ignore):
        paused_s = clock.now_s
        clock.sleep(seconds)
    return paused_s - asked_s


def test_a_pause_that_lasts_too_long_ends_by_itself() -> None:
    resumed = threading.Event()

    with PausedServers(longest_s=0.05).keep_paused(ignore, resumed.set):
        assert resumed.wait(60)


def test_servers_go_on_when_what_they_stand_still_for_breaks_off_or_not_all_could_be_paused() -> None:
    resumes: list[str] = []

    with (
        pytest.raises(ValueError, match="load"),
        PausedServers().keep_paused(ignore, lambda: resumes.append("load")),
    ):
        raise ValueError("load")

    def break_off() -> None:
        raise ValueError("pause")

    with (
        pytest.raises(ValueError, match="pause"),
        PausedServers().keep_paused(break_off, lambda: resumes.append("pause")),
    ):
        pytest.fail("nothing is loaded")
    assert resumes == ["load", "pause"]


def test_servers_run_for_a_while_after_pauses_of_half_the_longest_together(clock: Clock) -> None:
    servers = PausedServers(longest_s=8, rest_s=0.3)

    ran_s = [pause_for(servers, clock, 3) for _ in range(5)]

    assert ran_s == pytest.approx([0, 0, 0.3, 0, 0.3])  # 3 s are less than half of 8 s, 6 s are more


def test_servers_that_ran_meanwhile_are_paused_at_once(clock: Clock) -> None:
    servers = PausedServers(longest_s=8, rest_s=0.3)
    pause_for(servers, clock, 6)
    clock.sleep(0.3)

    assert pause_for(servers, clock, 3) == 0


def test_a_pause_that_ended_by_itself_counts_until_then(clock: Clock) -> None:
    servers = PausedServers(longest_s=8, rest_s=0.3)

    pause_for(servers, clock, 40)

    assert pause_for(servers, clock, 3) == 0
