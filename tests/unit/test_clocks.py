"""The clock of another machine: offsets from exchanges, and logs written as those of one clock."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis import job
from bench.analysis.speed.latency import Distribution
from bench.analysis.speed.quantiles import SCALE
from bench.errors import LoadError
from bench.load.clock_correction import LogSource, correct
from bench.load.clocks import Exchange, RemoteClock
from bench.model import NANOS

SECOND, MS = NANOS, 1_000_000


def clock(offset_ns: int, drift: float = 0.0, round_trip_ns: int = 2 * MS, seconds: int = 60) -> RemoteClock:
    """A clock that is so far ahead at 0 and gains `drift` seconds each second, asked four times a second."""
    known = RemoteClock()
    for number in range(seconds * 4):
        asked = number * SECOND // 4
        middle = asked + round_trip_ns // 2
        known.add(Exchange(asked, middle + offset_ns + round(drift * middle), asked + round_trip_ns))
    return known


@pytest.mark.parametrize("offset_s", [3, -3, 0])
def test_a_constant_offset_is_taken_off(offset_s: int) -> None:
    known = clock(offset_s * SECOND)

    times = np.array([10 * SECOND, 20 * SECOND + 7], np.int64)

    assert (known.local(times + offset_s * SECOND) == times).all()
    assert known.remote(5 * SECOND) == (5 + offset_s) * SECOND
    assert known.error_ns == pytest.approx(MS, abs=2)


def test_a_drift_of_50_parts_in_a_million_is_followed() -> None:
    known = clock(3 * SECOND, drift=50e-6)

    here = np.arange(1, 50, dtype=np.int64) * SECOND
    there = here + 3 * SECOND + np.rint(50e-6 * here).astype(np.int64)

    assert np.abs(known.local(there) - here).max() < 1000


def test_the_shortest_round_trip_of_a_window_counts() -> None:
    known = RemoteClock()
    known.add(Exchange(0, 900 * MS, 1000 * MS))  # answered late: its middle is 400 ms off
    known.add(Exchange(2000 * MS, 2001 * MS, 2002 * MS))

    assert known.local(np.array([5 * SECOND], np.int64))[0] == 5 * SECOND
    assert known.error_ns == MS


def test_a_clock_that_never_answered_is_an_error() -> None:
    with pytest.raises(LoadError, match="never answered"):
        RemoteClock().local(np.array([1], np.int64))


def test_a_log_of_two_machines_becomes_one_of_one_clock(tmp_path: Path) -> None:
    """Producer 0 runs here, producer 1 on a machine 3 s ahead; each machine has a consumer of all messages."""
    ahead = 3 * SECOND
    sends, receives = tmp_path / "sends", tmp_path / "receives"
    for folder in (sends / "far", receives / "far"):
        folder.mkdir(parents=True)
    _sends(sends / "sends-0000.parquet", 0, 10 * SECOND)
    _sends(sends / "far" / "sends-1-0000.parquet", 1, 20 * SECOND + ahead)
    both = [(0, 10 * SECOND), (1, 20 * SECOND + ahead)]
    _receives(receives / "live-0.parquet", both, 30 * SECOND)
    _receives(receives / "far" / "live-1.parquet", both, 40 * SECOND + ahead)

    error_ns = correct(tmp_path, [LogSource("", None, (0, 1)), LogSource("far", clock(ahead), (1, 1))])

    assert error_ns == pytest.approx(MS, abs=2)
    found = {row["producer"]: row for row in pq.read_table(sends).to_pylist()}
    assert found[0]["sent_ns"] == 10 * SECOND
    assert (found[1]["due_ns"], found[1]["sent_ns"], found[1]["done_ns"]) == (20 * SECOND, 20 * SECOND, None)
    rows = sorted(pq.read_table(receives).to_pylist(), key=lambda row: (row["received_ns"], row["producer"]))
    assert [(row["producer"], row["sent_ns"], row["received_ns"]) for row in rows] == [
        (0, 10 * SECOND, 30 * SECOND),
        (1, 20 * SECOND, 30 * SECOND),
        (0, 10 * SECOND, 40 * SECOND),
        (1, 20 * SECOND, 40 * SECOND),
    ]
    assert sorted(file.name for file in sends.glob("*.parquet")) == [
        "far-sends-1-0000.parquet",
        "sends-0000.parquet",
    ]


def _sends(file: Path, producer: int, at_ns: int) -> None:
    times = pa.array([at_ns], pa.int64())
    nothing = pa.array([None], pa.int64())
    columns = {
        "producer": pa.array([producer], pa.int32()),
        "due_ns": times,
        "sent_ns": times,
        "done_ns": nothing,
    }
    pq.write_table(pa.table(columns), file)


def _receives(file: Path, messages: list[tuple[int, int]], at_ns: int) -> None:
    pq.write_table(
        pa.table(
            {
                "producer": pa.array([producer for producer, _ in messages], pa.int32()),
                "sent_ns": pa.array([sent_ns for _, sent_ns in messages], pa.int64()),
                "received_ns": pa.array([at_ns] * len(messages), pa.int64()),
            }
        ),
        file,
    )


def test_end_to_end_times_that_the_clocks_error_would_decide_are_in_no_curve() -> None:
    """The clocks are known to within 100 µs, so of end-to-end times those below 1 ms are left out."""
    quick, slow = MS - 1, MS
    measured = Distribution(2, 2, None, {0: quick, SCALE: slow})
    trials: Any = [SimpleNamespace(trial=4, clock_error_ns=MS // 10)]
    counted: Any = SimpleNamespace(distributions={(4, "e2e"): measured, (4, "service"): measured})

    times = [(row["measure"], row["value_ns"]) for row in job._curves(trials, counted)]

    assert times == [("service", quick), ("service", slow), ("e2e", slow)]
