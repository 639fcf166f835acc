"""Locust's statistics for the live view: the last second's records at once, never a message at a time.

They are for looking at. Results come from the event log alone.
"""

from __future__ import annotations

import time

import gevent
from gevent.hub import get_hub
from locust.stats import RequestStats, StatsEntry, StatsError

from bench.load.recorder import SendRecorder
from bench.load.tally import Tally, tally

_METHOD = "SEND"


class LiveView:
    """Brings Locust's statistics up to date once a second while `run` runs in a greenlet."""

    def __init__(self, stats: RequestStats, name: str, recorder: SendRecorder) -> None:
        """Show this recorder's sends as `name`."""
        self._stats = stats
        self._name = name
        self._recorder = recorder

    def run(self) -> None:
        """Update until killed."""
        while True:
            gevent.sleep(1.0)
            self.update()

    def update(self) -> None:
        """Show what was recorded since the last update. A native thread of gevent's pool adds it up."""
        rows = self._recorder.fresh_rows()
        counted = get_hub().threadpool.apply(tally, (rows,))
        if counted is not None:
            self._show(counted)

    def _show(self, counted: Tally) -> None:
        entry = _entry(self._stats, self._name, counted, offset_s=round(time.time() - time.monotonic()))
        self._stats.total.extend(entry)
        self._stats.get(self._name, _METHOD).extend(entry)
        for code, count in counted.errors.items():
            self._show_error(self._recorder.errors[code], count)

    def _show_error(self, error: str, count: int) -> None:
        key = StatsError.create_key(_METHOD, self._name, error)
        shown = self._stats.errors.setdefault(key, StatsError(_METHOD, self._name, error))
        shown.occurrences += count


def _entry(stats: RequestStats, name: str, counted: Tally, offset_s: int) -> StatsEntry:
    entry = StatsEntry(stats, name, _METHOD)
    entry.num_requests = counted.requests
    entry.num_failures = counted.failures
    entry.total_response_time = round(counted.total_ms)
    entry.min_response_time = round(counted.min_ms)
    entry.max_response_time = round(counted.max_ms)
    entry.response_times = counted.histogram
    entry.num_reqs_per_sec = {second + offset_s: count for second, count in counted.seconds.items()}
    entry.num_fail_per_sec = {second + offset_s: count for second, count in counted.failed_seconds.items()}
    entry.last_request_timestamp = time.time()
    return entry
