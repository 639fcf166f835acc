"""Axes of figures with a row a case: values along x, rows from the top down in inches, words at both sides."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from bench.report import style
from bench.report.figures.multiples import width_in
from bench.report.figures.scale import ACROSS_IN, Scale


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
