"""Samples just before and just after each slice, so that the figures are those of its case."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Self

from bench.telemetry.observer import Observer, Sample, WatchedProcesses, client_samples, write_samples

SCRAPED_CYCLES = 8
"""Servers are asked for their own figures around the slices of one cycle in so many: that takes some 10 ms of CPU a
server each time."""


class SliceSampler:
    """Looks at everybody around the slices of the trials of one cluster start; a context manager."""

    def __init__(self, watched: WatchedProcesses) -> None:
        """Nothing is looked at before `with`."""
        self._rows: dict[int, list[tuple[Sample, int]]] = {}
        self._fresh: list[Sample] = []
        self._lock = threading.Lock()
        self._observer = Observer(watched, self._take)

    def __enter__(self) -> Self:
        """Begin."""
        self._observer.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._observer.__exit__()

    def rehearse(self) -> None:
        """Look at everybody and ask servers, without keeping anything.

        The first answers take a server ten times the CPU, and its compilers go on with that code for seconds.
        """
        self._observer.ask_and_wait()
        self._observer.look()
        with self._lock:
            self._fresh = []

    def look_before(self, trial: int, number: int, *, scraped: bool) -> None:
        """Look just before slice `number` of a trial; with `scraped` servers are asked, too, and before that."""
        if scraped:
            self._observer.ask_and_wait()
        self._observer.look()
        self._file_under(trial, number)

    def look_after(self, trial: int, number: int, *, scraped: bool) -> None:
        """Look just after a slice; with `scraped` servers are asked, too, and after that: it costs them CPU."""
        self._observer.look()
        if scraped:
            self._observer.ask_and_wait()
        self._file_under(trial, number)

    def _file_under(self, trial: int, number: int) -> None:
        with self._lock:
            samples, self._fresh = self._fresh, []
        self._rows.setdefault(trial, []).extend((sample, number) for sample in samples)

    def take_progress(self, trial: int, number: int, figures: Mapping[str, Any]) -> None:
        """Take what the load process tells of itself in a slice."""
        self._rows.setdefault(trial, []).extend((sample, number) for sample in client_samples(figures))

    def write(self, trial: int, file: Path, unused_nodes: Collection[str]) -> None:
        """Write what was seen of a trial, without the nodes that it does not use; nothing where nobody looked."""
        samples = [
            (sample, number)
            for sample, number in self._rows.pop(trial, [])
            if sample.node not in unused_nodes
        ]
        if samples:
            write_samples(file, samples)

    def _take(self, samples: list[Sample]) -> None:
        with self._lock:
            self._fresh.extend(samples)
