"""One trial's load inside the long-lived Locust process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gevent
from gevent.event import Event

from bench.errors import LoadError
from bench.load.commands import Produce
from bench.load.live import LiveView
from bench.load.native import NativeThread, spare_collector
from bench.load.payload import encoder
from bench.load.progress import Progress
from bench.load.recorder import SendRecorder
from bench.load.sender import NO_LIMIT, Outfit, Sender, Span
from bench.load.users import LoadEnvironment
from bench.load.vitals import Vitals
from bench.model import NANOS, Outcome
from bench.pacing import Schedule
from bench.systems.protocols import Producers, System

_LOOK_S = 0.05
_SPAWN_DEADLINE_S = 60.0
_MOST_PATIENCE_S = 120.0
"""Longer than this no load waits for clients that tell nothing."""
_CLOSE_S = 1.0  # the grace is over by then


def produce(
    environment: LoadEnvironment, system: System, command: Produce, report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run one trial's load and return its summary (see commands.Produce); `report` takes progress.

    Raises LoadError when the load broke off or not every send is on record, and what the system raises.
    """
    load = command.load
    window = max(1, load.window)
    producers = system.producers(command.endpoint, command.topic, command.producer, load.producers, window)
    trial = TrialLoad(command, producers, _outfit(command, window))
    try:
        trial.run(environment, report)
    finally:
        trial.close()
    return trial.summary()


def _outfit(command: Produce, window: int) -> Outfit:
    load = command.load
    encode = encoder(command.run, command.trial, load.message_bytes, command.seed)
    schedule = None if load.pacing.closed else Schedule(load.pacing, load.producers, load.warm_up_s)
    recorder = SendRecorder(command.folder, load.message_bytes, load.producers, watched=True)
    return Outfit(recorder, encode, window, schedule)


class TrialLoad:
    """The load of one trial, its users' workload. `run` it, `close` it, then ask for the `summary`."""

    def __init__(self, command: Produce, producers: Producers, outfit: Outfit) -> None:
        """Prepare a sender for each producer."""
        self._command = command
        self._producers = producers
        self._recorder = outfit.recorder
        self._schedule = outfit.schedule
        self._senders = [Sender(number, one, outfit) for number, one in enumerate(producers.each)]
        self._waiting = list(reversed(self._senders))
        self._threads: list[NativeThread] = []
        self._last_end_ns = 0
        self._over = Event()
        self._span = Span(NO_LIMIT if command.load.messages is None else command.load.messages)
        self._vitals = Vitals(self._span)
        self._effective = dict(producers.effective())
        self._patience_s = min(producers.patience_s() + _LOOK_S, _MOST_PATIENCE_S)
        self._error: Exception | None = None
        self._stalled_ns: int | None = None
        self._never_told = 0

    def run_user(self) -> None:
        """See users.Workload. Every user takes a sender; where there is none left it does nothing."""
        if self._waiting:
            self._threads.append(NativeThread(partial(self._send, self._waiting.pop())))
            self._over.wait()

    def _send(self, sender: Sender) -> None:
        """Run a sender, in its thread."""
        try:
            sender.run(self._span)
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise it to; `run` does
            self._error = error

    def run(self, environment: LoadEnvironment, report: Callable[[dict[str, Any]], None]) -> None:
        """Start all users at once, let them send until the load is over, and wait for what is still open."""
        recorder = self._recorder
        with self._users(environment):
            self._open_gate()
            progress = Progress(
                recorder, self._senders, self._span, self._vitals, self._command.progress_at_acks, report
            )
            live = LiveView(environment.stats, f"{self._command.system} {self._command.topic.name}", recorder)
            with _beside(self._vitals.run, live.run, progress.run):
                while self._goes_on():
                    gevent.sleep(_LOOK_S)
            live.update()
            progress.tell()

    def close(self) -> None:
        """Close the clients and write the last records; a send that nobody ever told about is unknown.

        A thread that a client library still holds after that is left to itself; nothing it says counts. What only
        ends because the client is closed does not make the window longer; of a load that broke off that ends when it
        was given up.
        """
        self._last_end_ns = self._latest_end_ns()
        self._span.stopped = True
        self._span.gate.open()  # for those still waiting in front of it
        self._await_threads()
        self._producers.close(_CLOSE_S)
        self._await_threads()
        self._never_told = sum(sender.open_sends for sender in self._senders)
        for sender in self._senders:
            sender.give_up()
        self._recorder.close()

    def _await_threads(self) -> None:
        deadline = time.monotonic() + _CLOSE_S
        while not all(thread.over for thread in self._threads) and time.monotonic() < deadline:
            gevent.sleep(_LOOK_S)

    def summary(self) -> dict[str, Any]:
        """Return what commands.Produce promises."""
        acked, failed, unknown = (self._recorder.counts[outcome] for outcome in Outcome)
        return {
            "sent": self._sent(),
            "acked": acked,
            "failed": failed,
            "unknown": unknown,
            "window": {"start_ns": self._span.start_ns, "end_ns": self._window_end_ns()},
            "client": {
                **self._vitals.report(),
                "recorder_backlog_max": self._recorder.backlog_max,
            },
            "producer": self._effective,
            "due_unsent": self._due_unsent(),
            "never_told": self._never_told,
            "stalled": self._stalled_ns is not None,
        }

    @contextmanager
    def _users(self, environment: LoadEnvironment) -> Iterator[None]:
        runner = environment.runner
        if runner is None:
            raise LoadError(
                "The load process has no Locust runner: make the environment with new_environment()."
            )
        environment.workload = self
        try:
            runner.start(len(self._senders), spawn_rate=len(self._senders))
            yield
        finally:
            self._over.set()
            runner.stop()
            environment.workload = None

    def _open_gate(self) -> None:
        """Wait until every user is there, then set the clock and let them start together."""
        deadline_ns = time.monotonic_ns() + round(_SPAWN_DEADLINE_S * NANOS)
        while len(self._threads) < len(self._senders):
            if time.monotonic_ns() > deadline_ns:
                raise LoadError(
                    f"Only {len(self._threads)} of {len(self._senders)} users were there after "
                    f"{_SPAWN_DEADLINE_S:.0f} s: the load process gets too little CPU."
                )
            gevent.sleep(_LOOK_S)
        spare_collector()
        self._set_clock()

    def _set_clock(self) -> None:
        load, span = self._command.load, self._span
        span.zero_ns = time.monotonic_ns()
        span.start_ns = span.zero_ns + round(load.warm_up_s * NANOS)
        span.end_ns = NO_LIMIT if load.duration_s is None else span.start_ns + round(load.duration_s * NANOS)
        span.gate.open()

    def _goes_on(self) -> bool:
        """Tell whether users still send or sends are still open, within the grace."""
        if self._error is not None:
            raise LoadError(f"A user of the load broke off: {self._error!r}.") from self._error
        now_ns = time.monotonic_ns()
        sending = not all(sender.finished for sender in self._senders)
        if now_ns > self._deadline_ns():
            self._stalled_ns = now_ns if sending else None
            return False
        return sending or (self._span.end_ns != NO_LIMIT and now_ns < self._span.end_ns)

    def _deadline_ns(self) -> int:
        grace_ns = round(max(self._command.grace_s, self._patience_s) * NANOS)
        if self._span.end_ns != NO_LIMIT:
            return self._span.end_ns + grace_ns
        return max(self._span.start_ns, self._latest_end_ns()) + grace_ns

    def _latest_end_ns(self) -> int:
        return max(sender.last_end_ns for sender in self._senders)

    def _sent(self) -> int:
        return sum(sender.sent for sender in self._senders)

    def _window_end_ns(self) -> int:
        if self._span.end_ns != NO_LIMIT:
            return self._span.end_ns
        return max(self._span.start_ns, self._stalled_ns or self._last_end_ns + 1)

    def _due_unsent(self) -> int:
        if self._schedule is None:
            return 0
        if self._span.end_ns == NO_LIMIT:
            wanted = self._schedule.due_before(self._span.start_ns - self._span.zero_ns) + self._span.messages
            return wanted - self._sent() if self._stalled_ns else 0
        return self._schedule.due_before(self._span.end_ns - self._span.zero_ns) - self._sent()


@contextmanager
def _beside(*loops: Callable[[], None]) -> Iterator[None]:
    greenlets = [gevent.spawn(loop) for loop in loops]
    try:
        yield
    finally:
        gevent.killall(greenlets)
