"""The servers' JIT compilers: how much they work, and on which cores they may."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

_THREADS = ("C1 Compiler", "C2 Compiler")
_TICKS = os.sysconf("SC_CLK_TCK")


class Compilers:
    """The compiler threads of some JVMs, as they are from one look to the next."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        """Take who they are; looked up anew each time."""
        self._pids = pids
        self._before_s = self._worked_s()

    def took_s(self) -> float:
        """Return the CPU time that they took since the last call, of all JVMs together.

        A thread that ended meanwhile (a JVM has fewer compilers when there is less to do) takes nothing away.
        """
        now_s = self._worked_s()
        took_s = sum(max(0.0, cpu_s - self._before_s.get(task, 0.0)) for task, cpu_s in now_s.items())
        self._before_s = now_s
        return took_s

    def use_idle_cores(self) -> None:
        """From now on let those that there are run only where no other thread wants the core.

        That holds among the processes of one session, as Linux shares the cores among sessions first
        (`sched_autogroup_enabled`).
        """
        for task in self._worked_s():
            with suppress(ProcessLookupError):  # it has ended
                os.sched_setscheduler(int(task.name), os.SCHED_IDLE, os.sched_param(0))

    def _worked_s(self) -> dict[Path, float]:
        tasks = (task for pid in self._pids() for task in Path(f"/proc/{pid}/task").glob("*"))
        return {task: cpu_s for task in tasks if (cpu_s := _thread_s(task)) is not None}


def _thread_s(task: Path) -> float | None:
    """Return the CPU time of a compiler's thread; None for any other, and for one that has ended."""
    try:
        name, _, fields = (task / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")
    except OSError:
        return None
    if not name.partition("(")[2].startswith(_THREADS):
        return None
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / _TICKS
