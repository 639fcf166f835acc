"""Makes every send of some trials of the load process take longer, so that their throughput falls by a known share.

Python imports this by its name where the folder is on PYTHONPATH. In a run of equal.yaml (see compare_calls.py) the
trials of every second round fall by a tenth. Rounds go equal, slowed, slowed, equal, and so on, so that neither
kind is the later one. In a run of same.yaml (see same_calls.py) the case `slowed` falls by a twentieth. Each trial
that is slowed has a file `slowed`. It waits asleep, but for the last moment. On two cores that servers share, a
client that spins slows them too, and throughput fell by up to three times as much.
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
    from bench.load.commands import Open
    from bench.systems.protocols import SendResult

    _PR_SET_TIMERSLACK = 29
    _SPINS_NS = 20_000
    """A sleep ends so much late at most where timers have no slack, by and large."""
    _libc = ctypes.CDLL(None)
    _plain_take_result = sender.Slot._take_result
    _plain_open = producing.OpenLoads.open
    _parts: dict[int, int] = {}
    """By sender: of its time, each send takes longer by one part in so many."""

    def _wait(until_ns: int) -> None:
        _libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)  # of this thread; it takes a fraction of what is waited
        if (left_ns := until_ns - monotonic_ns() - _SPINS_NS) > 0:
            sleep(left_ns / 1e9)
        while monotonic_ns() < until_ns:
            pass

    def _slowed_take_result(self: sender.Slot, result: SendResult) -> None:
        if part := _parts.get(id(self._sender)):
            now_ns = monotonic_ns()
            _wait(now_ns + (now_ns - self.sent_ns) // part)
        _plain_take_result(self, result)

    def _part(sends: Path, trial: int) -> int | None:
        if sends.parents[1].name != "trials":  # a warm-up's
            return None
        plan = json.loads((sends.parents[2] / "plan.json").read_text(encoding="utf-8"))
        planned = next(planned for planned in plan["trials"] if planned["trial"] == trial)
        if plan["scenario"] == "equal":
            return 9 if planned["round"] % 4 in {1, 2} else None
        return 19 if planned["settings"].get("copy") == "slowed" else None

    def _open(self: producing.OpenLoads, system: Any, command: Open) -> dict[str, Any]:
        opened = _plain_open(self, system, command)
        produce = command.produce
        if part := _part(produce.folder, produce.trial):
            for one in self._loads[produce.trial]._senders:
                _parts[id(one)] = part
            (produce.folder.parent / "slowed").touch()
        return opened

    sender.Slot._take_result = _slowed_take_result  # type: ignore[method-assign]
    producing.OpenLoads.open = _open  # type: ignore[method-assign]
