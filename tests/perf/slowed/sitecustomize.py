"""Makes every send of the load process take a ninth longer: throughput falls by a tenth. See compare_calls.py.

Python imports this by its name where the folder is on PYTHONPATH. It waits asleep, but for the last moment: on two
cores that servers share, a client that spins for its ninth slows them too, and throughput fell by up to three tenths.
"""

from __future__ import annotations

import sys

if "bench.load.worker" in sys.orig_argv:
    import ctypes
    from time import monotonic_ns, sleep

    from bench.load import sender
    from bench.systems.protocols import Done

    _PR_SET_TIMERSLACK = 29
    _SPINS_NS = 20_000
    """A sleep ends so much late at most where timers have no slack, by and large."""
    _libc = ctypes.CDLL(None)
    _plain = sender.Slot._done

    def _wait(until_ns: int) -> None:
        _libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)  # of this thread; it takes a fraction of what is waited
        if (left_ns := until_ns - monotonic_ns() - _SPINS_NS) > 0:
            sleep(left_ns / 1e9)
        while monotonic_ns() < until_ns:
            pass

    def _slowed(self: sender.Slot, done: Done) -> None:
        now_ns = monotonic_ns()
        _wait(now_ns + (now_ns - self.sent_ns) // 9)
        _plain(self, done)

    sender.Slot._done = _slowed  # type: ignore[method-assign]
