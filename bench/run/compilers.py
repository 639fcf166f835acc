"""The servers' JIT compilers: how much they have worked, and when they have come to rest."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

_THREADS = ("C1 Compiler", "C2 Compiler")
_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK_S = 1.0
_REST = 0.1
"""Compilers rest when together they took less than this share of a core."""


def await_rest(pids: Iterable[int], most_s: float, alive: Callable[[], None]) -> float:
    """Return once the compilers of these JVMs rest, or after `most_s`; the return is how long that took, in seconds.

    Under load that fills the cores they get little time, and what they were given to do lies in a queue: it then makes
    the trials after it faster one by one.
    """
    chosen, begun = list(pids), time.monotonic()
    before = _worked_s(chosen)
    while chosen and time.monotonic() - begun < most_s:
        time.sleep(_LOOK_S)
        alive()
        now = _worked_s(chosen)
        if now - before < _REST * _LOOK_S:
            break
        before = now
    return time.monotonic() - begun


def _worked_s(pids: Iterable[int]) -> float:
    """Return the CPU time that compiler threads have taken."""
    return sum(_thread_s(task) for pid in pids for task in Path(f"/proc/{pid}/task").glob("*"))


def _thread_s(task: Path) -> float:
    try:
        name, _, rest = (task / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")
    except OSError:
        return 0.0  # it has ended
    if not name.partition("(")[2].startswith(_THREADS):
        return 0.0
    user, system = rest.split()[11:13]
    return (int(user) + int(system)) / _TICKS
