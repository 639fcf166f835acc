"""How latency grows with the load: p99 over the share of its capacity that a configuration carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from bench.report.results import Results

KNEE = 2.0
"""At the knee p99 is so many times as long as at the lightest load."""
_LIGHT = 0.3
"""The lightest load is at most this share of the capacity, else there is no knee: p99 may have grown before."""
_LEAST_RATES = 4

Values: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """The holds of one configuration, and the curve through them.

    `loads` are shares of the capacity that the same cluster start had. `p99_ns` are the response times from the due
    time, by hold: infinite where more than 1 % of the messages failed or were never sent. `curve_loads` are the
    loads in rising order, each once; `curve_ns` never falls as the load grows.
    """

    case: str
    loads: Values
    p99_ns: Values
    curve_loads: Values
    curve_ns: Values

    @property
    def lightest(self) -> tuple[float, float]:
        """The lightest load that was held, and the curve's p99 in ns there."""
        return float(self.curve_loads[0]), float(self.curve_ns[0])

    @property
    def knee(self) -> float | None:
        """The least load, as a share of the capacity, at which the curve is KNEE times as high as at its start.

        None where it never is, and where no light load was held.
        """
        wanted_ns = KNEE * self.curve_ns[0]
        above = np.flatnonzero(self.curve_ns >= wanted_ns)
        if not len(above) or self.curve_loads[0] > _LIGHT:
            return None
        around = slice(int(above[0]) - 1, int(above[0]) + 1)
        return float(np.interp(np.log(wanted_ns), np.log(self.curve_ns[around]), self.curve_loads[around]))

    def p99_at(self, load: float) -> float | None:
        """Return the curve's p99 in ns at a share of the capacity; None outside the loads that were held."""
        if not self.curve_loads[0] <= load <= self.curve_loads[-1]:
            return None
        return float(np.exp(np.interp(load, self.curve_loads, np.log(self.curve_ns))))


def load_curves(results: Results) -> dict[str, LoadCurve]:
    """Return the curve of each case that searched for its capacity and found it, by case."""
    if results.holds.empty:
        return {}
    trials = results.valid[["trial", "case", "capacity_msgs_per_s"]].dropna(subset=["capacity_msgs_per_s"])
    holds = results.holds.merge(trials, on="trial")
    curves = (_curve(str(case), case_holds) for case, case_holds in holds.groupby("case"))
    return {curve.case: curve for curve in curves if curve is not None}


def _curve(case: str, holds: pd.DataFrame) -> LoadCurve | None:
    """Fit a curve that never falls: isotonic regression of the logarithm of p99, weighted by the holds' seconds.

    Holds at the same load count as one, with their weighted mean. A p99 that is infinite counts as the longest that any
    hold of the case had.
    """
    loads = (holds["rate"] / holds["capacity_msgs_per_s"]).to_numpy(dtype=np.float64)
    p99_ns = pd.to_numeric(holds["response_p99_ns"]).fillna(np.inf).to_numpy(dtype=np.float64)
    seconds = holds["seconds"].to_numpy(dtype=np.float64)
    finite_ns = p99_ns[np.isfinite(p99_ns)]
    curve_loads, place = np.unique(loads, return_inverse=True)
    if len(curve_loads) < _LEAST_RATES or not len(finite_ns):
        return None
    logs = np.log(np.minimum(p99_ns, finite_ns.max()))
    weights = np.bincount(place, seconds)
    means = np.bincount(place, seconds * logs) / weights
    fitted = np.asarray(scipy.optimize.isotonic_regression(means, weights=weights).x, dtype=np.float64)
    return LoadCurve(case, loads, p99_ns, curve_loads, np.exp(fitted))
