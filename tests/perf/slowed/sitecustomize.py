"""Makes every send of the load process take a ninth longer in every second round: throughput falls by a tenth there.

Python imports this by its name where the folder is on PYTHONPATH; see compare_calls.py. Rounds go equal, slowed,
slowed, equal, and so on, so that neither kind is the later one. Each trial that it slows has a file `slowed`.
It waits asleep, but for the last moment: on two cores that servers share, a client that spins for its ninth slows
them too, and throughput fell by up to three tenths.
"""

from __future__ import annotations

import sys

if "bench.load.worker" in sys.orig_argv:
    import ctypes
    import json
    from pathlib import Path
    from time import monotonic_ns, sleep
    from typing import Any

    from gevent import monkey

    monkey.patch_all()  # as the load process does first of all; the sleep above stays the thread's own

    from bench.load import producing, sender
    from bench.load.commands import Produce
    from bench.systems.protocols import Done

    _PR_SET_TIMERSLACK = 29
    _SPINS_NS = 20_000
    """A sleep ends so much late at most where timers have no slack, by and large."""
    _libc = ctypes.CDLL(None)
    _plain_done = sender.Slot._done
    _plain_produce = producing.produce

    def _wait(until_ns: int) -> None:
        _libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)  # of this thread; it takes a fraction of what is waited
        if (left_ns := until_ns - monotonic_ns() - _SPINS_NS) > 0:
            sleep(left_ns / 1e9)
        while monotonic_ns() < until_ns:
            pass

    def _slowed_done(self: sender.Slot, done: Done) -> None:
        now_ns = monotonic_ns()
        _wait(now_ns + (now_ns - self.sent_ns) // 9)
        _plain_done(self, done)

    def _slows(sends: Path, trial: int) -> bool:
        if sends.parents[1].name != "trials":  # a warm-up's
            return False
        plan = json.loads((sends.parents[2] / "plan.json").read_text(encoding="utf-8"))
        number = next(planned["round"] for planned in plan["trials"] if planned["trial"] == trial)
        return number % 4 in {1, 2}

    def _produce(environment: Any, system: Any, command: Produce, report: Any) -> dict[str, Any]:
        slows = _slows(command.folder, command.trial)
        sender.Slot._done = _slowed_done if slows else _plain_done  # type: ignore[method-assign]
        summary = _plain_produce(environment, system, command, report)
        if slows:
            (command.folder.parent / "slowed").touch()
        return summary

    producing.produce = _produce
