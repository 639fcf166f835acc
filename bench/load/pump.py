"""The pump: users wait for acks in the client's own wait instead of gevent's.

Locust's users are greenlets of one thread. A client library that waits blocks that thread; carrying each ack
over from a native thread instead costs 2 to 30 % of throughput. So one greenlet, the pump, does all waiting:

1. it calls `producer.poll`, which blocks the thread with the interpreter lock released until an ack is there;
   the `done` callbacks, called in there, wake users (`wake`);
2. it switches directly to each woken user, which sends and switches back (`park`): no turn of the event loop;
3. every 5 ms at the latest it lets everything else in the process run: Locust's web page, statistics, stop.

Step 3 is `gevent.idle`, not `gevent.sleep(0)`: the latter comes back before the event loop looks at timers
and sockets (measured: 3 beats of a 5 ms timer in a second, where `idle` gave 165).

A user between `enter` and `leave` runs inside the pump's turn: it must neither wait nor call gevent there.
"""

from __future__ import annotations

import heapq
import itertools
from time import monotonic_ns
from typing import Any

import gevent
from gevent import getcurrent
from gevent.hub import get_hub

from bench.load.native import sleep
from bench.model import NANOS
from bench.systems.protocols import Producer

TURN_NS = 5_000_000
"""The longest time that the rest of the process waits for its turn, and that one poll waits."""

_TURN_S = TURN_NS / NANOS

_COARSE_NS = 1_000_000
_NAP_NS = 50_000
"""A client with a coarse clock (librdkafka: 1 ms) does not wait at all for less: then sleep this long at a time."""


class Seat:
    """A user's place in the pump."""

    __slots__ = ("greenlet", "taken")

    def __init__(self, user: Any) -> None:  # noqa: ANN401 - gevent has no types
        """Take a place for a user's greenlet."""
        self.greenlet = user
        self.taken = True


class Pump:
    """One producer, polled for all users. `run` it in a greenlet of its own; users may come and go meanwhile.

    `away_max_ns` is the longest time that the rest of the process kept the pump from polling.
    """

    def __init__(self, producer: Producer) -> None:
        """Wait on this producer."""
        self.away_max_ns = 0
        self.stopping = False
        self.last_end_ns = 0
        """Set by whoever is told that a send is over: a poll that came back early did so with reason then."""
        self._poll = producer.poll
        self._hub = get_hub()
        self._greenlet: Any = None
        self._current: Seat | None = None
        self._seats: set[Seat] = set()
        self._ready: list[Seat] = []
        self._due: list[tuple[int, int, Seat]] = []
        self._order = itertools.count()

    @property
    def users(self) -> int:
        """How many users have a seat."""
        return len(self._seats)

    def run(self) -> None:
        """Pump until `stop`. Raises what the producer's poll raises, and leaves the users parked then."""
        self._greenlet = getcurrent()
        while not (self.stopping and not self._ready):
            turn_ends_ns = monotonic_ns() + TURN_NS
            while monotonic_ns() < turn_ends_ns:
                self._wait()
                self._resume()
            self._let_others_run()

    def stop(self) -> None:
        """Let `run` return once every user has been resumed a last time, with `stopping` set."""
        self.stopping = True
        self._ready = list(self._seats)

    def enter(self) -> Seat:
        """Give the calling user a seat, and return when the pump switches to it for the first time."""
        seat = Seat(getcurrent())
        self._seats.add(seat)
        self._ready.append(seat)
        try:
            self._hub.switch()
        except BaseException:
            self.leave(seat)
            raise
        return seat

    def park(self) -> None:
        """Go back to the pump until somebody wakes this user."""
        self._greenlet.switch()

    def park_until(self, seat: Seat, due_ns: int) -> None:
        """Go back to the pump until `due_ns`."""
        heapq.heappush(self._due, (due_ns, next(self._order), seat))
        self._greenlet.switch()

    def wake(self, seat: Seat) -> None:
        """Let the pump switch to this user as soon as the poll is over; nothing happens if it has left."""
        self._ready.append(seat)

    def leave(self, seat: Seat) -> None:
        """Give the seat up: what the user does afterwards is in the event loop's turn again.

        Without it a user that ends inside the pump's turn would end the pump's turn for good. A user that was
        killed is in the event loop's turn already.
        """
        seat.taken = False
        self._seats.discard(seat)
        if self._current is not seat:
            return
        self._current = None
        back = self._hub.loop.run_callback(seat.greenlet.switch)
        try:
            self._greenlet.switch()
        finally:
            back.stop()

    def _wait(self) -> None:
        """Poll: not at all longer than 5 ms or until a user is due, and without waiting while a user is ready."""
        if self._ready:
            self._poll(0)
        elif self._due:
            self._wait_for_due(self._due[0][0])
        else:
            self._poll(_TURN_S)

    def _wait_for_due(self, due_ns: int) -> None:
        last_end_ns = self.last_end_ns
        self._poll(max(0, min(TURN_NS, due_ns - monotonic_ns())) / NANOS)
        if self.last_end_ns == last_end_ns and 0 < (left_ns := due_ns - monotonic_ns()) < _COARSE_NS:
            sleep(min(_NAP_NS, left_ns) / NANOS)

    def _resume(self) -> None:
        """Switch to every user that is ready or due."""
        if self._due:
            self._wake_due()
        if not self._ready:
            return
        ready, self._ready = self._ready, []
        for seat in ready:
            if seat.taken:
                self._current = seat
                seat.greenlet.switch()
        self._current = None

    def _wake_due(self) -> None:
        now_ns = monotonic_ns()
        while self._due and self._due[0][0] <= now_ns:
            self._ready.append(heapq.heappop(self._due)[2])

    def _let_others_run(self) -> None:
        left_ns = monotonic_ns()
        gevent.idle()
        self.away_max_ns = max(self.away_max_ns, monotonic_ns() - left_ns)
