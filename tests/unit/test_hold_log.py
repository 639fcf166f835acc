"""Holds counted in event logs written by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.capacity.hold_log import HeldSlice, read_hold
from bench.capacity.service_level import ServiceLevel
from bench.errors import EventLogError
from bench.model import NANOS

MS = NANOS // 1000
BEGUN = 5 * NANOS
HELD = HeldSlice(
    number=3,
    rate=4.0,
    producers=1,
    begun_ns=BEGUN,
    start_ns=BEGUN + NANOS,
    end_ns=BEGUN + 3 * NANOS,
    client_cpu_share=0.5,
)
"""Four messages a second, one second that does not count and two that do: 12 are due, of which 8 count."""
LEVEL = ServiceLevel(response_p99_ns=50 * MS, end_to_end_p99_ns=100 * MS)


def due(sequence: int) -> int:
    return BEGUN + sequence * NANOS // 4


class Log:
    """The sends and receives of one trial; those of other slices are to be left out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sends = folder / "sends"
        self.receives = folder / "receives"
        for one in (self.sends, self.receives):
            one.mkdir()

    def write(
        self, done_ms: Sequence[float | None], seen_ms: Sequence[float | None], outcomes: Sequence[str]
    ) -> None:
        """Write messages from sequence 0 on by how long after they were due they were acknowledged, and seen."""
        numbers = range(len(done_ms))
        table = {
            "producer": pa.array([0] * len(done_ms), pa.int32()),
            "sequence": pa.array(numbers, pa.int64()),
            "due_ns": pa.array([due(one) for one in numbers], pa.int64()),
            "done_ns": pa.array(
                [None if ms is None else due(one) + round(ms * MS) for one, ms in enumerate(done_ms)],
                pa.int64(),
            ),
            "outcome": pa.array(outcomes),
            "slice": pa.array([3] * len(done_ms), pa.int32()),
        }
        pq.write_table(pa.table(table), self.sends / "sends-0001.parquet")
        seen = [(one, due(one) + round(ms * MS)) for one, ms in enumerate(seen_ms) if ms is not None]
        pq.write_table(
            pa.table(
                {
                    "producer": pa.array([0] * len(seen), pa.int32()),
                    "sequence": pa.array([one for one, _ in seen], pa.int64()),
                    "received_ns": pa.array([at for _, at in seen], pa.int64()),
                    "stage": pa.array(["live"] * len(seen)),
                }
            ),
            self.receives / "live-0-0000.parquet",
        )

    def write_another_slice(self) -> None:
        """Another slice, before this one, whose messages were all late."""
        ten = [
            pa.array([-number for number in range(1, 11)], pa.int64()),
            pa.array([due(0)] * 10, pa.int64()),
        ]
        common = {"producer": pa.array([0] * 10, pa.int32()), "sequence": ten[0]}
        sends = {**common, "due_ns": ten[1], "done_ns": ten[1], "outcome": pa.array(["fail"] * 10)}
        sends["slice"] = pa.array([2] * 10, pa.int32())
        pq.write_table(pa.table(sends), self.sends / "sends-0000.parquet")


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_every_message_that_is_due_is_in_time_or_late(log: Log) -> None:
    """Message 5 is late at both, 6 fails, 7 is lost to consumers, 10 never told, 11 never sent."""
    done = [1.0, 1.0, 1.0, 1.0, 50.0, 50.1, 1.0, 1.0, 1.0, 1.0, None]
    seen = [2.0, 2.0, 2.0, 2.0, 100.0, 100.1, 2.0, None, 2.0, 2.0, 2.0]
    log.write(done, seen, ["ok"] * 6 + ["fail"] + ["ok"] * 3 + ["unknown"])
    log.write_another_slice()

    hold = read_hold(log.folder, HELD, LEVEL)

    assert (hold.rate, hold.seconds) == (4.0, 2.0)
    assert hold.due == [4, 4]
    assert hold.late == [2, 2]
    assert hold.late_end_to_end == [2, 1]
    assert (hold.sent, hold.failed) == (7, 2)


def test_a_backlog_that_grows_steadily_has_the_slope_of_what_is_left_undone(log: Log) -> None:
    """Of four messages a second every second one is acknowledged at once, the others never."""
    done = [0.0 if sequence % 2 else None for sequence in range(12)]
    log.write(done, [0.0] * 12, ["ok" if sequence % 2 else "unknown" for sequence in range(12)])

    hold = read_hold(log.folder, replace(HELD, client_cpu_share=0.95), LEVEL)

    assert hold.backlogs["producers"].messages_per_s == pytest.approx(2.0, rel=0.05)
    assert hold.limited_by_client


def test_a_message_that_two_consumers_had_counts_from_the_first(log: Log) -> None:
    log.write([1.0] * 12, [2.0] * 12, ["ok"] * 12)
    late = pa.table(
        {
            "producer": pa.array([0] * 12, pa.int32()),
            "sequence": pa.array(range(12), pa.int64()),
            "received_ns": pa.array([due(one) + NANOS for one in range(12)], pa.int64()),
            "stage": pa.array(["live"] * 12),
        }
    )
    pq.write_table(late, log.receives / "live-1-0000.parquet")

    hold = read_hold(log.folder, HELD, LEVEL)

    assert hold.late_end_to_end == [0, 0]


def test_a_log_without_receives_is_refused_by_its_folder(log: Log) -> None:
    with pytest.raises(EventLogError, match="sends has no Parquet file"):
        read_hold(log.folder, HELD, LEVEL)
