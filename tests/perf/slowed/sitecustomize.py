"""Makes every send of the load process take a ninth longer: throughput falls by a tenth. See compare_calls.py.

Python imports this by its name where the folder is on PYTHONPATH.
"""

from __future__ import annotations

import sys

if "bench.load.worker" in sys.orig_argv:
    from time import monotonic_ns

    from bench.load import sender
    from bench.systems.protocols import Done

    _plain = sender.Slot._done

    def _slowed(self: sender.Slot, done: Done) -> None:
        now_ns = monotonic_ns()
        until_ns = now_ns + (now_ns - self.sent_ns) // 9
        while monotonic_ns() < until_ns:
            pass
        _plain(self, done)

    sender.Slot._done = _slowed  # type: ignore[method-assign]
