"""The senders in their threads, against producers that end sends as the test wants."""

import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.errors import LoadError
from bench.load.payload import encoder
from bench.load.recorder import SendRecorder
from bench.load.sender import NO_LIMIT, Outfit, Sender, Span
from bench.model import Outcome, Pacing
from bench.native_threads import NativeThread
from bench.pacing import Schedule
from bench.systems.protocols import SendResult

OK = SendResult(Outcome.OK, None, 0, -1, 0, -1)
Callback = Callable[[SendResult], None]


class FakeProducer:
    """Ends some of the open sends at each poll, chosen by a seed; `hold` keeps all of them open."""

    def __init__(self, seed: int = 1) -> None:
        self.open: deque[Callback] = deque()
        self.hold = False
        self.most_open = 0
        self.polls = 0
        self._random = random.Random(seed)

    def send(self, payload: bytes, done: Callback) -> None:
        self.open.append(done)
        self.most_open = max(self.most_open, len(self.open))

    def poll(self, timeout_s: float) -> None:
        self.polls += 1
        if self.hold or not self.open:
            time.sleep(timeout_s)
            return
        for _ in range(max(1, self._random.randrange(len(self.open) + 1))):
            if self.open:
                self.open.popleft()(OK)


class SyncProducer(FakeProducer):
    """Ends every send in the call that made it."""

    def send(self, payload: bytes, done: Callback) -> None:
        super().send(payload, done)
        self.open.popleft()(OK)


class Bench:
    """Senders in threads of their own."""

    def __init__(self, folder: Path, count: int, window: int = 1, schedule: Schedule | None = None) -> None:
        self.folder = folder
        self.recorder = SendRecorder(folder, 40, count, chunk_rows=100 * count)
        outfit = Outfit(self.recorder, encoder("r", 0, 40, 1), window)
        self.producers = [FakeProducer(number) for number in range(count)]
        self.senders = [
            Sender(number, one, outfit, self.recorder.lines[number])
            for number, one in enumerate(self.producers)
        ]
        self.span = Span(schedule=schedule)
        self.threads: list[NativeThread] = []

    def hold(self, held: bool) -> None:
        for producer in self.producers:
            producer.hold = held

    def start(self) -> None:
        self.threads = [NativeThread(lambda s=sender: s.run(self.span)) for sender in self.senders]  # type: ignore[misc]
        self.span.zero_ns = time.monotonic_ns()
        self.span.gate.open()

    def await_open(self, sends: int) -> None:
        """Wait until every sender has so many sends open."""
        until(lambda: all(len(producer.open) == sends for producer in self.producers))

    def await_sent(self, sends: int) -> None:
        """Wait until every sender made so many sends."""
        until(lambda: all(sender.sent >= sends for sender in self.senders))

    def await_polls(self, polls: int) -> None:
        """Wait until every sender polled so often from now on."""
        wanted = [producer.polls + polls for producer in self.producers]
        until(lambda: all(one.polls >= count for one, count in zip(self.producers, wanted, strict=True)))

    def end(self) -> int:
        """End the span now; return a time after which it admits no send."""
        self.span.end_ns = time.monotonic_ns()
        return time.monotonic_ns()

    def join(self) -> None:
        until(lambda: all(thread.over for thread in self.threads))

    def close(self) -> None:
        self.span.stopped = True
        self.span.gate.open()
        self.join()
        for sender in self.senders:
            sender.give_up()
        self.recorder.close()

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pq.read_table(self.folder).to_pylist()
        return found


Make = Callable[..., Bench]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Make]:
    made: list[Bench] = []

    def make(count: int, **options: object) -> Bench:
        made.append(Bench(tmp_path, count, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.span.stopped = True
        one.span.gate.open()
        one.join()


def until(reached: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.005)


def test_a_limited_loop_leaves_an_interval_between_the_sends_of_a_producer(bench: Make) -> None:
    load = bench(3, window=5)
    load.span.interval_ns = 20_000_000

    load.start()
    load.await_sent(5)
    load.end()
    load.join()
    load.close()

    sent: dict[int, list[int]] = {}
    for row in load.rows():
        sent.setdefault(row["producer"], []).append(row["sent_ns"])
    gaps = [later - earlier for times in sent.values() for earlier, later in pairwise(sorted(times))]
    assert len(gaps) >= 12
    assert min(gaps) >= 20_000_000


@pytest.mark.parametrize("window", [1, 7, 64])
def test_many_threads_share_the_messages_and_every_send_is_on_record_once(bench: Make, window: int) -> None:
    load = bench(25, window=window)
    load.span.messages = 100_000
    load.start()
    load.join()
    load.close()

    assert load.recorder.counts == [100_000, 0, 0]
    assert all(sender.finished for sender in load.senders)
    found = pq.read_table(load.folder, columns=["producer", "sequence"]).to_pydict()
    sequences: dict[int, set[int]] = {number: set() for number in range(25)}
    for producer, sequence in zip(found["producer"], found["sequence"], strict=True):
        sequences[producer].add(sequence)
    assert len(found["producer"]) == 100_000
    assert [sequences[s.number] for s in load.senders] == [set(range(s.sent)) for s in load.senders]


def test_nobody_sends_before_the_gate_opens(bench: Make) -> None:
    load = bench(10)
    load.hold(True)
    load.threads = [NativeThread(lambda s=sender: s.run(load.span)) for sender in load.senders]  # type: ignore[misc]
    time.sleep(0.05)
    assert not any(producer.open for producer in load.producers)

    load.span.gate.open()
    load.await_open(1)


@pytest.mark.parametrize("window", [1, 3, 100])
def test_a_sender_has_as_many_sends_open_as_its_window(bench: Make, window: int) -> None:
    load = bench(2, window=window)
    load.start()
    load.await_sent(10 * window)
    load.end()
    load.join()

    assert [producer.most_open for producer in load.producers] == [window, window]


def test_a_producer_may_end_its_sends_at_once(tmp_path: Path) -> None:
    recorder = SendRecorder(tmp_path, 40)
    sender = Sender(0, SyncProducer(), Outfit(recorder, encoder("r", 0, 40, 1), 1), recorder.lines[0])
    span = Span(messages=1000)
    span.gate.open()

    sender.run(span)
    recorder.close()

    assert [row["sequence"] for row in pq.read_table(tmp_path).to_pylist()] == list(range(1000))
    assert sender.finished


def test_stop_ends_senders_that_wait_for_acks_that_never_come(bench: Make) -> None:
    load = bench(4, window=3)
    load.hold(True)
    load.start()
    load.await_open(3)
    load.end()
    load.await_polls(3)
    assert not any(thread.over for thread in load.threads)

    load.close()

    rows = load.rows()
    assert len(rows) == 12
    assert {(row["outcome"], row["done_ns"], row["error"]) for row in rows} == {
        ("unknown", None, "never told")
    }
    assert not any(sender.finished for sender in load.senders)


def test_a_stop_before_the_start_sends_nothing(bench: Make) -> None:
    load = bench(3)
    load.span.stopped = True
    load.start()
    load.join()

    assert [sender.sent for sender in load.senders] == [0, 0, 0]


def test_a_send_that_ends_twice_is_an_error(bench: Make) -> None:
    load = bench(1)
    load.hold(True)
    load.start()
    load.await_open(1)
    done = load.producers[0].open.popleft()
    load.span.stopped = True
    load.join()

    done(OK)
    with pytest.raises(LoadError, match="told twice how send 0 of producer 0"):
        done(OK)


def test_paced_senders_send_when_it_is_due(bench: Make) -> None:
    schedule = Schedule(Pacing(((0.2, 500), (1.0, 2000))), 5)
    load = bench(5, schedule=schedule)
    load.start()
    load.await_sent(100)  # 20 of them in the first step
    ended_ns = load.end()
    load.join()
    load.close()

    rows = load.rows()
    for sender in load.senders:
        sequences = sorted(row["sequence"] for row in rows if row["producer"] == sender.number)
        assert sequences == list(range(sender.sent))
    assert (
        max(row["sent_ns"] for row in rows) <= ended_ns
    )  # what is late at the very end is not sent any more
    for row in rows:
        assert row["due_ns"] == load.span.zero_ns + schedule.due_ns(row["producer"], row["sequence"])
        assert row["sent_ns"] >= row["due_ns"]


def test_a_paced_sender_whose_window_is_full_is_late_and_says_so(bench: Make) -> None:
    load = bench(1, schedule=Schedule(Pacing(((1.0, 1000),)), 1), window=2)
    load.hold(True)
    load.start()
    load.await_open(2)
    time.sleep(0.1)
    assert len(load.producers[0].open) == 2

    load.hold(False)
    load.await_sent(10)
    load.end()
    load.join()
    load.close()

    late = {row["sequence"]: row["sent_ns"] - row["due_ns"] for row in load.rows()}
    assert sorted(late) == list(range(load.senders[0].sent))
    assert late[2] > 90_000_000  # due after 2 ms
    assert min(late.values()) >= 0


def test_messages_are_counted_after_the_warm_up(bench: Make) -> None:
    load = bench(2, window=300)
    load.hold(True)
    load.span.messages = 500
    load.span.start_ns = NO_LIMIT
    load.start()
    load.await_open(300)
    load.span.start_ns = time.monotonic_ns()
    load.hold(False)
    load.join()
    load.close()

    sent = [row["sent_ns"] for row in load.rows()]
    assert len(sent) == 600 + 500
    assert sum(sent_ns >= load.span.start_ns for sent_ns in sent) == 500
