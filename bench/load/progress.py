"""What a running trial tells while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import gevent

from bench.load.recorder import SendRecorder
from bench.load.sender import Sender, Span
from bench.model import NANOS, Outcome

_LOOK_S = 0.1
_AWAITING_LOOK_S = 0.02
_EVERY_NS = NANOS // 2


class Progress:
    """Reports twice a second while `run` runs, and at once when an awaited number of acks is there."""

    def __init__(
        self,
        recorder: SendRecorder,
        senders: Sequence[Sender],
        span: Span,
        at_acks: Sequence[int],
        report: Callable[[dict[str, Any]], None],
    ) -> None:
        """Tell `report` about these senders."""
        self._recorder = recorder
        self._senders = senders
        self._span = span
        self._awaited = sorted(at_acks, reverse=True)
        self._report = report
        self._last_ns = span.zero_ns
        self._last_acked = 0

    def run(self) -> None:
        """Report until killed."""
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
                "elapsed_s": round((now_ns - self._span.zero_ns) / NANOS, 3),
            }
        )

    def _is_due(self) -> bool:
        passed = False
        while self._awaited and self._recorder.counts[Outcome.OK] >= self._awaited[-1]:
            self._awaited.pop()
            passed = True
        return passed or time.monotonic_ns() - self._last_ns >= _EVERY_NS
