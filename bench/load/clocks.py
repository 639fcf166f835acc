"""The clock of another machine, by repeated exchanges with it, and times of that clock as times of this one.

An exchange asks the other machine for its monotonic clock. The answer was given at some moment between question and
answer, so the offset is known to within half the round trip. Of each window the exchange with the shortest round trip
counts. Between these the offset is interpolated, because two clocks drift apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.errors import LoadError
from bench.model import NANOS

_WINDOW_NS = 5 * NANOS


class Exchange(NamedTuple):
    """Times in ns: of this clock when the question was sent and the answer came, of the other clock in between."""

    asked_ns: int
    other_ns: int
    answered_ns: int

    @property
    def round_trip_ns(self) -> int:
        """How long it took."""
        return self.answered_ns - self.asked_ns

    @property
    def offset_ns(self) -> float:
        """The other clock minus this one, if the answer was given halfway."""
        return self.other_ns - (self.asked_ns + self.answered_ns) / 2


@dataclass(slots=True)
class RemoteClock:
    """What exchanges tell of another machine's clock; they are added in the order of their times."""

    _shortest: list[Exchange] = field(default_factory=list)

    def add(self, exchange: Exchange) -> None:
        """Add an exchange; of each window of 5 s the one with the shortest round trip counts."""
        last = self._shortest[-1] if self._shortest else None
        if last is None or exchange.asked_ns - self._window_begin_ns >= _WINDOW_NS:
            self._shortest.append(exchange)
        elif exchange.round_trip_ns < last.round_trip_ns:
            self._shortest[-1] = exchange

    def copy(self) -> RemoteClock:
        """Return what is known so far; exchanges that are added later do not change it."""
        return RemoteClock(list(self._shortest))

    @property
    def _window_begin_ns(self) -> int:
        first_ns = self._shortest[0].asked_ns
        return first_ns + (self._shortest[-1].asked_ns - first_ns) // _WINDOW_NS * _WINDOW_NS

    @property
    def error_ns(self) -> int:
        """The most by which a time may be off after it is converted.

        It is half the longest of the round trips that count, plus a distance for a drift that is not even. That is
        the largest distance of an offset from the line through its neighbours. Raises LoadError without an
        exchange.
        """
        exchanges = self._exchanges()
        uneven_ns = [
            abs(middle.offset_ns - _interpolate_offset(earlier_exchange, later_exchange, middle.other_ns))
            for earlier_exchange, middle, later_exchange in zip(
                exchanges, exchanges[1:], exchanges[2:], strict=False
            )
        ]
        longest_ns = max(exchange.round_trip_ns for exchange in exchanges)
        return round(longest_ns / 2 + max(uneven_ns, default=0.0))

    def local(self, remote_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert times of the other clock to times of this one. Raises LoadError without an exchange."""
        exchanges = self._exchanges()
        first_offset_ns = exchanges[0].offset_ns
        drift_ns = np.interp(
            remote_ns.astype(np.float64),
            [float(exchange.other_ns) for exchange in exchanges],
            [exchange.offset_ns - first_offset_ns for exchange in exchanges],
        )
        local_ns: NDArray[np.int64] = remote_ns - round(first_offset_ns) - np.rint(drift_ns).astype(np.int64)
        return local_ns

    def remote(self, local_ns: int) -> int:
        """Convert a time of this clock, not long after the last exchange, to one of the other. Raises LoadError."""
        return local_ns + round(self._exchanges()[-1].offset_ns)

    def _exchanges(self) -> Sequence[Exchange]:
        if not self._shortest:
            raise LoadError("The clock of a load machine is unknown: it never answered.")
        return self._shortest


def _interpolate_offset(earlier_exchange: Exchange, later_exchange: Exchange, other_ns: int) -> float:
    share = (other_ns - earlier_exchange.other_ns) / max(
        1, later_exchange.other_ns - earlier_exchange.other_ns
    )
    return earlier_exchange.offset_ns + share * (later_exchange.offset_ns - earlier_exchange.offset_ns)
