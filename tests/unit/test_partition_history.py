"""When a partition was served by another node, or again."""

import pytest

from bench.analysis.faults.partition_history import moved_ns
from bench.records.trial import HistoryRecord


def led(at: int, leader: str | None, partition: int = 0) -> HistoryRecord:
    return HistoryRecord(at_ns=at, partitions=[{"partition": partition, "leader": leader, "in_sync": []}])


def owned(at: int, owner: str | None) -> HistoryRecord:
    return HistoryRecord(at_ns=at, partitions=[{"partition": 0, "owner": owner, "ledgers": []}])


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], None),
        ([led(0, "b1")], None),
        ([led(15, "b1")], None),  # seen for the first time is no move
        ([led(0, "b1"), led(15, "b2")], 15),
        ([led(0, "b1"), led(12, None), led(15, "b1")], 15),
        ([led(0, "b1"), led(15, "b1")], None),  # only others' copies changed
        ([led(0, "b1"), led(12, "b2"), led(15, "b3"), led(18, None)], 15),
        ([led(0, "b1"), led(15, "b2", partition=1)], None),
        ([led(0, "b1"), led(10, "b2")], None),  # before the time without service
        ([led(0, "b1"), led(20, "b2")], 20),
        ([led(0, "b1"), led(21, "b2")], None),
        ([owned(0, "b1"), owned(12, None), owned(15, "b2"), HistoryRecord(at_ns=30, partitions=[])], 15),
    ],
)
def test_the_last_move_within_a_time_counts(history: list[HistoryRecord], expected: int | None) -> None:
    assert moved_ns(history, 0, 10, 20) == expected
