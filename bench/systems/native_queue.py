"""Waiting on a queue that the client's threads fill, also where gevent has patched everything else.

The queue is the C type itself: gevent puts another in the place of `queue.SimpleQueue`.
"""

from __future__ import annotations

from _queue import Empty, SimpleQueue
from typing import TypeVar

__all__ = ["Empty", "SimpleQueue", "first_of"]

Item = TypeVar("Item")


def first_of(queue: SimpleQueue[Item], timeout_s: float) -> Item:
    """Return the next item; wait for it at most `timeout_s`, with the interpreter lock released. Raises Empty.

    The look without a wait comes first because of CPython's `get` with a time-out. That waits for ever when the
    time is over before it comes to its wait. It only takes its queue for empty after such a look (seen with 3.11,
    and two microseconds). One thread at a time may wait.
    """
    try:
        return queue.get_nowait()
    except Empty:
        if timeout_s <= 0:
            raise
    return queue.get(True, timeout_s)
