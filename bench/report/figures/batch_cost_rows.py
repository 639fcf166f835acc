"""What a batch takes of CPU, a row for each role and what its servers do with it: the fitted cost and its interval."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.report import style
from bench.report.batch_costs import WorkCost, lead, micros, work_costs
from bench.report.figures.drawing import Drawing, draw
from bench.report.figures.row_axes import row_axes, value_behind, words_before
from bench.report.figures.scale import Scale
from bench.report.results import Results
from bench.systems.registry import system_title

NAME = "batch-costs"
_TITLE = "CPU that a batch takes"
_ROW_IN, _TITLE_IN, _HEAD_IN, _FOOT_IN, _VALUE_IN, _LEFT_IN = 0.22, 0.25, 0.26, 0.24, 0.62, 2.1
_MICROS = 1e6
_AIR = 1.06


def drawing(results: Results) -> Drawing | None:
    """Draw the figure with its words; None where a run does not ask what messages cost."""
    if not lead(results):
        return None
    costs = work_costs(results)
    alt = " ".join(
        f"{system_title(cost.system)} {cost.role}, {cost.work}: {micros(cost.value)} µs." for cost in costs
    )
    caption = (
        "Each mark is a cost that was fitted to all trials of a system, the line its 95 % interval. A batch is what "
        "one request of a client, or one entry, holds."
    )
    picture = draw(_figure(costs), name=NAME, title=_TITLE, alt=f"{_TITLE}. {alt}", caption=caption)
    return replace(picture, legend="Lines: 95 % intervals of the fitted costs.")


def _figure(costs: list[WorkCost]) -> Figure:
    blocks = [(system, list(rows)) for system, rows in groupby(costs, key=lambda cost: cost.system)]
    inner = sum(_TITLE_IN + _ROW_IN * len(rows) for _, rows in blocks)
    figure = Figure(figsize=(style.WIDTH_IN, inner + _HEAD_IN + _FOOT_IN))
    box = (_LEFT_IN, _FOOT_IN, style.WIDTH_IN - _LEFT_IN - _VALUE_IN, inner)
    most = max(cost.high for cost in costs) * _MICROS * _AIR
    axes = row_axes(figure, box, "µs of CPU a batch", Scale(0.0, most or 1.0, log=False))
    at = 0.0
    for system, rows in blocks:
        ink = style.look(system).ink
        words_before(axes, at + 0.6 * _TITLE_IN, system_title(system), color=ink, fontweight="semibold")
        at += _TITLE_IN
        for cost in rows:
            _row(axes, cost, at + 0.5 * _ROW_IN)
            at += _ROW_IN
    return figure


def _row(axes: Axes, cost: WorkCost, y: float) -> None:
    look = style.look(cost.system)
    words_before(axes, y, f"{cost.role}: {cost.work}", color=look.ink)
    ends = [cost.low * _MICROS, cost.high * _MICROS]
    axes.plot(ends, [y, y], color=look.base, linewidth=1.4, alpha=0.6, zorder=2)
    axes.scatter(
        [cost.value * _MICROS], [y], s=26, marker=look.marker, color=look.base, linewidth=0, zorder=3
    )
    value_behind(axes, y, micros(cost.value), _VALUE_IN)
