"""The loads of trials inside the long-lived Locust process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gevent
from gevent.event import Event

from bench.errors import LoadError
from bench.load.commands import Close, Open, Produce, RunLoad, RunSlice
from bench.load.live_view import LiveView
from bench.load.payload import encoder
from bench.load.progress import ProgressReporter
from bench.load.recorder import SendRecorder
from bench.load.sender import NO_LIMIT, Outfit, Sender, Span
from bench.load.users import LoadEnvironment
from bench.load.vitals import Vitals
from bench.model import NANOS, Load, Outcome
from bench.native_threads import NativeThread, new_queue, spare_collector
from bench.pacing import Schedule
from bench.systems.protocols import Producers, System

Report = Callable[[dict[str, Any]], None]

_LOOK_S = 0.05
_LAST_LOOK_S = 0.002
"""Near the end of a load it is looked at so often: the next slice waits for that."""
_SPAWN_DEADLINE_S = 60.0
_MOST_PATIENCE_S = 120.0
"""Longer than this no load waits for clients that tell nothing."""
_CLOSE_S = 1.0  # the grace is over by then


def produce(environment: LoadEnvironment, system: System, command: Produce, report: Report) -> dict[str, Any]:
    """Run one trial's load and return its summary (see commands.Produce); `report` takes progress.

    Raises LoadError when the load broke off or not every send is on record, and what the system raises.
    """
    load = TrialLoad(command, *_clients(system, command))
    try:
        load.start(environment)
        load.run_whole(report)
    finally:
        load.close()
    return load.summary()


def _clients(system: System, command: Produce) -> tuple[Producers, Outfit]:
    load = command.load
    window = max(1, load.window)
    producers = system.producers(command.endpoint, command.topic, command.producer, command.producers, window)
    return producers, _outfit(command, window)


def _outfit(command: Produce, window: int) -> Outfit:
    load = command.load
    encode = encoder(command.run, command.trial, load.message_bytes, command.seed)
    recorder = SendRecorder(
        command.folder, load.message_bytes, command.producers, watched=True, first=command.first
    )
    return Outfit(recorder, encode, window)


class OpenLoads:
    """The loads that are connected at a time, by trial; one of them at a time sends."""

    def __init__(self, environment: LoadEnvironment) -> None:
        """No load is open."""
        self._environment = environment
        self._loads: dict[int, TrialLoad] = {}

    def open(self, system: System, command: Open) -> dict[str, Any]:
        """See commands.Open. Raises LoadError, and what the system raises."""
        trial = command.produce.trial
        if trial in self._loads:
            raise LoadError(f"The load of trial {trial} is open already.")
        load = TrialLoad(command.produce, *_clients(system, command.produce))
        try:
            load.start(self._environment)
        except BaseException:
            load.close()
            raise
        self._loads[trial] = load
        return {"producer": load.effective}

    def run(self, command: RunLoad, report: Report) -> dict[str, Any]:
        """See commands.RunLoad. Raises LoadError."""
        load = self._load_of(command.trial)
        load.run_whole(report, command.begin_ns)
        return load.outcome()

    def run_slice(self, command: RunSlice, report: Report) -> dict[str, Any]:
        """See commands.RunSlice. Raises LoadError."""
        return self._load_of(command.trial).run_slice(command, report)

    def close(self, command: Close) -> dict[str, Any]:
        """See commands.Close. Raises LoadError when not every send is on record."""
        load = self._load_of(command.trial)
        del self._loads[command.trial]
        load.close()
        return load.totals()

    def _load_of(self, trial: int) -> TrialLoad:
        if trial not in self._loads:
            raise LoadError(f"No load of trial {trial} is open.")
        return self._loads[trial]


class TrialLoad:
    """The load of one trial, what its users do: `start` it, run it whole or in slices, `close` it."""

    def __init__(self, command: Produce, producers: Producers, outfit: Outfit) -> None:
        """Prepare a sender for each producer."""
        self.effective = dict(producers.effective())
        self._command = command
        self._producers = producers
        self._recorder = outfit.recorder
        self._senders = [
            Sender(command.first + place, producer, outfit, outfit.recorder.lines[place])
            for place, producer in enumerate(producers.clients)
        ]
        self._spans = [new_queue() for _ in self._senders]
        self._threads: list[NativeThread] = []
        self._closed = Event()
        self._environment: LoadEnvironment | None = None
        self._span = Span()
        self._vitals = Vitals(self._span)
        self._patience_s = min(producers.patience_s() + _LOOK_S, _MOST_PATIENCE_S)
        self._error: Exception | None = None
        self._sent_before = 0
        self._last_end_ns = 0
        self._stalled_ns: int | None = None
        self._never_told = 0

    def start(self, environment: LoadEnvironment) -> None:
        """Give each sender a Locust user, and wait until all are there. Raises LoadError."""
        self._environment = environment
        environment.join(self, len(self._senders))
        deadline_ns = time.monotonic_ns() + round(_SPAWN_DEADLINE_S * NANOS)
        while len(self._threads) < len(self._senders):
            if time.monotonic_ns() > deadline_ns:
                raise LoadError(
                    f"Only {len(self._threads)} of {len(self._senders)} users were there after "
                    f"{_SPAWN_DEADLINE_S:.0f} s: the load process gets too little CPU."
                )
            gevent.sleep(_LOOK_S)
        spare_collector()

    def run_user(self) -> None:
        """See users.UserLoad. A user takes a sender until the load is closed; where none is left it does nothing."""
        if (number := len(self._threads)) < len(self._senders):
            self._threads.append(
                NativeThread(partial(self._send, self._senders[number], self._spans[number]))
            )
            self._closed.wait()

    def _send(self, sender: Sender, spans: Any) -> None:  # noqa: ANN401 - a queue of native threads
        """Run a sender over one span after the other, in its thread."""
        try:
            while (span := spans.get()) is not None:
                sender.run(span)
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise it to; `run` does
            self._error = error

    def run_whole(self, report: Report, begin_ns: int = 0) -> None:
        """Load once, as the command says. Raises LoadError."""
        load = self._command.load
        self._run(load, Span(NO_LIMIT if load.messages is None else load.messages), report, begin_ns)

    def run_slice(self, command: RunSlice, report: Report) -> dict[str, Any]:
        """Load for one slice; return what commands.RunSlice promises. Raises LoadError."""
        if self._stalled_ns is not None:
            raise LoadError(f"The load of trial {self._command.trial} broke off in an earlier slice.")
        acked, load, span = self._recorder.counts[Outcome.OK], self._command.load, Span(slice=command.number)
        if (held := command.held) is None:
            self._run(load, span, report, command.begin_ns)
        else:
            span.overrun_ns = round(held.overrun_s * NANOS)
            self._run(held.instead_of(load), span, report, command.begin_ns)
            self._recorder.flush()
        times = {"begun_ns": span.zero_ns, "start_ns": span.start_ns, "end_ns": span.end_ns}
        return {
            "slice": {"slice": command.number, **times},
            "acked": self._recorder.counts[Outcome.OK] - acked,
            "acked_before": acked,
            "client": self._client(),
            "due_unsent": self._due_unsent(),
            "stalled": self._stalled_ns is not None,
        }

    def _run(self, load: Load, span: Span, report: Report, begin_ns: int) -> None:
        """Let all users send from now on until the span is over, and wait for what is still open. Raises LoadError."""
        self._begin(load, span, begin_ns)
        progress = ProgressReporter(
            self._recorder, self._senders, span, self._vitals, self._command.progress_at_acks, report
        )
        name = f"{self._command.system} {self._command.topic.name}"
        if self._environment is None:
            raise LoadError("The load has no users: start it first.")
        live = LiveView(self._environment.stats, name, self._recorder)
        with _beside(self._vitals.run, live.run, progress.run):
            while self._goes_on():
                gevent.sleep(self._look_s())
        live.update()
        progress.tell()

    def _begin(self, load: Load, span: Span, begin_ns: int) -> None:
        """Set the clock, hand every sender the span, and let them start together, at `begin_ns` or now.

        A process that reads the command after `begin_ns` is late for its first sends, and these are late in its log.
        """
        if load.pacing.is_closed_loop and load.most_per_s:
            span.stagger_ns = round(NANOS / load.most_per_s)
            span.interval_ns = load.producers * span.stagger_ns
        if not load.pacing.is_closed_loop:
            span.schedule = Schedule(load.pacing, load.producers, load.warm_up_s)
        self._span, self._vitals = span, Vitals(span)
        self._sent_before = self._sent_count()
        for sender, spans in zip(self._senders, self._spans, strict=True):
            sender.finished = False
            spans.put(span)
        span.zero_ns = begin_ns or time.monotonic_ns()
        span.start_ns = span.zero_ns + round(load.warm_up_s * NANOS)
        span.end_ns = NO_LIMIT if load.duration_s is None else span.start_ns + round(load.duration_s * NANOS)
        span.gate.open()

    def close(self) -> None:
        """Close the clients and write the last records; a send that nobody ever told about is unknown.

        A thread that a client library still holds after that is left to itself; nothing it says counts. What only
        ends because the client is closed does not make the window longer; of a load that broke off that ends when it
        was given up.
        """
        self._last_end_ns = self._latest_end_ns()
        self._span.stopped = True
        self._span.gate.open()  # for those still waiting in front of it
        for spans in self._spans:
            spans.put(None)
        self._closed.set()
        self._await_threads()
        self._producers.close(_CLOSE_S)
        self._await_threads()
        self._never_told = sum(sender.open_sends for sender in self._senders)
        for sender in self._senders:
            sender.give_up()
        if self._environment is not None:
            self._environment.leave(self)
        self._recorder.close()

    def _await_threads(self) -> None:
        deadline = time.monotonic() + _CLOSE_S
        while not all(thread.over for thread in self._threads) and time.monotonic() < deadline:
            gevent.sleep(_LAST_LOOK_S)

    def totals(self) -> dict[str, Any]:
        """Return what commands.Close promises."""
        acked, failed, unknown = (self._recorder.counts[outcome] for outcome in Outcome)
        return {
            "sent": self._sent_count(),
            "acked": acked,
            "failed": failed,
            "unknown": unknown,
            "never_told": self._never_told,
        }

    def summary(self) -> dict[str, Any]:
        """Return what commands.Produce promises."""
        return {**self.totals(), **self.outcome()}

    def outcome(self) -> dict[str, Any]:
        """Return what commands.RunLoad promises."""
        return {
            "window": {"start_ns": self._span.start_ns, "end_ns": self._window_end_ns()},
            "client": self._client(),
            "producer": self.effective,
            "due_unsent": self._due_unsent(),
            "stalled": self._stalled_ns is not None,
        }

    def _client(self) -> dict[str, Any]:
        return {**self._vitals.report(), "recorder_backlog_max": self._recorder.backlog_max}

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

    def _look_s(self) -> float:
        """Return how long to wait before the next look: less and less towards the end, where that is known."""
        left_s = (self._span.end_ns - time.monotonic_ns()) / NANOS
        return min(_LOOK_S, max(_LAST_LOOK_S, left_s))

    def _deadline_ns(self) -> int:
        grace_ns = round(max(self._command.grace_s, self._patience_s) * NANOS)
        if self._span.end_ns != NO_LIMIT:
            return self._span.end_ns + grace_ns
        return max(self._span.start_ns, self._latest_end_ns()) + grace_ns

    def _latest_end_ns(self) -> int:
        return max(sender.last_end_ns for sender in self._senders)

    def _sent_count(self) -> int:
        return sum(sender.sent for sender in self._senders)

    def _window_end_ns(self) -> int:
        if self._span.end_ns != NO_LIMIT:
            return self._span.end_ns
        return max(self._span.start_ns, self._stalled_ns or self._last_end_ns + 1)

    def _due_unsent(self) -> int:
        """Return how many sends were due in the last span and never made."""
        span = self._span
        if span.schedule is None:
            return 0
        sent = self._sent_count() - self._sent_before
        own_producers = range(self._command.first, self._command.first + self._command.producers)
        if span.end_ns == NO_LIMIT:
            due = span.schedule.due_before(span.start_ns - span.zero_ns, own_producers) + span.messages
            return due - sent if self._stalled_ns else 0
        return span.schedule.due_before(span.end_ns - span.zero_ns, own_producers) - sent


@contextmanager
def _beside(*loops: Callable[[], None]) -> Iterator[None]:
    greenlets = [gevent.spawn(loop) for loop in loops]
    try:
        yield
    finally:
        gevent.killall(greenlets)
