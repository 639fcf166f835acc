"""Where the lines of two configurations cross: below that fsync latency the one is ahead, above it the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

_LEAST_ROUNDS = 3
_LEVEL = 0.95
_RESAMPLES, _SEED = 1000, 1
_EXTENDED = 2.0
"""So far, as a factor, a resampled line goes on straight beyond its ends: its points lie elsewhere than the medians."""

Line: TypeAlias = npt.NDArray[np.float64]
"""Rows of x and y, both above 0, by rising x."""
_Cells: TypeAlias = npt.NDArray[np.float64]
"""Logarithms of x and y by round and point; NaN where a round lacks a point."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where two lines cross, on both axes; `low` and `high` are the 95 % interval of `at`, None where there is none."""

    at: float
    y: float
    low: float | None = None
    high: float | None = None


def crossing(first_trials: pd.DataFrame, second_trials: pd.DataFrame) -> Crossing | None:
    """Return where the median lines of two configurations cross; None where they do not within what both measured.

    Columns: round, point, x and y; `point` names what the medians are of, such as a case. Between two points a line
    is straight on logarithmic axes. The interval is a percentile bootstrap over rounds, of lines that may go on a
    little beyond their ends. There is none below three rounds, or where more than a few of the resampled lines do
    not cross.
    """
    middle = _first_crossing(_medians(first_trials), _medians(second_trials))
    if middle is None:
        return None
    rounds = sorted({*first_trials["round"]} & {*second_trials["round"]})
    if len(rounds) < _LEAST_ROUNDS:
        return Crossing(*middle)
    draw = np.random.default_rng(_SEED)
    first, second = _cells(first_trials, rounds), _cells(second_trials, rounds)
    crossings: list[float] = []
    for _ in range(_RESAMPLES):
        round_indices = draw.integers(0, len(rounds), len(rounds))
        place = _first_crossing(
            _extend(_resample(first, round_indices)), _extend(_resample(second, round_indices))
        )
        if place is not None:
            crossings.append(place[0])
    if len(crossings) < _LEVEL * _RESAMPLES:
        return Crossing(*middle)
    low, high = np.quantile(crossings, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Crossing(*middle, min(float(low), middle[0]), max(float(high), middle[0]))


def _medians(trials: pd.DataFrame) -> Line:
    return _line(trials.groupby("point")[["x", "y"]].median())


def _cells(trials: pd.DataFrame, rounds: Sequence[int]) -> _Cells:
    """Return the logarithms of a configuration's trials: rounds, points, x and y."""
    tables = [
        trials.pivot_table(name, "round", "point").reindex(list(rounds)).to_numpy(float)
        for name in ("x", "y")
    ]
    cells: _Cells = np.log(np.stack(tables, axis=-1))
    return cells


def _resample(cells: _Cells, round_indices: npt.NDArray[np.int64]) -> Line:
    """Return the median line of some rounds, each as often as it was chosen."""
    drawn = cells[round_indices]
    measured_points = ~np.isnan(drawn).all(axis=0).any(axis=-1)
    medians = np.nanmedian(drawn[:, measured_points], axis=0)
    ordered: Line = np.exp(medians[np.argsort(medians[:, 0])])
    return ordered


def _line(points: pd.DataFrame) -> Line:
    ordered: Line = points.sort_values("x").drop_duplicates("x").to_numpy(dtype=np.float64)
    return ordered


def _extend(line: Line) -> Line:
    """Go on straight at both ends, on logarithmic axes."""
    if len(line) < 2:
        return line
    logs = np.log(line)
    step = np.array([np.log(_EXTENDED), 0.0])

    def beyond(end: Line, inner: Line, sign: float) -> Line:
        slope = (end[1] - inner[1]) / (end[0] - inner[0])
        moved: Line = end + sign * step + np.array([0.0, sign * step[0] * slope])
        return moved

    longer: Line = np.exp(np.vstack([beyond(logs[0], logs[1], -1.0), logs, beyond(logs[-1], logs[-2], 1.0)]))
    return longer


def _first_crossing(first_line: Line, second_line: Line) -> tuple[float, float] | None:
    """Return x and y of the first crossing of two lines where both are known."""
    if min(len(first_line), len(second_line)) < 2:
        return None
    left, right = max(first_line[0, 0], second_line[0, 0]), min(first_line[-1, 0], second_line[-1, 0])
    if left >= right:
        return None
    places = np.concatenate([first_line[:, 0], second_line[:, 0], [left, right]])
    at = np.unique(np.log(places[(places >= left) & (places <= right)]))
    first, second = (
        np.interp(at, np.log(line[:, 0]), np.log(line[:, 1])) for line in (first_line, second_line)
    )
    apart = first - second
    turns = np.flatnonzero(np.sign(apart[:-1]) * np.sign(apart[1:]) < 0)
    if not len(turns):
        return None
    place = int(turns[0])
    share = apart[place] / (apart[place] - apart[place + 1])
    x = at[place] + share * (at[place + 1] - at[place])
    return float(np.exp(x)), float(np.exp(np.interp(x, at, first)))
