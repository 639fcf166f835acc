"""What a batch takes of CPU, a row for each role and what its servers do with it: the fitted cost and its interval."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import numbers
from bench.report import style
from bench.report.batch_costs import WorkCost, lead, work_costs
from bench.report.figures.drawing import Drawing, draw
from bench.report.figures.row_axes import RowLayout, rows_by_system, value_behind, words_before
from bench.report.figures.scale import Scale
from bench.report.results import Results
from bench.systems.registry import system_title

NAME = "batch-costs"
_TITLE = "CPU that a batch takes"
_LAYOUT = RowLayout(row_in=0.22, left_in=2.1, value_in=0.62)
_AIR = 1.06


def drawing(results: Results) -> Drawing | None:
    """Draw the figure with its words; None where a run does not ask what messages cost."""
    if not lead(results):
        return None
    costs = work_costs(results)
    alt = " ".join(
        f"{system_title(cost.system)} {cost.role}, {cost.work}: {numbers.rate(cost.value_us)} µs."
        for cost in costs
    )
    caption = (
        "Each mark is a cost that was fitted to all trials of a system, the line its 95 % interval. A batch is what "
        "one request of a client, or one entry, holds."
    )
    picture = draw(_figure(costs), name=NAME, title=_TITLE, alt=f"{_TITLE}. {alt}", caption=caption)
    return replace(picture, legend="Lines: 95 % intervals of the fitted costs.")


def _figure(costs: list[WorkCost]) -> Figure:
    blocks = [(system, list(rows)) for system, rows in groupby(costs, key=lambda cost: cost.system)]
    most = max(cost.high_us for cost in costs) * _AIR
    scale = Scale(0.0, most or 1.0, log=False)
    return rows_by_system(blocks, _LAYOUT, ("µs of CPU a batch", scale), _row)


def _row(axes: Axes, system: str, cost: WorkCost, y: float) -> None:
    look = style.look(system)
    words_before(axes, y, f"{cost.role}: {cost.work}", color=look.ink)
    ends = [cost.low_us, cost.high_us]
    axes.plot(ends, [y, y], color=look.base, linewidth=1.4, alpha=0.6, zorder=2)
    axes.scatter([cost.value_us], [y], s=26, marker=look.marker, color=look.base, linewidth=0, zorder=3)
    value_behind(axes, y, numbers.rate(cost.value_us), _LAYOUT.value_in)
