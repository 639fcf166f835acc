"""Latency by percentile, the way HdrHistogram plots it: each further nine takes the same width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from bench.report import sweep
from bench.report.figures import multiples
from bench.report.figures.scale import fit_scale
from bench.report.results import Results

_MS = 1e-6
_NINES = {0.0: "0", 0.5: "50", 0.9: "90", 0.99: "99", 0.999: "99.9", 0.9999: "99.99", 0.99999: "99.999"}
_DRAWN = np.array(
    [
        *(
            0,
            0.1,
            0.2,
            0.3,
            0.4,
            0.5,
            0.6,
            0.7,
            0.75,
            0.8,
            0.85,
            0.9,
            0.92,
            0.94,
            0.95,
            0.96,
            0.97,
            0.98,
            0.99,
        ),
        *(0.992, 0.994, 0.995, 0.996, 0.998, 0.999, 0.9992, 0.9994, 0.9995, 0.9996, 0.9998, 0.9999, 0.99999),
    ]
)


def curves(results: Results, parts: Sequence[sweep.Part], measure: str, y_label: str) -> list[Figure]:
    """Draw median curves with the range over trials shaded, a drawing a system; none where the measure was not taken.

    A percentile is drawn as far as every valid trial of the case resolves it.
    """
    points = _points(results, measure)
    blocks = [block for part in parts if (block := sweep.panels(part)).shown]
    y = fit_scale(points["ms"])
    if y is None or not blocks:
        return []
    figures, cells = multiples.grid(blocks, ("percentile", y_label), y)
    right = float(points["nines"].max())
    for cell in cells:
        _percentile_axis(cell, right)
        multiples.name_lines(cell, _lines(cell, points))
    return figures


def is_drawn(quantiles: pd.Series[Any]) -> pd.Series[bool]:
    """Tell of each quantile whether curves are drawn through it."""
    return quantiles.astype(float).round(6).isin(np.round(_DRAWN, 6))


def _points(results: Results, measure: str) -> pd.DataFrame:
    trials = results.valid[["trial", "case"]]
    table = results.percentiles[results.percentiles["measure"] == measure]
    points = table[is_drawn(table["quantile"])].merge(trials, on="trial")
    per_case = points.groupby(["case", "quantile"])["trial"].transform("nunique")
    points = points[per_case == points["case"].map(trials.groupby("case")["trial"].nunique())]
    nines = -np.log10(1 - points["quantile"].astype(float))
    return points.assign(ms=points["value_ns"].astype(float) * _MS, nines=nines)


def _percentile_axis(cell: multiples.PanelAxes, right: float) -> None:
    ticks = {-np.log10(1 - quantile): label for quantile, label in _NINES.items() if quantile}
    shown = {place: label for place, label in ticks.items() if place <= right + 0.01}
    cell.axes.set_xlim(0, right)
    cell.axes.xaxis.set_major_locator(FixedLocator(list(shown)))
    cell.axes.xaxis.set_minor_locator(NullLocator())
    cell.axes.set_xticklabels(list(shown.values()))


def _lines(cell: multiples.PanelAxes, points: pd.DataFrame) -> multiples.Ends:
    """Draw a panel's lines; give back where each ends."""
    ends: dict[str, tuple[float, float]] = {}
    for case in cell.panel.lines.values():
        of_case = points[points["case"] == case]
        if len(of_case):
            sns.lineplot(
                of_case,
                x="nines",
                y="ms",
                estimator="median",
                errorbar=("pi", 100),
                ax=cell.axes,
                color=cell.colours[case],
                linestyle=cell.dashes[case],
                linewidth=1.1,
                err_kws={"alpha": 0.22, "linewidth": 0},
            )
            last = float(of_case["nines"].max())
            ends[case] = (last, float(of_case.loc[of_case["nines"] == last, "ms"].median()))
    cell.axes.set_ylabel("")
    return ends
