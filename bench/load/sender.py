"""The send loop of one user: paced, windowed, counted."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import monotonic_ns

from bench.errors import LoadError
from bench.load.pacing import Schedule
from bench.load.payload import Encode
from bench.load.pump import Pump, Seat
from bench.load.recorder import SendRecorder
from bench.model import Outcome
from bench.systems.protocols import NOT_GIVEN, Done, Producer

NO_LIMIT = sys.maxsize


@dataclass(slots=True)
class Span:
    """When a trial's load runs, shared by its users: from `zero_ns`, counted from `start_ns`, until `end_ns`.

    `left` is how many sends may still follow the warm-up, over all users.
    """

    zero_ns: int
    start_ns: int
    end_ns: int
    left: int


@dataclass(frozen=True, slots=True)
class Outfit:
    """What the users of one trial share."""

    producer: Producer
    pump: Pump
    recorder: SendRecorder
    encode: Encode
    window: int
    schedule: Schedule | None


class Slot:
    """One place in a user's window; used again as soon as its send is over."""

    __slots__ = ("_sender", "done", "due_ns", "open", "sent_ns", "sequence")

    def __init__(self, sender: Sender) -> None:
        """Make an empty place."""
        self._sender = sender
        self.open = False
        self.sequence = self.due_ns = self.sent_ns = NOT_GIVEN
        self.done = self._done  # bound once, not once a message

    def _done(self, done: Done) -> None:
        """Take the client's word, in the polling thread: this moment is the send's `done_ns`."""
        now_ns = monotonic_ns()
        sender = self._sender
        if not self.open:
            raise LoadError(
                f"The client told twice how send {self.sequence} of producer {sender.number} ended ({done}). "
                "Its outcomes cannot be trusted: look for a fault in bench/systems."
            )
        self.open = False
        sender.record(sender.number, self.sequence, self.due_ns, self.sent_ns, now_ns, done)
        sender.free(self, now_ns)


class Sender:
    """One producer of the event log: sequence numbers from 0, at most `window` sends open."""

    def __init__(self, number: int, outfit: Outfit) -> None:
        """Make producer `number` (from 0)."""
        self.number = number
        self.sent = 0
        self.finished = False
        self.record = outfit.recorder.record
        self._pump = outfit.pump
        self._schedule = outfit.schedule
        self._encode = outfit.encode
        self._hand_over = outfit.producer.send
        self._slots = [Slot(self) for _ in range(outfit.window)]
        self._free = list(self._slots)
        self._seat: Seat | None = None
        self._blocked = False

    @property
    def open_sends(self) -> int:
        """How many sends have not ended yet."""
        return len(self._slots) - len(self._free)

    def run(self, span: Span) -> None:
        """Send until the span is over or the pump stops; the body of a user's greenlet."""
        seat = self._seat = self._pump.enter()
        try:
            if self._schedule is None:
                self._closed_loop(span)
            else:
                self._open_loop(span, seat, self._schedule)
            self.finished = not self._pump.stopping
        finally:
            self._pump.leave(seat)

    def free(self, slot: Slot, now_ns: int) -> None:
        """Use this place again, and wake the user if it waits for one."""
        self._free.append(slot)
        self._pump.last_end_ns = now_ns
        if self._blocked and self._seat is not None:
            self._blocked = False
            self._pump.wake(self._seat)

    def give_up(self) -> None:
        """Record every send that is still open as unknown: the client never told how it ended."""
        never = Done(Outcome.UNKNOWN, "never told", NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)
        for slot in self._slots:
            if slot.open:
                slot.open = False
                self.record(self.number, slot.sequence, slot.due_ns, slot.sent_ns, NOT_GIVEN, never)
                self._free.append(slot)

    def _closed_loop(self, span: Span) -> None:
        free, pump = self._free, self._pump
        while not pump.stopping:
            while free:
                now_ns = monotonic_ns()
                if now_ns >= span.end_ns or span.left <= 0:
                    return
                self._send(span, now_ns, now_ns)
            self._blocked = True
            pump.park()

    def _open_loop(self, span: Span, seat: Seat, schedule: Schedule) -> None:
        free, pump = self._free, self._pump
        while not pump.stopping:
            due_ns = span.zero_ns + schedule.due_ns(self.number, self.sent)
            now_ns = monotonic_ns()
            if max(due_ns, now_ns) >= span.end_ns or span.left <= 0:
                return
            if now_ns < due_ns:
                pump.park_until(seat, due_ns)
            elif free:
                self._send(span, due_ns, now_ns)
            else:
                self._blocked = True
                pump.park()

    def _send(self, span: Span, due_ns: int, now_ns: int) -> None:
        if now_ns >= span.start_ns:
            span.left -= 1
        slot = self._free.pop()
        slot.open = True
        slot.sequence = sequence = self.sent
        slot.due_ns = due_ns
        slot.sent_ns = now_ns
        self.sent = sequence + 1
        self._hand_over(self._encode(self.number, sequence, now_ns), slot.done)
