"""What the full read tells of itself: how far it is, and where it stood still."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.errors import LoadError
from bench.load.commands import Verify
from bench.load.consuming import verify
from bench.model import Topic
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage


class Reader:
    """A system whose topic comes at the given seconds from now on, a message each; it may break off at the end."""

    def __init__(self, *at_s: float, breaks: bool = False) -> None:
        self.begun_ns = time.monotonic_ns()
        self.at_s = at_s
        self.breaks = breaks

    def read_all(self, *_: object) -> Iterator[Sequence[ReceivedMessage]]:
        for entry, at_s in enumerate(self.at_s):
            at_ns = self.begun_ns + round(at_s * 1e9)
            yield [ReceivedMessage(b"", at_ns, entry % 2, 7, entry, NOT_GIVEN)]
        if self.breaks:
            message = "It broke off."
            raise LoadError(message)


def read(system: Any, folder: Path) -> dict[str, Any]:
    reading: dict[str, Any] = {
        "system": "memory",
        "endpoint": "",
        "topic": Topic("topic", 2, {}),
        "consumer": {},
        "run": "run",
    }
    command = Verify(**reading, trial=1, folder=folder, deadline_s=30.0, expected=0)
    return verify(system, command, lambda _: None)


def seconds(stall: dict[str, Any], reader: Reader) -> tuple[float, ...]:
    return tuple(round((stall[name] - reader.begun_ns) / 1e9, 3) for name in ("from_ns", "to_ns"))


def test_a_stall_lasts_from_one_message_to_the_next(tmp_path: Path) -> None:
    reader = Reader(0.2, 1.1, 3.4, 3.5, 9.0)

    done = read(reader, tmp_path)

    assert [seconds(stall, reader) for stall in done["stalls"]] == [(1.1, 3.4), (3.5, 9.0)]
    assert [stall["received"] for stall in done["stalls"]] == [2, 4]
    assert done["stalls"][0]["at"] == [[0, 7, 0], [1, 7, 1]]
    assert (done["received"], done["at"]) == (5, [[0, 7, 4], [1, 7, 3]])
    assert done["first_ns"] - reader.begun_ns == pytest.approx(0.2e9)
    assert done["last_ns"] - reader.begun_ns == pytest.approx(9e9)


def test_what_comes_within_a_second_of_its_beginning_is_no_stall(tmp_path: Path) -> None:
    assert read(Reader(0.9, 1.8), tmp_path)["stalls"] == []


def test_a_first_message_that_comes_late_is_a_stall_from_the_beginning(tmp_path: Path) -> None:
    (stall,) = read(Reader(4.0), tmp_path)["stalls"]

    assert stall["to_ns"] - stall["from_ns"] == pytest.approx(4e9, rel=0.05)
    assert (stall["received"], stall["at"]) == (0, [])


@pytest.mark.parametrize(("breaks", "stalls"), [(True, 1), (False, 0)])
def test_a_read_that_breaks_off_ends_in_a_stall_one_that_comes_to_the_end_does_not(
    tmp_path: Path, breaks: bool, stalls: int
) -> None:
    reader = Reader(-3.0, breaks=breaks)

    done = read(reader, tmp_path)

    assert done["complete"] is not breaks
    assert len(done["stalls"]) == stalls
    assert done["received"] == 1


def test_a_batch_of_nothing_is_nothing(tmp_path: Path) -> None:
    reader = Reader()
    reader.read_all = lambda *_: iter([[]])  # type: ignore[method-assign]

    done = read(reader, tmp_path)

    assert (done["received"], done["first_ns"], done["at"], done["stalls"]) == (0, None, [], [])
