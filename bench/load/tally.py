"""Records of the last second added up, for Locust's live view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.load.schemas import NO_ERROR
from bench.model import NANOS, Outcome

_NANOS_PER_MS = 1e6


class Tally(NamedTuple):
    """Sends added up. Times in milliseconds, `histogram` by rounded ones; `seconds` of CLOCK_MONOTONIC."""

    requests: int
    failures: int
    total_ms: float
    min_ms: float
    max_ms: float
    histogram: dict[int, int]
    seconds: dict[int, int]
    failed_seconds: dict[int, int]
    errors: dict[int, int]


def tally(parts: Sequence[NDArray[Any]]) -> Tally | None:
    """Add up records (SEND_DTYPE), by service time; None when there are none."""
    rows = np.concatenate(parts)
    return _tally(rows) if len(rows) else None


def _tally(rows: NDArray[Any]) -> Tally:
    ms = (rows["done_ns"] - rows["sent_ns"]) / _NANOS_PER_MS
    failed = rows["outcome"] != Outcome.OK
    seconds = rows["done_ns"] // NANOS
    return Tally(
        requests=len(rows),
        failures=int(failed.sum()),
        total_ms=float(ms.sum()),
        min_ms=float(ms.min()),
        max_ms=float(ms.max()),
        histogram=_count(rounded_ms(ms)),
        seconds=_count(seconds),
        failed_seconds=_count(seconds[failed]),
        errors=_count(rows["error"][rows["error"] != NO_ERROR]),
    )


def rounded_ms(ms: NDArray[Any]) -> NDArray[np.int64]:
    """Round as Locust does to keep its histogram small: to two significant digits from 100 ms on."""
    step = np.select([ms < 100, ms < 1000, ms < 10_000], [1, 10, 100], 1000)
    rounded: NDArray[np.int64] = (np.rint(ms / step) * step).astype(np.int64)
    return rounded


def _count(values: NDArray[Any]) -> dict[int, int]:
    keys, counts = np.unique(values, return_counts=True)
    return dict(zip(keys.tolist(), counts.tolist(), strict=True))
