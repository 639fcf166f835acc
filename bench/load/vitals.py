"""CPU and event-loop lag of the load process within the window: whether the client limited the trial."""

from __future__ import annotations

import time
from typing import NamedTuple

import gevent

from bench.load.sender import Span
from bench.model import NANOS

_BEAT_S = 0.05


class _Sample(NamedTuple):
    wall_ns: int
    process_ns: int


class Vitals:
    """Watches this process from a window's start to its end, while `run` runs in a greenlet."""

    def __init__(self, span: Span) -> None:
        """Watch during this span's window."""
        self._span = span
        self._samples: list[_Sample] = []
        self._lag_max_ns = 0
        self._lag_since_ns = 0

    def take_lag_ns(self) -> int:
        """Return the longest lateness of a beat since the last call."""
        lag_ns, self._lag_since_ns = self._lag_since_ns, 0
        return lag_ns

    def run(self) -> None:
        """Beat until the window is over, or until killed."""
        self._sleep_until(self._span.start_ns)
        self._samples.append(_sample())
        try:
            while time.monotonic_ns() < self._span.end_ns:
                self._beat()
        finally:
            self._samples.append(_sample())

    def report(self) -> dict[str, float]:
        """Return cpu_share (CPUs used, 1.0 = one) and loop_lag_max_ns."""
        if not self._samples:
            return {"cpu_share": 0.0, "loop_lag_max_ns": self._lag_max_ns}
        first, last = self._samples[0], self._samples[-1]
        wall_ns = max(1, last.wall_ns - first.wall_ns)
        return {
            "cpu_share": round((last.process_ns - first.process_ns) / wall_ns, 4),
            "loop_lag_max_ns": self._lag_max_ns,
        }

    def _beat(self) -> None:
        due_ns = time.monotonic_ns() + round(_BEAT_S * NANOS)
        gevent.sleep(_BEAT_S)
        lag_ns = time.monotonic_ns() - due_ns
        self._lag_max_ns = max(self._lag_max_ns, lag_ns)
        self._lag_since_ns = max(self._lag_since_ns, lag_ns)

    @staticmethod
    def _sleep_until(wanted_ns: int) -> None:
        gevent.sleep(max(0.0, (wanted_ns - time.monotonic_ns()) / NANOS))


def _sample() -> _Sample:
    return _Sample(time.monotonic_ns(), time.process_time_ns())
