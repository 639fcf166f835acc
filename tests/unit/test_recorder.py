import os
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.errors import LoadError
from bench.load.payload import encoder, run_hash
from bench.load.recorder import FOREIGN, ReceiveRecorder, SendRecorder
from bench.load.schemas import RECEIVES, SENDS
from bench.load.tally import rounded_ms, tally
from bench.model import Outcome
from bench.native_threads import NativeThread
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage, SendResult

OK = SendResult(Outcome.OK, None, 3, 7, 11, 2)
KAFKA_OK = SendResult(Outcome.OK, None, 3, NOT_GIVEN, 11, NOT_GIVEN)
TIMED_OUT = SendResult(Outcome.UNKNOWN, "_MSG_TIMED_OUT", NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)
REFUSED = SendResult(Outcome.FAIL, "MSG_SIZE_TOO_LARGE", 1, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return found


def test_a_send_comes_back_as_it_was(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 1000)
    recorder.lines[0].record(1, 2, 100, 110, 150, OK)
    recorder.close()

    assert rows(tmp_path) == [
        {
            "producer": 1,
            "sequence": 2,
            "partition": 3,
            "due_ns": 100,
            "sent_ns": 110,
            "done_ns": 150,
            "outcome": "ok",
            "error": None,
            "bytes": 1000,
            "ledger": 7,
            "entry": 11,
            "batch_index": 2,
            "slice": 0,
        }
    ]


def test_what_is_not_given_is_null(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 1000)
    recorder.lines[0].record(1, 2, 100, 110, NOT_GIVEN, TIMED_OUT)
    recorder.close()

    (row,) = rows(tmp_path)

    assert row["partition"] == -1
    assert [row[name] for name in ("done_ns", "ledger", "entry", "batch_index")] == [None] * 4


def test_outcomes_and_errors_have_their_names(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 1000)
    for sequence, done in enumerate([KAFKA_OK, TIMED_OUT, REFUSED, TIMED_OUT]):
        recorder.lines[0].record(0, sequence, 0, 0, 1, done)
    recorder.close()

    assert [(row["outcome"], row["error"]) for row in rows(tmp_path)] == [
        ("ok", None),
        ("unknown", "_MSG_TIMED_OUT"),
        ("fail", "MSG_SIZE_TOO_LARGE"),
        ("unknown", "_MSG_TIMED_OUT"),
    ]
    assert recorder.counts == [1, 1, 2]


def test_the_files_have_exactly_the_schema_of_the_event_log(tmp_path: Path) -> None:
    sends = SendRecorder(tmp_path / "sends", 1000)
    sends.lines[0].record(0, 0, 0, 0, 1, OK)
    sends.close()
    receives = ReceiveRecorder(tmp_path / "receives", "live", 0, 1, 1)
    receives.add([ReceivedMessage(b"", 1, 0, NOT_GIVEN, 0, NOT_GIVEN)])
    receives.close()

    assert pq.read_schema(tmp_path / "sends" / "sends-0000.parquet").equals(SENDS)
    assert pq.read_schema(next((tmp_path / "receives").glob("live-0-*-0000.parquet"))).equals(RECEIVES)


def test_no_record_is_dropped_over_many_chunks_and_files(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 1000, chunk_rows=100)
    for sequence in range(5050):
        recorder.lines[0].record(0, sequence, sequence, sequence, sequence + 1, KAFKA_OK)
    recorder.close()

    assert [row["sequence"] for row in rows(tmp_path)] == list(range(5050))
    assert len(list(tmp_path.iterdir())) == 4
    assert 1 <= recorder.backlog_max <= 51


def test_a_recorder_without_records_leaves_no_file(tmp_path: Path) -> None:
    SendRecorder(tmp_path, 1000).close()

    assert list(tmp_path.iterdir()) == []


def test_half_written_files_are_hidden(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 1000, chunk_rows=1)
    for sequence in range(17):  # a file takes 16
        recorder.lines[0].record(0, sequence, 0, 0, 1, KAFKA_OK)
    deadline = time.monotonic() + 60
    while recorder.backlog:
        assert time.monotonic() < deadline
        time.sleep(0.005)

    assert {path.name for path in tmp_path.iterdir()} == {"sends-0000.parquet", ".sends-0001.parquet"}
    assert [row["sequence"] for row in rows(tmp_path)] == list(range(16))
    recorder.close()
    assert {path.name for path in tmp_path.iterdir()} == {"sends-0000.parquet", "sends-0001.parquet"}


def test_a_failed_write_makes_close_raise(tmp_path: Path) -> None:
    folder = tmp_path / "sends"
    recorder = SendRecorder(folder, 1000, chunk_rows=2)
    folder.rmdir()
    for sequence in range(10):
        recorder.lines[0].record(0, sequence, 0, 0, 1, KAFKA_OK)

    with pytest.raises(LoadError, match="Not every message is on record"):
        recorder.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_makes_close_raise(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 1000)
    (tmp_path / ".sends-0000.parquet").symlink_to("/dev/full")
    recorder.lines[0].record(0, 0, 0, 0, 1, KAFKA_OK)

    with pytest.raises(LoadError, match="No space left"):
        recorder.close()


def test_threads_record_at_the_same_time(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 1000, 4, watched=True, chunk_rows=400)

    def work(producer: int) -> None:
        for sequence in range(20_000):
            error = f"error {sequence % 7}"
            recorder.lines[producer].record(
                producer,
                sequence,
                0,
                0,
                1,
                SendResult(Outcome.FAIL, error, 0, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN),
            )

    threads = [NativeThread(lambda n=number: work(n)) for number in range(4)]  # type: ignore[misc]
    seen = 0
    while not all(thread.over for thread in threads):
        seen += sum(len(part) for part in recorder.fresh_rows())
    seen += sum(len(part) for part in recorder.fresh_rows())
    recorder.close()

    assert seen == 80_000
    assert recorder.counts == [0, 80_000, 0]
    found = rows(tmp_path)
    for producer in range(4):
        mine = [row for row in found if row["producer"] == producer]
        assert [row["sequence"] for row in mine] == list(range(20_000))
        assert all(row["error"] == f"error {row['sequence'] % 7}" for row in mine)


def test_fresh_rows_are_each_seen_once_over_chunks(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 1000, watched=True, chunk_rows=10)
    seen: list[int] = []
    for sequence in range(95):
        recorder.lines[0].record(0, sequence, 0, 0, 1, KAFKA_OK)
        if sequence % 37 == 0:
            seen += [number for part in recorder.fresh_rows() for number in part["sequence"].tolist()]
    seen += [number for part in recorder.fresh_rows() for number in part["sequence"].tolist()]
    recorder.close()

    assert seen == list(range(95))


def test_the_tally_counts_like_locust(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 1000, watched=True)
    for sequence, (ms, done) in enumerate([(1, OK), (1, OK), (147, OK), (3432, TIMED_OUT), (58760, REFUSED)]):
        recorder.lines[0].record(0, sequence, 0, 0, ms * 1_000_000, done)

    counted = tally(recorder.fresh_rows())
    recorder.close()

    assert counted is not None
    assert (counted.requests, counted.failures) == (5, 2)
    assert counted.histogram == {1: 2, 150: 1, 3400: 1, 59000: 1}
    assert (counted.min_ms, counted.max_ms) == (1, 58760)
    assert counted.seconds == {0: 3, 3: 1, 58: 1}
    assert counted.failed_seconds == {3: 1, 58: 1}
    assert {recorder.errors[code]: count for code, count in counted.errors.items()} == {
        "_MSG_TIMED_OUT": 1,
        "MSG_SIZE_TOO_LARGE": 1,
    }
    assert tally(recorder.fresh_rows()) is None


def test_rounding_keeps_two_digits() -> None:
    import numpy as np  # noqa: PLC0415

    assert rounded_ms(np.array([0.4, 99.4, 147.0, 999.0, 3432.0, 58760.0])).tolist() == [
        0,
        99,
        150,
        1000,
        3400,
        59000,
    ]


def received(payload: bytes, entry: int, received_ns: int = 5) -> ReceivedMessage:
    return ReceivedMessage(payload, received_ns, 1, 2, entry, NOT_GIVEN)


def test_a_receive_comes_back_with_what_its_message_says(tmp_path: Path) -> None:
    recorder = ReceiveRecorder(tmp_path, "verify", 4, run_hash("run"), 9)
    recorder.add([received(encoder("run", 9, 100, seed=1)(6, 8, 3), 70)])
    recorder.close()

    assert rows(tmp_path) == [
        {
            "consumer": 4,
            "stage": "verify",
            "partition": 1,
            "producer": 6,
            "sequence": 8,
            "sent_ns": 3,
            "received_ns": 5,
            "ledger": 2,
            "entry": 70,
            "batch_index": None,
        }
    ]


def test_foreign_messages_are_recorded_as_such_and_not_counted(tmp_path: Path) -> None:
    recorder = ReceiveRecorder(tmp_path, "verify", 0, run_hash("run"), 9)
    recorder.add([received(encoder("run", 8, 100, seed=1)(6, 8, 3), 0), received(b"else", 1)])
    recorder.close()

    assert [(row["producer"], row["sequence"]) for row in rows(tmp_path)] == [(FOREIGN, FOREIGN)] * 2
    assert (recorder.received, recorder.distinct) == (2, 0)


def test_distinct_messages_are_counted_once_however_they_come(tmp_path: Path) -> None:
    encode = encoder("run", 9, 40, seed=1)
    recorder = ReceiveRecorder(tmp_path, "live", 0, run_hash("run"), 9)
    order = [(0, 5), (0, 5), (1, 5), (0, 2000), (0, 3), (1, 5), (0, 100_000)]
    for entry, (producer, sequence) in enumerate(order):
        recorder.add([received(encode(producer, sequence, 0), entry)])
        recorder.hand_over()
    recorder.close()

    assert (recorder.received, recorder.distinct) == (7, 5)


def test_receives_keep_their_order_over_chunks(tmp_path: Path) -> None:
    encode = encoder("run", 9, 40, seed=1)
    recorder = ReceiveRecorder(tmp_path, "live", 0, run_hash("run"), 9)
    for start in range(0, 150_000, 500):
        recorder.add([received(encode(0, entry, 0), entry, entry) for entry in range(start, start + 500)])
    recorder.close()

    table = pq.read_table(tmp_path)

    assert table["sequence"].to_pylist() == list(range(150_000))
    assert table["received_ns"].to_pylist() == list(range(150_000))
    assert recorder.distinct == 150_000
