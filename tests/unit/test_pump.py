"""The pump and the senders on it, against a producer that ends sends as the test wants."""

import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import gevent
import pyarrow.parquet as pq
import pytest
from gevent import Greenlet

from bench.errors import LoadError
from bench.load.native import sleep
from bench.load.pacing import Schedule
from bench.load.payload import encoder
from bench.load.pump import Pump
from bench.load.recorder import SendRecorder
from bench.load.sender import NO_LIMIT, Outfit, Sender, Span
from bench.model import NANOS, Outcome, Pacing, Settings
from bench.systems.protocols import Done

OK = Done(Outcome.OK, None, 0, -1, 0, -1)
Callback = Callable[[Done], None]


class FakeProducer:
    """Ends some of the open sends at each poll, chosen by a seed; `hold` keeps all of them open."""

    def __init__(self, seed: int = 1, share: float = 0.5) -> None:
        self.open: deque[Callback] = deque()
        self.hold = False
        self.most_open = 0
        self.poll_error: Exception | None = None
        self.send_error: Exception | None = None
        self._random = random.Random(seed)
        self._share = share

    def send(self, payload: bytes, done: Callback) -> None:
        if self.send_error is not None:
            raise self.send_error
        self.open.append(done)
        self.most_open = max(self.most_open, len(self.open))

    def poll(self, timeout_s: float) -> None:
        if self.poll_error is not None:
            raise self.poll_error
        if self.hold or not self.open:
            sleep(timeout_s)
            return
        for _ in range(max(1, round(len(self.open) * self._random.uniform(0, 2 * self._share)))):
            if self.open:
                self.open.popleft()(OK)

    def effective(self) -> Settings:
        return {}

    def close(self, timeout_s: float) -> None:
        pass


class Bench:
    """A pump with senders in greenlets."""

    def __init__(
        self, folder: Path, producer: FakeProducer, window: int = 1, schedule: Schedule | None = None
    ) -> None:
        self.folder = folder
        self.producer = producer
        self.pump = Pump(producer)
        self.recorder = SendRecorder(folder, 40)
        self.outfit = Outfit(producer, self.pump, self.recorder, encoder("r", 0, 40, 1), window, schedule)
        self.span = Span(zero_ns=0, start_ns=0, end_ns=NO_LIMIT, left=NO_LIMIT)
        self.senders: list[Sender] = []
        self.users: list[Greenlet] = []
        self.pumping: Greenlet | None = None

    def spawn(self, count: int, window: int | None = None) -> None:
        outfit = self.outfit if window is None else Outfit(
            self.producer, self.pump, self.recorder, self.outfit.encode, window, None
        )  # fmt: skip
        for _ in range(count):
            sender = Sender(len(self.senders), outfit)
            self.senders.append(sender)
            self.users.append(gevent.spawn(sender.run, self.span))

    def start(self, seconds: float | None = None) -> None:
        gevent.sleep(0.01)
        self.span.zero_ns = self.span.start_ns = time.monotonic_ns()
        if seconds is not None:
            self.span.end_ns = self.span.zero_ns + round(seconds * NANOS)
        self.pumping = gevent.spawn(self.pump.run)

    def join(self, seconds: float = 60) -> None:
        gevent.joinall(self.users, timeout=seconds)
        assert all(user.dead for user in self.users)

    def drain(self) -> None:
        until(lambda: not any(sender.open_sends for sender in self.senders))

    def close(self) -> None:
        self.pump.stop()
        if self.pumping is not None:
            self.pumping.join(10)
        gevent.killall(self.users)
        self.recorder.close()

    def sequences(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {sender.number: [] for sender in self.senders}
        for row in pq.read_table(self.folder, columns=["producer", "sequence"]).to_pylist():
            found[row["producer"]].append(row["sequence"])
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(producer: FakeProducer | None = None, **options: object) -> Bench:
        made.append(Bench(tmp_path, producer or FakeProducer(), **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        if one.pumping is not None and not one.pumping.dead:
            one.close()


def until(reached: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "not in time"
        gevent.sleep(0.005)


def test_a_million_completions_and_no_wakeup_is_lost(bench: Callable[..., Bench]) -> None:
    load = bench()
    for window in (1, 2, 7, 64):
        load.spawn(25, window)
    load.span.left = 1_000_000
    load.start()
    load.join(200)
    load.drain()
    load.close()

    assert load.recorder.counts == [1_000_000, 0, 0]
    assert sum(sender.sent for sender in load.senders) == 1_000_000
    assert all(sender.finished for sender in load.senders)
    for found in load.sequences().values():
        assert sorted(found) == list(range(len(found)))


def test_users_start_together_once_the_pump_runs(bench: Callable[..., Bench]) -> None:
    load = bench()
    load.spawn(10)
    gevent.sleep(0.05)
    assert not load.producer.open

    load.producer.hold = True
    load.start()
    until(lambda: len(load.producer.open) == 10)

    load.close()


@pytest.mark.parametrize("window", [1, 3, 100])
def test_a_user_has_as_many_sends_open_as_its_window(bench: Callable[..., Bench], window: int) -> None:
    load = bench(window=window)
    load.spawn(2)
    load.span.left = 5000
    load.start()
    load.join()
    load.close()

    assert load.producer.most_open == 2 * window


def test_everything_else_gets_its_turn(bench: Callable[..., Bench]) -> None:
    load = bench()
    load.spawn(100)
    beats = 0

    def beat() -> None:
        nonlocal beats
        while True:
            gevent.sleep(0.001)
            beats += 1

    other = gevent.spawn(beat)
    load.start(seconds=1)
    load.join()
    other.kill()
    load.close()

    assert beats > 20


def test_killed_users_leave_and_the_others_go_on(bench: Callable[..., Bench]) -> None:
    load = bench()
    load.spawn(20)
    load.start()
    until(lambda: load.recorder.counts[0] > 1000)

    gevent.killall(load.users[:10])
    before = [sender.sent for sender in load.senders]
    until(lambda: all(s.sent > b + 50 for s, b in zip(load.senders[10:], before[10:], strict=True)))

    assert [sender.sent for sender in load.senders[:10]] == before[:10]
    assert not any(sender.finished for sender in load.senders[:10])
    assert load.pump.users == 10
    load.close()


def test_users_killed_at_random_times_never_stop_the_pump(bench: Callable[..., Bench]) -> None:
    load = bench(window=4)
    load.start()
    generator = random.Random(4)
    for _ in range(60):
        load.spawn(5)
        gevent.sleep(generator.choice([0, 0.0001, 0.003, 0.01]))
        gevent.killall(generator.sample(load.users, 3), block=generator.random() < 0.5)
    before = load.recorder.counts[0]
    until(lambda: load.recorder.counts[0] > before + 10_000)
    load.close()

    assert all(user.dead for user in load.users)
    assert load.pump.users == 0


def test_users_may_come_while_the_pump_runs(bench: Callable[..., Bench]) -> None:
    load = bench()
    load.spawn(1)
    load.start()
    until(lambda: load.senders[0].sent > 100)
    load.spawn(1)
    until(lambda: load.senders[1].sent > 100)
    load.close()


def test_an_exception_in_one_user_ends_that_user_only(bench: Callable[..., Bench]) -> None:
    load = bench()
    load.spawn(3)
    load.start()
    until(lambda: load.senders[0].sent > 100)

    load.producer.send_error = RuntimeError("broken")
    until(lambda: any(user.dead for user in load.users))
    load.producer.send_error = None
    alive = [s for s, user in zip(load.senders, load.users, strict=True) if not user.dead]
    before = [sender.sent for sender in alive]
    until(lambda: all(s.sent > b + 50 for s, b in zip(alive, before, strict=True)))
    load.close()

    assert {str(user.exception) for user in load.users if not user.successful()} <= {"broken"}


def test_a_user_that_ended_in_the_pumps_turn_may_wait_like_anybody(bench: Callable[..., Bench]) -> None:
    load = bench()
    slept = []

    def user() -> None:
        sender = Sender(len(load.senders), load.outfit)
        load.senders.append(sender)
        sender.run(load.span)
        gevent.sleep(0.02)
        slept.append(sender)

    load.users += [gevent.spawn(user) for _ in range(5)]
    load.span.left = 1000
    load.start()
    load.join()
    load.close()

    assert len(slept) == 5


def test_stop_ends_users_that_wait_for_acks_that_never_come(bench: Callable[..., Bench]) -> None:
    load = bench(window=3)
    load.producer.hold = True
    load.spawn(4)
    load.start(seconds=0.05)
    gevent.sleep(0.1)
    assert load.pump.users == 4

    load.pump.stop()
    load.join(10)
    for sender in load.senders:
        sender.give_up()
    load.close()

    rows = pq.read_table(load.folder).to_pylist()
    assert len(rows) == 12
    assert {(row["outcome"], row["done_ns"], row["error"]) for row in rows} == {
        ("unknown", None, "never told")
    }
    assert not any(sender.finished for sender in load.senders)


def test_a_poll_that_fails_ends_the_pump_and_users_can_still_be_killed(bench: Callable[..., Bench]) -> None:
    load = bench()
    load.spawn(5)
    load.start()
    until(lambda: load.recorder.counts[0] > 100)

    load.producer.poll_error = RuntimeError("connection gone")
    assert load.pumping is not None
    with pytest.raises(RuntimeError, match="connection gone"):
        load.pumping.get(timeout=10)
    gevent.killall(load.users, timeout=10)

    assert all(user.dead for user in load.users)
    load.recorder.close()


def test_a_send_that_ends_twice_is_an_error(bench: Callable[..., Bench]) -> None:
    load = bench()
    load.producer.hold = True
    load.spawn(1)
    load.start()
    until(lambda: len(load.producer.open) == 1)
    (done,) = load.producer.open
    load.producer.open.clear()

    done(OK)
    with pytest.raises(LoadError, match="told twice how send 0 of producer 0"):
        done(OK)
    load.close()


def test_paced_users_send_when_it_is_due(bench: Callable[..., Bench]) -> None:
    schedule = Schedule(Pacing(((0.2, 500), (1.0, 2000))), 5)
    load = bench(schedule=schedule)
    load.spawn(5)
    load.start(seconds=0.6)
    load.join()
    load.drain()
    load.close()

    rows = pq.read_table(load.folder).to_pylist()
    due = schedule.due_before(600_000_000)
    assert due // 2 <= len(rows) <= due  # what is late at the very end is not sent any more
    for row in rows:
        assert row["due_ns"] == load.span.zero_ns + schedule.due_ns(row["producer"], row["sequence"])
        assert row["sent_ns"] >= row["due_ns"]


def test_a_paced_user_whose_window_is_full_is_late_and_says_so(bench: Callable[..., Bench]) -> None:
    load = bench(schedule=Schedule(Pacing(((1.0, 1000),)), 1), window=2)
    load.producer.hold = True
    load.spawn(1)
    load.start(seconds=0.3)
    gevent.sleep(0.1)
    assert len(load.producer.open) == 2

    load.producer.hold = False
    load.join()
    load.drain()
    load.close()

    late = {row["sequence"]: row["sent_ns"] - row["due_ns"] for row in pq.read_table(load.folder).to_pylist()}
    assert 3 < len(late) <= 300
    assert late[2] > 50_000_000
    assert min(late.values()) >= 0


def test_messages_are_counted_after_the_warm_up(bench: Callable[..., Bench]) -> None:
    load = bench()
    load.spawn(2)
    load.span.left = 500
    gevent.sleep(0.01)
    load.span.start_ns = time.monotonic_ns() + 50_000_000
    load.pumping = gevent.spawn(load.pump.run)
    load.join()
    load.drain()
    load.close()

    sent = [row["sent_ns"] for row in pq.read_table(load.folder).to_pylist()]
    assert sum(sent_ns >= load.span.start_ns for sent_ns in sent) == 500
    assert len(sent) > 500
