"""When sends are due: a pure function of the pacing, the producer and the hit (after Vegeta's pacers)."""

from __future__ import annotations

import sys
from bisect import bisect_right
from itertools import accumulate

from bench.model import NANOS, Load, Pacing


class Schedule:
    """Due times of an open loop. Hits are numbered over all producers, which take them in turn.

    The warm-up comes before the first step, at the first step's rate; the last step's rate goes on for ever.
    """

    def __init__(self, pacing: Pacing, producers: int, warm_up_s: float = 0.0) -> None:
        """Raise ValueError for a closed loop, which has no due times."""
        if pacing.is_closed_loop:
            raise ValueError("a closed loop has no due times")
        (first_s, first_rate), *later = pacing.steps
        steps = [(first_s + warm_up_s, first_rate), *later]
        self.producers = producers
        self._rates = [rate for _, rate in steps]
        self._starts_ns = [0, *(round(end_s * NANOS) for end_s in accumulate(s for s, _ in steps[:-1]))]
        self._ends_ns = [*self._starts_ns[1:], sys.maxsize]
        self._first_hits = [0.0, *accumulate(seconds * rate for seconds, rate in steps[:-1])]

    def due_ns(self, producer: int, hit: int) -> int:
        """Return when hit `hit` (from 0) of `producer` is due, in nanoseconds from the start."""
        return self._overall_ns(hit * self.producers + producer)

    def due_before(self, elapsed_ns: int, numbers: range | None = None) -> int:
        """Return how many hits are due before `elapsed_ns`: of all producers, or of those with these `numbers`."""
        due = self._all_due_before(elapsed_ns)
        if numbers is None:
            return due
        turns, remainder = divmod(due, self.producers)
        return turns * len(numbers) + len(range(numbers.start, min(numbers.stop, remainder)))

    def _all_due_before(self, elapsed_ns: int) -> int:
        low, high = 0, 1
        while self._overall_ns(high) < elapsed_ns:
            low, high = high, high * 2
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._overall_ns(middle) < elapsed_ns else (low, middle)
        return low

    def _overall_ns(self, overall: int) -> int:
        step = bisect_right(self._first_hits, overall) - 1
        due_ns = self._starts_ns[step] + round((overall - self._first_hits[step]) * NANOS / self._rates[step])
        return min(due_ns, self._ends_ns[step])  # rounding must not carry a hit into the next step


def sends(load: Load) -> int | None:
    """How many sends a load makes at most, None for a closed loop: what it sends in its warm-up nobody knows."""
    if load.pacing.is_closed_loop:
        return None
    due = Schedule(load.pacing, load.producers, load.warm_up_s)
    if load.duration_s is not None:
        return (load.slices or 1) * due.due_before(round((load.warm_up_s + load.duration_s) * NANOS))
    return due.due_before(round(load.warm_up_s * NANOS)) + (load.messages or 0)
