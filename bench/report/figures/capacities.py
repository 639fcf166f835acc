"""Every rate that was held in each case's search: which passed the service level, and which failed it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import numbers
from bench.capacity.judgement import HoldVerdict
from bench.report import style, sweep
from bench.report.figures.row_axes import RowLayout, rows_by_system, value_behind, words_before
from bench.report.figures.scale import fit_scale
from bench.report.results import Results

_ROW_IN, _VALUE_IN, _AIR_IN = 0.21, 1.05, 0.12


def capacities(results: Results, parts: Sequence[sweep.Part]) -> Figure | None:
    """Draw a row a case, a block a system, over one axis; None where nobody searched."""
    if results.capacities.empty:
        return None
    shown = [(part, _cases(results, part)) for part in parts]
    shown = [(part, cases) for part, cases in shown if cases]
    holds = results.holds.merge(results.valid[["trial", "case"]], on="trial")
    scale = fit_scale(holds["rate"])
    if scale is None or not shown:
        return None
    left = max(len(label) for _, cases in shown for label in cases) * style.CHARACTER_IN + _AIR_IN

    def draw_row(axes: Axes, system: str, row: tuple[str, str], y: float) -> None:
        label, case = row
        _row(axes, results, holds[holds["case"] == case], (system, label, case), y)

    blocks = [(part.system, list(cases.items())) for part, cases in shown]
    return rows_by_system(blocks, RowLayout(_ROW_IN, left, _VALUE_IN), ("messages/s held", scale), draw_row)


def in_words(results: Results, parts: Sequence[sweep.Part]) -> str:
    """Say what the figure shows: what each case sustained."""
    return " ".join(
        f"{part.title} {label}: {_value(results, case)} messages/s."
        for part in parts
        for label, case in _cases(results, part).items()
    )


def _cases(results: Results, part: sweep.Part) -> dict[str, str]:
    """Return the cases that searched, by their labels."""
    capacity_cases = set(results.capacities["case"])
    return {
        part.label(case): case["case"] for _, case in part.cases.iterrows() if case["case"] in capacity_cases
    }


def _row(axes: Axes, results: Results, holds: pd.DataFrame, row: tuple[str, str, str], y: float) -> None:
    """Draw a case's holds: filled where they passed, hollow where they failed, small where they were short."""
    system, label, case = row
    look = style.look(system)
    words_before(axes, y, label, color=look.ink)
    for confirms, size in ((False, 6), (True, 22)):
        for verdict, filled in ((HoldVerdict.PASSED, True), (HoldVerdict.FAILED, False)):
            some = holds[(holds["verdict"] == verdict) & (holds["confirms"].astype(bool) == confirms)]
            colours: dict[str, Any] = {"facecolor": look.base if filled else "white", "edgecolor": look.base}
            axes.scatter(
                some["rate"], [y] * len(some), s=size, marker=look.marker, linewidth=0.8, zorder=3, **colours
            )
    value_behind(axes, y, _value(results, case), _VALUE_IN)


def _value(results: Results, case: str) -> str:
    capacity = results.capacities[results.capacities["case"] == case].iloc[0]
    return numbers.rates(float(capacity["passed_rate"]), float(capacity["failed_rate"]))
