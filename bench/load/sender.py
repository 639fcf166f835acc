"""The send loop of one producer: paced, windowed, counted. It runs in a native thread of its own."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic_ns

from bench.errors import LoadError
from bench.load.payload import Encode
from bench.load.recorder import SendLine, SendRecorder
from bench.model import NANOS, Outcome
from bench.native_threads import Gate, sleep
from bench.pacing import Schedule
from bench.systems.protocols import NOT_GIVEN, Producer, SendResult

NO_LIMIT = sys.maxsize

_TURN_NS = 50_000_000
"""The longest wait of a sender that does not look whether the load was stopped."""
_TURN_S = _TURN_NS / NANOS

_COARSE_NS = 1_000_000
_NAP_NS = 50_000
"""A client with a coarse clock (librdkafka: 1 ms) does not wait at all for less: then sleep this long at a time."""


@dataclass(slots=True)
class Span:
    """When a trial, or a slice of it, is loaded, shared by its senders: from `zero_ns` until `end_ns`.

    What is sent from `start_ns` on counts. `slice` is the number that its sends have in the event log. `messages` is
    how many sends may follow the warm-up, over all senders. `schedule` has an open loop's due times; a closed loop has
    none. In a closed loop a producer waits `interval_ns` at least from one send to its next, also from span to span;
    producers begin `stagger_ns` after one another. What was due before the end may still be sent until `overrun_ns`
    after it. `gate` opens once the times are set.
    """

    messages: int = NO_LIMIT
    slice: int = 0
    schedule: Schedule | None = None
    zero_ns: int = 0
    start_ns: int = 0
    end_ns: int = NO_LIMIT
    overrun_ns: int = 0
    interval_ns: int = 0
    stagger_ns: int = 0
    stopped: bool = False
    gate: Gate = field(default_factory=Gate)
    _tickets: Iterator[int] = field(default_factory=itertools.count)

    def admits(self, now_ns: int) -> bool:
        """Tell whether one more send may start now, and count it."""
        if now_ns >= self.end_ns + self.overrun_ns or self.stopped:
            return False
        # `next` is one step for the interpreter: no two threads get the same ticket.
        return self.messages == NO_LIMIT or now_ns < self.start_ns or next(self._tickets) < self.messages


@dataclass(frozen=True, slots=True)
class Outfit:
    """What the senders of one trial share."""

    recorder: SendRecorder
    encode: Encode
    window: int


class Slot:
    """One place in a user's window; used again as soon as its send is over."""

    __slots__ = ("_sender", "done", "due_ns", "open", "sent_ns", "sequence")

    def __init__(self, sender: Sender) -> None:
        """Make an empty place."""
        self._sender = sender
        self.open = False
        self.sequence = self.due_ns = self.sent_ns = NOT_GIVEN
        self.done = self._take_result  # bound once, not once a message

    def _take_result(self, result: SendResult) -> None:
        """Take the client's word, in the sender's thread: this moment is the send's `done_ns`."""
        now_ns = monotonic_ns()
        sender = self._sender
        if not self.open:
            raise LoadError(
                f"The client told twice how send {self.sequence} of producer {sender.number} ended ({result}). "
                "Its outcomes cannot be trusted: look for a fault in bench/systems."
            )
        self.open = False
        sender.record(sender.number, self.sequence, self.due_ns, self.sent_ns, now_ns, result)
        sender.free(self, now_ns)


class Sender:
    """One producer of the event log: sequence numbers from 0, at most `window` sends open.

    `last_end_ns` is when a send of it ended last. `finished` tells that it came to the end of its load, with
    every send ended.
    """

    def __init__(self, number: int, producer: Producer, outfit: Outfit, line: SendLine) -> None:
        """Make producer `number` (from 0), whose sends are recorded in a line of its own."""
        self.number = number
        self.sent = 0
        self.finished = False
        self.last_end_ns = 0
        self._line = line
        self.record = self._line.record
        self._producer = producer
        self._encode = outfit.encode
        self._slots = [Slot(self) for _ in range(outfit.window)]
        self._free = list(self._slots)
        self._sent_before = 0
        self._next_ns = 0

    @property
    def open_sends(self) -> int:
        """How many sends have not ended yet."""
        return len(self._slots) - len(self._free)

    def run(self, span: Span) -> None:
        """Wait at the gate, send until the span is over, then wait for what is open; in a thread.

        It may be given one span after another; each begins with no send open.
        """
        span.gate.passes()
        _sleep_until(span.zero_ns)
        self._line.slice = span.slice
        self._sent_before = self.sent
        if span.schedule is not None:
            self._open_loop(span, span.schedule)
        elif span.interval_ns:
            self._limited_loop(span)
        else:
            self._closed_loop(span)
        while self.open_sends and not span.stopped:
            self._producer.poll(_TURN_S)
        self.finished = not span.stopped

    def free(self, slot: Slot, now_ns: int) -> None:
        """Use this place again."""
        self._free.append(slot)
        self.last_end_ns = now_ns

    def give_up(self) -> None:
        """Record every send that is still open as unknown: the client never told how it ended."""
        never = SendResult(Outcome.UNKNOWN, "never told", NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)
        for slot in self._slots:
            if slot.open:
                slot.open = False
                self.record(self.number, slot.sequence, slot.due_ns, slot.sent_ns, NOT_GIVEN, never)
                self._free.append(slot)

    def _closed_loop(self, span: Span) -> None:
        free, poll = self._free, self._producer.poll
        while True:
            while free:
                now_ns = monotonic_ns()
                if not span.admits(now_ns):
                    return
                self._send(now_ns, now_ns)
            poll(_TURN_S)
            if span.stopped:
                return

    def _limited_loop(self, span: Span) -> None:
        """Send as in a closed loop, but wait `interval_ns` from one send to the next; a wait is not made up for."""
        self._next_ns = max(self._next_ns, span.zero_ns + self.number * span.stagger_ns)
        while not span.stopped:
            now_ns = monotonic_ns()
            if now_ns >= span.end_ns:
                return
            if not self._free:
                self._producer.poll(_TURN_S)
            elif now_ns < self._next_ns:
                self._wait(min(self._next_ns, span.end_ns))
            elif span.admits(now_ns):
                self._next_ns = now_ns + span.interval_ns
                self._send(now_ns, now_ns)
            else:
                return

    def _open_loop(self, span: Span, schedule: Schedule) -> None:
        free, poll = self._free, self._producer.poll
        due_ns = span.zero_ns + schedule.due_ns(self.number, 0)
        while due_ns < span.end_ns and not span.stopped:
            now_ns = monotonic_ns()
            if not free:  # whatever is due, nothing can be sent before a send ends
                poll(_TURN_S)
            elif now_ns < due_ns:
                self._wait(due_ns)
            elif span.admits(now_ns):
                self._send(due_ns, now_ns)
                due_ns = span.zero_ns + schedule.due_ns(self.number, self.sent - self._sent_before)
            else:
                return

    def _wait(self, due_ns: int) -> None:
        """Wait until `due_ns`, or until a send ends, or a turn."""
        left_ns = min(due_ns - monotonic_ns(), _TURN_NS)
        if left_ns <= 0:
            return
        if not self.open_sends:
            sleep(left_ns / NANOS)
            return
        last_end_ns = self.last_end_ns
        self._producer.poll(left_ns / NANOS)
        if self.last_end_ns == last_end_ns and 0 < (left_ns := due_ns - monotonic_ns()) < _COARSE_NS:
            sleep(min(_NAP_NS, left_ns) / NANOS)

    def _send(self, due_ns: int, now_ns: int) -> None:
        slot = self._free.pop()
        slot.open = True
        slot.sequence = sequence = self.sent
        slot.due_ns = due_ns
        slot.sent_ns = now_ns
        self.sent = sequence + 1
        self._producer.send(self._encode(self.number, sequence, now_ns), slot.done)


def _sleep_until(begin_ns: int) -> None:
    """Wait for a time that all processes of a load begin at; nothing to wait for where one begins at once."""
    while (left_ns := begin_ns - monotonic_ns()) > 0:
        sleep(left_ns / NANOS)
