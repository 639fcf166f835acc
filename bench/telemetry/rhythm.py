"""When the next sample is due."""

from __future__ import annotations

import time

from bench.model import NANOS, NEVER_NS


class Rhythm:
    """Due every so many seconds from now on; once the window is known, at its start and just before its end too.

    Between them the steps are of equal length, as near to the rhythm's as goes. Times are of CLOCK_MONOTONIC.
    """

    def __init__(self, every_s: float, takes_s: float) -> None:
        """Each look takes so long that the last one in a window begins so long before its end."""
        self._every_ns = round(every_s * NANOS)
        self._takes_ns = round(takes_s * NANOS)
        self._step_ns = self._every_ns
        self._start_ns: int | None = None
        self.due_ns = time.monotonic_ns()

    def knows(self, start_ns: int) -> bool:
        """Tell whether the window that starts then has been given."""
        return self._start_ns == start_ns

    def window(self, start_ns: int, end_ns: int | None) -> None:
        """Take the window; without an end the rhythm goes on from its start."""
        self._start_ns = start_ns
        self.due_ns = min(self.due_ns, max(start_ns, time.monotonic_ns()))
        if end_ns is not None:
            whole_ns = end_ns - start_ns
            length_ns = max(1, whole_ns - self._takes_ns, whole_ns // 2)
            self._step_ns = max(1, length_ns // max(1, round(length_ns / self._every_ns)))

    def is_due(self, now_ns: int) -> bool:
        """Tell whether it is time to look, and if so set the next time."""
        if now_ns < self.due_ns:
            return False
        self.due_ns = self._next(now_ns)
        return True

    @property
    def open(self) -> bool:
        """Whether a look behind the window is still to come: it looks just before its end."""
        return False

    def _next(self, now_ns: int) -> int:
        start_ns = self._start_ns
        if start_ns is None:
            return now_ns + self._every_ns
        if now_ns < start_ns:
            return min(now_ns + self._every_ns, start_ns)
        done = (now_ns - start_ns) // self._step_ns
        return start_ns + (done + 1) * self._step_ns


class AroundWindow:
    """Due shortly before a window and once it is over, so that what is looked at then is not disturbed in it.

    Long windows have equal steps between. Not due before the window is known. Times are of CLOCK_MONOTONIC.
    """

    def __init__(self, every_s: float, takes_s: float) -> None:
        """A look takes so long that the first one begins so long before the window."""
        self._every_ns = round(every_s * NANOS)
        self._takes_ns = round(takes_s * NANOS)
        self._start_ns = 0
        self._end_ns: int | None = None
        self.due_ns = NEVER_NS

    def window(self, start_ns: int, end_ns: int | None) -> None:
        """Take the window; without an end it is over when `over` is asked."""
        self._start_ns, self._end_ns = start_ns, end_ns
        self.due_ns = max(start_ns - self._takes_ns, time.monotonic_ns())

    def is_due(self, now_ns: int) -> bool:
        """Tell whether it is time to look, and if so set the next time."""
        if now_ns < self.due_ns:
            return False
        self.due_ns = self._next(now_ns)
        return True

    @property
    def open(self) -> bool:
        """Whether the look behind the window is still to come."""
        return self.due_ns < NEVER_NS

    def _next(self, now_ns: int) -> int:
        end_ns = self._end_ns
        if end_ns is not None and now_ns >= end_ns:
            return NEVER_NS
        whole_ns = None if end_ns is None else max(1, end_ns - self._start_ns)
        step_ns = self._every_ns if whole_ns is None else whole_ns // max(1, round(whole_ns / self._every_ns))
        done = max(0, now_ns - self._start_ns) // step_ns
        next_ns = self._start_ns + (done + 1) * step_ns
        return next_ns if end_ns is None else min(next_ns, end_ns)
