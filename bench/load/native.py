"""What lies under gevent: threads, queues and sleep of the operating system, the collector, the interpreter lock.

A greenlet that blocks in one of these blocks the whole hub. That is meant: see pump.py.
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


class NativeThread:
    """A thread of the operating system that starts at once; `work` must not raise."""

    def __init__(self, work: Callable[[], None]) -> None:
        """Start `work` in a thread of its own."""
        self._running = cast("threading.Lock", get_original("_thread", "allocate_lock")())
        self._running.acquire()
        self._work = work
        _start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self._running.release()

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
    """Let a thread that comes back from waiting take the interpreter within 0.5 ms, where the default is 5 ms.

    Such threads stamp times; the ones that they wait for then write the event log.
    """
    sys.setswitchinterval(0.0005)
