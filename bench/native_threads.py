"""What lies under gevent: threads, locks, queues and sleep of the operating system, the interpreter lock.

For native threads. A greenlet that blocks in one of these blocks the whole hub.
"""

from __future__ import annotations

import gc
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, cast

from gevent.monkey import get_original

sleep = cast("Callable[[float], None]", get_original("time", "sleep"))

_start_new_thread = cast(
    "Callable[[Callable[[], None], tuple[()]], int]", get_original("_thread", "start_new_thread")
)


def new_queue() -> queue.SimpleQueue[Any]:
    """Return an unbounded queue between native threads."""
    return cast("queue.SimpleQueue[Any]", get_original("queue", "SimpleQueue")())


def new_lock() -> threading.Lock:
    """Return a lock between native threads."""
    return cast("threading.Lock", get_original("_thread", "allocate_lock")())


class Gate:
    """Keeps native threads until it is opened."""

    def __init__(self) -> None:
        """Make a closed gate."""
        self._closed = new_lock()
        self._closed.acquire()
        self._opened = False

    def open(self) -> None:
        """Let everybody through, once and for all."""
        if not self._opened:
            self._opened = True
            self._closed.release()

    def passes(self) -> None:
        """Wait until the gate is open."""
        with self._closed:
            pass


class NativeThread:
    """A thread of the operating system that starts at once; `work` must not raise."""

    def __init__(self, work: Callable[[], None]) -> None:
        """Start `work` in a thread of its own."""
        self._running = new_lock()
        self._running.acquire()
        self._work = work
        _start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self._running.release()

    @property
    def over(self) -> bool:
        """Whether the work is done."""
        return not self._running.locked()

    def join(self) -> None:
        """Wait natively until the work is done."""
        with self._running:
            pass


def spare_collector() -> None:
    """Keep the collector from walking through every library in the middle of a trial (tens of milliseconds)."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def hurry_threads() -> None:
    """Let a thread that comes back from waiting take the interpreter within 2 ms, where the default is 5 ms.

    Such threads stamp times; the ones that they wait for then write the event log. Still less costs throughput
    (0.5 ms: a fifth of it at 100 producers), as the interpreter then changes hands more than it works.
    """
    sys.setswitchinterval(0.002)
