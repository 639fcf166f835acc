"""What a configuration costs by what an fsync does: a line a configuration, over the cost measured on its servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from bench.model import EMULATED_FSYNC
from bench.report import sweep
from bench.report.figures import multiples
from bench.report.figures.scale import ACROSS_IN, fitting
from bench.report.results import Results

_MS = 1e-6
_MOST_IN = 3.54
"""So high it stands on a report's first sheet, below the answer and a warning."""


def price(
    results: Results, parts: Sequence[sweep.Part], column: str, y_label: str, factor: float = 1.0
) -> Figure | None:
    """Draw a column of trials over the cost of an fsync; None where they all had one and the same.

    A dot is a trial, a line joins the medians of the cases that differ in the disk only.
    """
    if EMULATED_FSYNC not in results.trials or len(results.trials[EMULATED_FSYNC].unique()) == 1:
        return None
    line = _line_of(parts)
    points = _points(results, column, factor).assign(line=lambda known: known["case"].map(line))
    blocks = [block for part in parts if (block := sweep.panels(but_for_the_disk(part))).shown]
    x, y = fitting(points["fsync_ms"]), fitting(points["y"])
    if x is None or y is None or not blocks:
        return None
    figure, cells = multiples.grid(
        blocks,
        (x.label("one fsync (ms; longer than the disk's own: emulated)"), y_label),
        y,
        most_in=_MOST_IN,
    )
    for cell in cells:
        if x.log:
            cell.axes.set_xscale("log")
        cell.axes.set_xlim(x.low, x.high)
        x.apply(cell.axes.xaxis, multiples.width_in(cell.axes) / ACROSS_IN)
        multiples.name_lines(cell, _lines(cell, points, line))
    return figure


def _points(results: Results, column: str, factor: float) -> pd.DataFrame:
    table = results.valid
    known = table[table["fsync_ns"].notna() & table[column].notna()]
    return known.assign(
        fsync_ms=pd.to_numeric(known["fsync_ns"]).astype(float) * _MS,
        y=pd.to_numeric(known[column]).astype(float) * factor,
    )


def _others(part: sweep.Part) -> list[str]:
    return [name for name in part.settings if name != EMULATED_FSYNC]


def but_for_the_disk(part: sweep.Part) -> sweep.Part:
    """Keep one case of all that differ in the disk only."""
    counted = part.cases[part.cases["rounds"] > 0]
    others = _others(part)
    one = counted.drop_duplicates(subset=others) if others else counted.head(1)
    return replace(part, settings=tuple(others), cases=one)


def _line_of(parts: Sequence[sweep.Part]) -> dict[str, str]:
    """Give each case the first of those that differ from it in the disk only: they share a line."""
    first: dict[tuple[str, ...], str] = {}
    return {
        str(case["case"]): first.setdefault(
            (part.system, *(str(case[name]) for name in _others(part))), str(case["case"])
        )
        for part in parts
        for _, case in part.cases.iterrows()
    }


def _lines(cell: multiples.Cell, points: pd.DataFrame, line: Mapping[str, str]) -> multiples.Ends:
    ends: dict[str, tuple[float, float]] = {}
    for case in cell.panel.lines.values():
        trials = points[points["line"] == line[case]]
        if trials.empty:
            continue
        colour = cell.colours[case]
        cell.axes.scatter(trials["fsync_ms"], trials["y"], s=5, color=colour, alpha=0.45, linewidth=0)
        middle = trials.groupby("case")[["fsync_ms", "y"]].median().sort_values("fsync_ms")
        cell.axes.plot(
            middle["fsync_ms"],
            middle["y"],
            color=colour,
            linestyle=cell.dashes[case],
            linewidth=1.2,
            marker="o",
            markersize=2.5,
        )
        ends[case] = (float(middle["fsync_ms"].iloc[-1]), float(middle["y"].iloc[-1]))
    return ends
