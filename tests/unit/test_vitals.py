"""What the load process tells of itself, and how long it waits for its clients."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.load import vitals
from bench.load.commands import Produce
from bench.load.sender import Span
from bench.load.vitals import Vitals
from bench.model import NANOS, Load, Pacing, Topic

PRODUCE = Produce(
    system="memory",
    endpoint="nowhere",
    topic=Topic("t", 1),
    producer={},
    load=Load(1, 100, Pacing(), 1, 0, 0.0, 1.0, None),
    trial=0,
    run="run",
    folder=Path(),
    seed=1,
)


def test_the_share_of_a_core_is_that_of_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second of CPU time in two seconds; five seconds of it had passed before."""
    looks = iter([vitals._Sample(10 * NANOS, 5 * NANOS), vitals._Sample(12 * NANOS, 5 * NANOS + NANOS // 2)])
    seen: list[object] = []

    def look() -> vitals._Sample:
        seen.append("look")
        return next(looks)

    monkeypatch.setattr(vitals, "_sample", look)
    monkeypatch.setattr(Vitals, "_sleep_until", seen.append)
    watched = Vitals(Span(start_ns=7, end_ns=8))

    watched.run()

    assert seen == [7, "look", "look"]
    assert watched.report()["cpu_share"] == 0.25


def test_before_the_window_nothing_was_used() -> None:
    assert Vitals(Span()).report() == {"cpu_share": 0.0, "loop_lag_max_ns": 0}


DeadlineOf = Callable[[float, float], int]


@pytest.fixture
def deadline_ns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[DeadlineOf]:
    """Until when sends are waited for, of a load that ends at 100 s: by its grace and its clients' patience."""
    monkeypatch.setenv("LOCUST_SKIP_MONKEY_PATCH", "1")
    from bench.load import producing  # noqa: PLC0415 - Locust patches the process that imports it, if not told

    made: list[Any] = []

    def deadline_ns(grace_s: float, patience_s: float) -> int:
        command = replace(PRODUCE, folder=tmp_path, grace_s=grace_s)
        producers: Any = SimpleNamespace(clients=[None], effective=dict, patience_s=lambda: patience_s)
        load = producing.TrialLoad(command, producers, producing._outfit(command, 1))
        made.append(load)
        load._span.end_ns = 100 * NANOS
        return load._deadline_ns()

    yield deadline_ns
    for load in made:
        load._recorder.close()


@pytest.mark.parametrize(
    ("grace_s", "patience_s", "waited_s"),
    [(30.0, 5.0, 30.0), (10.0, 45.0, 45.05), (10.0, math.inf, 120.0), (10.0, 600.0, 120.0)],
)
def test_open_sends_are_waited_for_as_long_as_their_client_may_take(
    deadline_ns: DeadlineOf, grace_s: float, patience_s: float, waited_s: float
) -> None:
    assert deadline_ns(grace_s, patience_s) == (100 + waited_s) * NANOS
