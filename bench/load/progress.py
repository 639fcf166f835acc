"""The progress of a running trial."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import gevent

from bench.load.recorder import SendRecorder
from bench.load.sender import NO_LIMIT, Sender, Span
from bench.load.vitals import Vitals
from bench.model import NANOS, Outcome

_LOOK_S = 0.1
_AWAITING_LOOK_S = 0.02
_EVERY_NS = NANOS // 2


class ProgressReporter:
    """Reports twice a second while `run` runs, and at once when an awaited number of acks is there."""

    def __init__(  # noqa: PLR0913, PLR0917 - whatever there is to tell of
        self,
        recorder: SendRecorder,
        senders: Sequence[Sender],
        span: Span,
        vitals: Vitals,
        at_acks: Sequence[int],
        report: Callable[[dict[str, Any]], None],
    ) -> None:
        """Tell `report` about these senders."""
        self._recorder = recorder
        self._vitals = vitals
        self._senders = senders
        self._span = span
        self._awaited = sorted(at_acks, reverse=True)
        self._report = report
        self._last_ns = span.zero_ns
        self._last_acked = 0

    def run(self) -> None:
        """Report until killed, at once for the first time."""
        self.tell()
        while True:
            gevent.sleep(_AWAITING_LOOK_S if self._awaited else _LOOK_S)
            if self._is_due():
                self.tell()

    def tell(self) -> None:
        """Report now."""
        now_ns = time.monotonic_ns()
        acked, failed, unknown = (self._recorder.counts[outcome] for outcome in Outcome)
        rate = (acked - self._last_acked) * NANOS / max(1, now_ns - self._last_ns)
        self._last_ns, self._last_acked = now_ns, acked
        self._report(
            {
                "sent": sum(sender.sent for sender in self._senders),
                "acked": acked,
                "failed": failed,
                "unknown": unknown,
                "rate": round(rate, 1),
                "at_ns": now_ns,
                "start_ns": self._span.start_ns,
                "end_ns": None if self._span.end_ns == NO_LIMIT else self._span.end_ns,
                "open": sum(sender.open_sends for sender in self._senders),
                "loop_lag_ns": self._vitals.take_lag_ns(),
                "recorder_backlog": self._recorder.backlog,
            }
        )

    def _is_due(self) -> bool:
        passed = False
        while self._awaited and self._recorder.counts[Outcome.OK] >= self._awaited[-1]:
            self._awaited.pop()
            passed = True
        return passed or time.monotonic_ns() - self._last_ns >= _EVERY_NS
