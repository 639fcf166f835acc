"""The thread that samples: processes and the machine once a second, the servers' metrics less often."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from bench.model import NANOS
from bench.telemetry.observer import Observer, Sample, WatchedProcesses, client_samples, write_samples
from bench.telemetry.rhythm import AroundWindow, Rhythm

_LOOK_S = 1.0
_SCRAPE_S, _SCRAPE_SELDOM_S = 5.0, 30.0
"""A scrape takes some 10 ms of CPU on each server, and sends that come meanwhile wait: seven in a row are the longest
hundredth of a window of 15 s."""
_LOOK_TAKES_S = 0.2
_SCRAPE_TAKES_S = 0.6


class Sampler:
    """Looks from `with` to its end, then writes what it saw to a file, in the columns of SAMPLES.

    It looks at the window's start and shortly before its end, once `take_progress` has given them, and in its
    rhythm between; so every window has two samples, however short. Servers are asked for their figures likewise
    with `often`, for what changes within the window. Else they are asked shortly before it and once it is over,
    where that disturbs nothing that is measured.
    """

    def __init__(self, watched: WatchedProcesses, file: Path, *, often: bool) -> None:
        """Nothing is looked at before `with`."""
        self._file = file
        self._rows: list[Sample] = []
        self._observer = Observer(watched, self._rows.extend)
        self._looks = Rhythm(_LOOK_S, _LOOK_TAKES_S)
        self._scrapes: Rhythm | AroundWindow
        self._scrapes = (
            Rhythm(_SCRAPE_S, _SCRAPE_TAKES_S) if often else AroundWindow(_SCRAPE_SELDOM_S, _SCRAPE_TAKES_S)
        )
        self._changed = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._observer.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End and write; what a server has been asked by then is waited for, as long as for any answer."""
        self._over = True
        self._changed.set()
        self._thread.join()
        self._observer.look()
        if self._scrapes.open:
            self._observer.ask()
        self._observer.__exit__()
        write_samples(self._file, ((sample, 0) for sample in self._rows))

    def take_progress(self, figures: Mapping[str, Any]) -> None:
        """Take what the load process tells of itself, and when its window is."""
        start_ns, end_ns = figures["start_ns"], figures["end_ns"]
        if not self._looks.knows(start_ns):
            self._looks.window(start_ns, end_ns)
            self._scrapes.window(start_ns, end_ns)
            self._changed.set()
        self._rows.extend(client_samples(figures))

    def _run(self) -> None:
        while not self._over:
            self._changed.clear()
            now_ns = time.monotonic_ns()
            if self._looks.is_due(now_ns):
                self._observer.look()
            if self._scrapes.is_due(now_ns):
                self._observer.ask()
            due_ns = min(self._looks.due_ns, self._scrapes.due_ns)
            self._changed.wait(max(0, due_ns - time.monotonic_ns()) / NANOS)
