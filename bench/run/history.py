"""Who served and kept a topic while something broke: looked at once a second, written down when it changed.

A second passes between two looks, or four times as long as the last look took: those at many partitions are work for
servers. A look takes as long as a server that is asked is silent, seconds at most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.records.trial import HistoryRecord

Layout = Sequence[dict[str, Any]]

_EVERY_S = 1.0
_PAUSE_FACTOR = 4
_MOVES = "high_watermark"
"""Changes all the time, so it alone makes no entry."""


class History:
    """Looks at a topic's layout from `start` to `stop`; `changes` is what trial.json keeps (docs/event-log.md).

    The last one has no partitions: it tells until when somebody looked.
    """

    def __init__(self, look: Callable[[], Layout]) -> None:
        """Look by `look`, which returns [] when nobody tells."""
        self.changes: list[HistoryRecord] = []
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Look a last time and end."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            begun_s = time.monotonic()
            self._note()
            self._over.wait(max(_EVERY_S, _PAUSE_FACTOR * (time.monotonic() - begun_s)))
        self.changes.append(HistoryRecord(at_ns=self._note(), partitions=[]))

    def _note(self) -> int:
        """Look, and keep what changed; return when that began: a look takes as long as somebody is silent."""
        now_ns = time.monotonic_ns()
        try:
            layout = self._look()
        except Exception:  # noqa: BLE001 - nobody tells, in whatever way a client library says so
            return now_ns
        last_states = {
            partition["partition"]: partition for change in self.changes for partition in change.partitions
        }
        fresh = [
            partition
            for partition in layout
            if _lasting_state(partition) != _lasting_state(last_states.get(partition["partition"], {}))
        ]
        if fresh:
            self.changes.append(HistoryRecord(at_ns=now_ns, partitions=fresh))
        return now_ns


def _lasting_state(partition: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in partition.items() if name != _MOVES}
