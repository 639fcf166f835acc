"""Latency over load: p99 of every held rate, by its share of the capacity, and the curve through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, PercentFormatter

from bench import numbers
from bench.report import style, sweep
from bench.report.figures import multiples
from bench.report.figures.drawing import Drawing, draw
from bench.report.figures.scale import fit_scale
from bench.report.load_curves import LoadCurve
from bench.report.load_curves import load_curves as curves_by_case
from bench.report.results import Results

_MS = 1e-6
_MOST_LOAD = 1.3
_TICKS = (0.25, 0.5, 0.75, 1.0, 1.25)


def drawing(results: Results, parts: Sequence[sweep.Part]) -> Drawing | None:
    """Draw the figure with its words; None where no case has a curve."""
    curves = curves_by_case(results)
    if not curves:
        return None
    figures = load_curves(curves, parts, results.service_level.response_p99_ns)
    caption = (
        "Each dot is a rate that was held on one cluster start, by its share of the capacity of that start. The line "
        "never falls (isotonic regression). Hollow, at the top: more than 1 % failed or were never sent. Dashed: the "
        "service level. Above the capacity the p99 grows for as long as a rate is held."
    )
    title = "Response time over load"
    return draw(
        figures, name="load-curves", title=title, alt=f"{title}. {in_words(curves, parts)}", caption=caption
    )


def load_curves(
    curves: Mapping[str, LoadCurve], parts: Sequence[sweep.Part], level_ns: int
) -> Sequence[Figure]:
    """Draw a panel for each group of cases, a line a case; none where no case has a curve.

    `level_ns` is the service level's response time, a dashed line.
    """
    shown = [part.with_cases(curves) for part in parts]
    blocks = [block for part in shown if (block := sweep.panels(part)).shown]
    finite = [value for curve in curves.values() for value in curve.p99_ns if np.isfinite(value)]
    y = fit_scale([*(value * _MS for value in finite), level_ns * _MS])
    if y is None or not blocks:
        return []
    figures, cells = multiples.grid(blocks, ("load, share of the capacity", "p99 response time (ms)"), y)
    for cell in cells:
        cell.axes.set_xlim(0, _MOST_LOAD)
        cell.axes.xaxis.set_major_locator(FixedLocator(list(_TICKS)))
        cell.axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        cell.axes.axhline(level_ns * _MS, color=style.SOFT, linewidth=0.8, linestyle=(0, (4, 2)))
        cell.axes.axvline(1, color=style.GRID, linewidth=0.8)
        multiples.name_lines(cell, _lines(cell, curves))
    return figures


def _lines(cell: multiples.PanelAxes, curves: Mapping[str, LoadCurve]) -> multiples.Ends:
    """Draw a panel's holds and curves; give back where each curve ends."""
    ends: dict[str, tuple[float, float]] = {}
    for case in cell.panel.lines.values():
        curve, colour = curves[case], cell.colours[case]
        finite, top = np.isfinite(curve.p99_ns), cell.axes.get_ylim()[1]
        cell.axes.scatter(
            curve.loads[finite], curve.p99_ns[finite] * _MS, s=5, color=colour, alpha=0.45, linewidth=0
        )
        cell.axes.scatter(
            curve.loads[~finite],
            np.full((~finite).sum(), top),
            s=9,
            clip_on=False,
            facecolor="white",
            edgecolor=colour,
            linewidth=0.7,
            zorder=3,
        )
        inside = curve.curve_loads <= _MOST_LOAD
        loads, line_ms = curve.curve_loads[inside], curve.curve_ns[inside] * _MS
        cell.axes.plot(loads, line_ms, color=colour, linestyle=cell.dashes[case], linewidth=1.2)
        ends[case] = (float(loads[-1]), float(line_ms[-1]))
    return ends


def in_words(curves: Mapping[str, LoadCurve], parts: Sequence[sweep.Part]) -> str:
    """Say what the figure shows: at which load the p99 of each case has doubled."""
    sentences = []
    for part in parts:
        for _, case in part.with_cases(curves).cases.iterrows():
            knee = curves[str(case["case"])].knee
            growth = (
                "not known to double" if knee is None else f"doubled at {numbers.share(knee)} of the capacity"
            )
            sentences.append(f"{part.title} {part.label(case)}: p99 {growth}.")
    return " ".join(sentences)
