"""Axes of figures with a row a case: values along x, rows from the top down in inches, words at both sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from bench.report import style
from bench.report.figures.multiples import width_in
from bench.report.figures.scale import ACROSS_IN, Scale
from bench.systems.registry import system_title

T = TypeVar("T")
_TITLE_IN, _HEAD_IN, _FOOT_IN = 0.25, 0.26, 0.24


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The height of a row, and the room for words before the axes and for values behind them, in inches."""

    row_in: float
    left_in: float
    value_in: float


def rows_by_system(
    blocks: Sequence[tuple[str, Sequence[T]]],
    layout: RowLayout,
    axis: tuple[str, Scale],
    draw_row: Callable[[Axes, str, T, float], None],
) -> Figure:
    """Draw a block of rows a system below its title, all over one axis, which has a label and a scale.

    `draw_row` is given the axes, the system, its row, and how many inches below their top that has its middle.
    """
    inner = sum(_TITLE_IN + layout.row_in * len(rows) for _, rows in blocks)
    figure = Figure(figsize=(style.WIDTH_IN, _HEAD_IN + _FOOT_IN + inner))
    box = (layout.left_in, _FOOT_IN, style.WIDTH_IN - layout.left_in - layout.value_in, inner)
    axes = row_axes(figure, box, *axis)
    at = 0.0
    for system, rows in blocks:
        ink = style.look(system).ink
        words_before(axes, at + 0.6 * _TITLE_IN, system_title(system), color=ink, fontweight="semibold")
        at += _TITLE_IN
        for row in rows:
            draw_row(axes, system, row, at + 0.5 * layout.row_in)
            at += layout.row_in
    return figure


def row_axes(figure: Figure, box: tuple[float, float, float, float], label: str, scale: Scale) -> Axes:
    """Place axes by a box in inches: left, bottom, width, height; y is in inches from the top."""
    across, down = figure.get_size_inches()
    left, bottom, width, height = box
    axes = figure.add_axes((left / across, bottom / down, width / across, height / down))
    if scale.log:
        axes.set_xscale("log")
    axes.set_xlim(scale.low, scale.high)
    scale.apply(axes.xaxis, width / ACROSS_IN)
    axes.set_ylim(height, 0)
    axes.set_yticks([])
    axes.grid(visible=True, axis="x")
    axes.spines["left"].set_visible(False)
    figure.text(
        left / across, (bottom + height + 0.13) / down, scale.label(label), color=style.SOFT, va="center"
    )
    return axes


def words_before(axes: Axes, y: float, words: str, **look: Any) -> None:  # noqa: ANN401 - Matplotlib's own
    """Write words from the figure's left edge on, `y` inches below the top of the axes."""
    start = axes.get_position().x0 * style.WIDTH_IN / width_in(axes)
    side = blended_transform_factory(axes.transAxes, axes.transData)
    axes.text(-start, y, words, transform=side, va="center", **look)


def value_behind(axes: Axes, y: float, value: str, room_in: float) -> None:
    """Write a row's value in the room at the right of the axes, so many inches wide."""
    side = blended_transform_factory(axes.transAxes, axes.transData)
    right = 1 + (room_in - 0.02) / width_in(axes)
    axes.text(right, y, value, transform=side, va="center", ha="right", fontweight="semibold")
