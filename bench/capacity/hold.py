"""What one hold showed: a constant rate for some seconds, after the settling that does not count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

_MOST_CORRELATION = 0.99


@dataclass(frozen=True, slots=True)
class Slope:
    """How fast a backlog grows, in messages a second, with its standard error in the same unit."""

    messages_per_s: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class Hold:
    """One rate, in messages a second, for some seconds.

    `due`, `late` and `late_end_to_end` count messages by the second in which they were due. A message is late where its
    response time, from its due time, is above the level's, where it failed, or where it was never sent. It is late end
    to end where no consumer had it within the level's time. `backlogs` holds the growth of each backlog by its name,
    such as "producers" or "consumers". With `limited_by_client` the load process was at its own limit. With
    `copies_missing` the system knew at the end of copies that were not there: a server did not keep up.
    `late_copies_share` is the share of copies that the slowest storage node wrote late: after the hold's end plus the
    limit of the response time. None where nobody counted them.

    Raises ValueError where the three counts are not of the same seconds.
    """

    rate: float
    seconds: float
    due: Sequence[int]
    sent: int
    late: Sequence[int]
    late_end_to_end: Sequence[int]
    failed: int = 0
    backlogs: Mapping[str, Slope] = field(default_factory=dict)
    limited_by_client: bool = False
    copies_missing: bool = False
    late_copies_share: float | None = None

    def __post_init__(self) -> None:
        if not len(self.due) == len(self.late) == len(self.late_end_to_end):
            raise ValueError("due, late and late_end_to_end must count the same seconds")

    def merge(self, other_hold: Hold) -> Hold:
        """Return both as one hold: a rate that was held again because the first hold did not decide.

        A backlog grows by the mean of both slopes, weighted by seconds. Raises ValueError for another rate.
        """
        if other_hold.rate != self.rate:
            raise ValueError(
                f"a hold at {self.rate} and one at {other_hold.rate} messages/s are not the same hold"
            )
        return Hold(
            rate=self.rate,
            seconds=self.seconds + other_hold.seconds,
            due=[*self.due, *other_hold.due],
            sent=self.sent + other_hold.sent,
            late=[*self.late, *other_hold.late],
            late_end_to_end=[*self.late_end_to_end, *other_hold.late_end_to_end],
            failed=self.failed + other_hold.failed,
            backlogs={
                name: _mean_slope(self, other_hold, name)
                for name in dict.fromkeys([*self.backlogs, *other_hold.backlogs])
            },
            limited_by_client=self.limited_by_client or other_hold.limited_by_client,
            copies_missing=self.copies_missing or other_hold.copies_missing,
            late_copies_share=_mean_late_copies(self, other_hold),
        )


def backlog_slope(seconds: Sequence[float], messages: Sequence[float]) -> Slope:
    """Return the growth of a backlog from at least three samples of it: the least-squares line.

    Samples of a queue that follow one another are alike, which makes the usual standard error too small. So the samples
    count as n (1 - r) / (1 + r), where r is the correlation of each residual with the next (B. D. Santer et al.,
    "Statistical significance of trends and trend differences in layer-average atmospheric temperature time series",
    2000). Raises ValueError below three samples.
    """
    if len(seconds) < 3:
        raise ValueError("the slope of a backlog takes three samples")
    times = np.asarray(seconds, dtype=float) - np.mean(seconds)
    spread = float(times @ times)
    slope = float(times @ np.asarray(messages, dtype=float)) / spread
    residuals = np.asarray(messages, dtype=float) - np.mean(messages) - slope * times
    squares = float(residuals @ residuals)
    correlation = float(residuals[1:] @ residuals[:-1]) / squares if squares else 0.0
    correlation = min(_MOST_CORRELATION, max(0.0, correlation))
    freedom = max(1.0, len(times) * (1 - correlation) / (1 + correlation) - 2)
    return Slope(slope, math.sqrt(squares / freedom / spread))


def _mean_late_copies(first: Hold, second: Hold) -> float | None:
    """Average the shares of late copies of both holds by seconds; a hold that has none takes no part."""
    shares = [
        (hold.late_copies_share, hold.seconds)
        for hold in (first, second)
        if hold.late_copies_share is not None
    ]
    return _mean_by_seconds(shares) if shares else None


def _mean_slope(first: Hold, second: Hold, name: str) -> Slope:
    """Average the slopes of both holds by seconds; a hold that does not have this backlog takes no part."""
    parts = [(hold.backlogs[name], hold.seconds) for hold in (first, second) if name in hold.backlogs]
    total = sum(seconds for _, seconds in parts)
    return Slope(
        _mean_by_seconds([(slope.messages_per_s, seconds) for slope, seconds in parts]),
        math.hypot(*(slope.standard_error * seconds for slope, seconds in parts)) / total,
    )


def _mean_by_seconds(parts: Sequence[tuple[float, float]]) -> float:
    """Average values, each with the seconds that it is of."""
    return sum(value * seconds for value, seconds in parts) / sum(seconds for _, seconds in parts)
