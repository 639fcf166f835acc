"""What is written down of who serves and keeps a topic, by what somebody sees at each look."""

import time
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from bench.errors import ClusterError
from bench.run.history import History, Layout

LEADS = {"partition": 0, "leader": "broker-1", "in_sync": ["broker-1"], "high_watermark": 5}
MOVED = LEADS | {"leader": "broker-2", "high_watermark": 9}
OTHER = LEADS | {"partition": 1}


class Scripted:
    """Looks that show this, one after the other, then the last again and again."""

    def __init__(self, *shown: Layout | Exception) -> None:
        self.at_ns: list[int] = []
        self.all_shown = Event()
        self._shown = shown

    def __call__(self) -> Layout:
        self.at_ns.append(time.monotonic_ns())
        if len(self.at_ns) > len(self._shown):
            self.all_shown.set()
        seen = self._shown[min(len(self.at_ns), len(self._shown)) - 1]
        if isinstance(seen, Exception):
            raise seen
        return seen


Watch = Callable[[Scripted], list[dict[str, Any]]]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    monkeypatch.setattr("bench.run.history._EVERY_S", 0.0)

    def watch(look: Scripted) -> list[dict[str, Any]]:
        history = History(look)
        history.start()
        assert look.all_shown.wait(60)
        history.stop()
        assert not history._thread.is_alive()
        return [change.model_dump() for change in history.changes]

    return watch


def test_only_what_changed_is_written_down(watch: Watch) -> None:
    """Not what is as before, what only grew, or that nobody told or could be asked."""
    grown = LEADS | {"high_watermark": 6}
    silent = ClusterError("no broker answered")
    look = Scripted(silent, [], [LEADS], [LEADS], [grown], [MOVED], silent, [], [MOVED], [MOVED, OTHER])

    changes = watch(look)

    assert [change["partitions"] for change in changes] == [[LEADS], [MOVED], [OTHER], []]


def test_a_change_has_the_time_at_which_its_look_began(watch: Watch) -> None:
    look = Scripted([], [LEADS], [MOVED])

    first, second, last = watch(look)

    assert look.at_ns[0] <= first["at_ns"] <= look.at_ns[1] <= second["at_ns"] <= look.at_ns[2]
    assert look.at_ns[-2] <= last["at_ns"] <= look.at_ns[-1]


def test_where_nobody_ever_tells_it_is_known_until_when_somebody_looked(watch: Watch) -> None:
    (last,) = watch(Scripted(OSError("gone")))

    assert last["partitions"] == []


def test_what_never_began_ends_with_nothing() -> None:
    history = History(list)

    history.stop()

    assert history.changes == []
