"""Which axis fits the numbers, and ticks that people can read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from bench import numbers

_LOG_FROM = 20.0
ACROSS_IN, DOWN_IN = 0.4, 0.18
"""The room that a label takes along an axis, for those that lie and those that stand."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Limits of an axis; logarithmic where the largest value is more than 20 times the smallest."""

    low: float
    high: float
    log: bool

    def label(self, text: str) -> str:
        """The axis label, which says that the scale is logarithmic."""
        return f"{text}, log scale" if self.log else text

    def apply(self, axis: Axis, labels: float) -> None:
        """Set an axis up that has room for so many labels: limits are the caller's, locators and formatter set here."""
        axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
        if not self.log:
            axis.set_major_locator(MaxNLocator(4))
            return
        decades = np.log10(self.high / self.low)
        subs = (1.0,) if 2 * decades > labels else (1.0, 3.0)
        axis.set_major_locator(LogLocator(subs=subs, numticks=99 if decades <= labels else None))
        axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10))))
        axis.set_minor_formatter(NullFormatter())


def fit_scale(values: Iterable[float]) -> Scale | None:
    """Return the scale that holds all values with some air; None where there is no value."""
    finite_values = np.array(
        [value for value in values if value is not None and np.isfinite(value)], dtype=float
    )
    if not len(finite_values):
        return None
    low, high = float(finite_values.min()), float(finite_values.max())
    if low > 0 and numbers.spread(low, high) > _LOG_FROM:
        air = (high / low) ** 0.05
        return Scale(low / air, high * air, log=True)
    return Scale(0.0, high * 1.06 or 1.0, log=False)


def _tick(value: float) -> str:
    if value >= 1:
        return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
    return f"{value:.3g}"
