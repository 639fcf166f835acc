"""A row a case, a panel a system: settings, every trial as a dot, the median as a bar, its value in figures.

All panels of a figure have the same x axis, so that positions compare across systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import blended_transform_factory

from bench import numbers
from bench.report import style, sweep
from bench.report.figures.multiples import width_in
from bench.report.figures.scale import ACROSS_IN, Scale, fit_scale

_HEAD_IN, _ROW_IN, _FOOT_IN, _GAP_IN, _PT = 0.86, 0.17, 0.1, 0.3, 72
_AIR_IN, _VALUE_IN, _MOST_ROWS = 0.08, 0.58, 56
_CLEAR_IN = 0.12
_SETTINGS_MOST = 72
"""So many characters of settings stand beside a plot."""
_LEAST_IN = 1.3
"""Narrower plots of two systems stand one below the other."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One column of trials and cases; `factor` brings it to the axis's unit, `hollow` tells two apart."""

    column: str
    name: str
    factor: float
    text: Callable[[float], str]
    hollow: bool = False

    def of(self, table: pd.DataFrame) -> pd.Series[float]:
        """The column in the axis's unit."""
        return pd.to_numeric(table[self.column]).astype(float) * self.factor


@dataclass(frozen=True, slots=True)
class Plot:
    """What a figure shows."""

    quantities: tuple[Quantity, ...]
    axis_label: str


@dataclass(frozen=True, slots=True)
class _Panel:
    """Rows of a system in one drawing, with the widths of its columns of settings, in inches."""

    part: sweep.Part
    cases: Sequence[pd.Series[Any]]
    widths: Sequence[float]


def rows(parts: Sequence[sweep.Part], plot: Plot) -> list[Figure]:
    """Draw the figure, in several where it is higher than two thirds of a page; none where no trial has a quantity."""
    counted = [part.trials for part in parts if len(part.trials)]
    values = [quantity.of(trials) for quantity in plot.quantities for trials in counted]
    scale = fit_scale(value for series in values for value in series)
    if scale is None:
        return []
    panels = [_Panel(part, _shown_cases(part), _setting_widths(part)) for part in parts]
    columns = min(2, len(panels)) if _plot_in(panels[:2], plot) >= _LEAST_IN else 1
    bands = [
        part_of_band
        for index in range(0, len(panels), columns)
        for part_of_band in _in_heights(panels[index : index + columns])
    ]
    return [_figure(drawn, plot, scale) for drawn in _in_figures(bands)]


def _in_heights(band: Sequence[_Panel]) -> Iterator[Sequence[_Panel]]:
    """Split panels that are higher than one drawing may be, into parts of about equal height."""
    most = max(len(panel.cases) for panel in band)
    count = math.ceil(most / math.floor((style.HEIGHT_IN - _HEAD_IN - _FOOT_IN) / _ROW_IN))
    rows_per_part = math.ceil(most / count) if count else 1
    for first in range(0, most, rows_per_part):
        cut = (replace(panel, cases=panel.cases[first : first + rows_per_part]) for panel in band)
        yield [panel for panel in cut if panel.cases]


def _in_figures(bands: Sequence[Sequence[_Panel]]) -> Iterator[list[Sequence[_Panel]]]:
    """Put bands below each other as long as a drawing has room for them."""
    drawn: list[Sequence[_Panel]] = []
    for band in bands:
        if drawn and sum(map(_height, [*drawn, band])) > style.HEIGHT_IN:
            yield drawn
            drawn = []
        drawn.append(band)
    if drawn:
        yield drawn


def _height(band: Sequence[_Panel]) -> float:
    return _HEAD_IN + _FOOT_IN + _ROW_IN * max(len(panel.cases) for panel in band)


def _figure(bands: Sequence[Sequence[_Panel]], plot: Plot, scale: Scale) -> Figure:
    top = sum(map(_height, bands))
    figure = Figure(figsize=(style.WIDTH_IN, top))
    for band in bands:
        _band(figure, band, plot, scale, top)
        top -= _height(band)
    return figure


def case_counts(part: sweep.Part) -> tuple[int, int]:
    """How many of a system's cases are drawn, and how many there are."""
    return len(_shown_cases(part)), len(part.cases)


def _band(figure: Figure, band: Sequence[_Panel], plot: Plot, scale: Scale, top: float) -> None:
    """Draw the panels of one band side by side; their plots are equally wide."""
    right = _VALUE_IN * len(plot.quantities)
    width = _plot_in(band, plot)
    x = 0.0
    for panel in band:
        left, height = sum(panel.widths), _ROW_IN * len(panel.cases)
        ax = _axes(figure, (x + left, top - _HEAD_IN - height, width, height))
        _panel(ax, panel, plot, scale)
        x += left + width + right + _GAP_IN


def _plot_in(band: Sequence[_Panel], plot: Plot) -> float:
    """How wide each plot of a band is, beside its settings and values."""
    values = _VALUE_IN * len(plot.quantities) * len(band)
    settings = sum(sum(panel.widths) for panel in band)
    return (style.WIDTH_IN - settings - values - _GAP_IN * (len(band) - 1)) / len(band)


def _setting_texts(part: sweep.Part, case: pd.Series[Any]) -> list[str]:
    """A case's settings, shortened to what a plot leaves room for."""
    values = part.values(case)
    return [style.shorten(value, max(12, _SETTINGS_MOST // len(values))) for value in values]


def _shown_cases(part: sweep.Part) -> list[Any]:
    return sweep.evenly([case for _, case in part.cases.iterrows()], _MOST_ROWS)


def _panel(ax: Axes, panel: _Panel, plot: Plot, scale: Scale) -> None:
    part, cases, widths = panel.part, panel.cases, panel.widths
    ax.set_ylim(len(cases) - 0.5, -0.5)
    _x_axis(ax, scale, scale.label(plot.axis_label))
    _heads(ax, part, widths, plot.quantities)
    for row, case in enumerate(cases):
        _settings(ax, part, widths, row, cases[row - 1 : row + 1] if row else [case])
        _values(ax, row, case, plot.quantities)
        _trials(ax, part, row, case, plot)


def _axes(figure: Figure, box: tuple[float, float, float, float]) -> Axes:
    """Place axes by a box in inches: left, bottom, width, height."""
    across, down = figure.get_size_inches()
    x, y, width, height = box
    ax = figure.add_axes((x / across, y / down, width / across, height / down))
    ax.set_yticks([])
    return ax


def _x_axis(ax: Axes, scale: Scale, label: str) -> None:
    if scale.log:
        ax.set_xscale("log")
    ax.set_xlim(scale.low, scale.high)
    scale.apply(ax.xaxis, width_in(ax) / ACROSS_IN)
    _clear_of_heads(ax)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel(label, labelpad=3, loc="left")
    ax.grid(visible=True, axis="x")
    for side in ("left", "bottom", "right"):
        ax.spines[side].set_visible(False)
    ax.spines["top"].set_visible(True)


def _clear_of_heads(ax: Axes) -> None:
    """Leave out the label of a tick at the plot's right end: it would meet the head of the values."""
    place = ax.transScale + ax.transLimits
    last = 1 - _CLEAR_IN / width_in(ax)
    text = ax.xaxis.get_major_formatter()
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda x, tick: text(x, tick) if place.transform((x, 0))[0] <= last else "")
    )


def _setting_widths(part: sweep.Part) -> list[float]:
    widths = []
    for name, values in zip(
        part.settings,
        zip(*(_setting_texts(part, case) for case in _shown_cases(part)), strict=True),
        strict=False,
    ):
        longest = max(len(text) for text in (*values, *sweep.wrap_name(name)))
        widths.append(longest * style.CHARACTER_IN + 0.1)
    return [*widths[:-1], *(width + _AIR_IN for width in widths[-1:])]


def _heads(ax: Axes, part: sweep.Part, widths: Sequence[float], quantities: Sequence[Quantity]) -> None:
    look = style.look(part.system)
    left = sum(widths)
    title = {"fontsize": style.HEAD_PT, "fontweight": "semibold", "color": look.ink}
    _above(ax, part.title, -left, 44, **title)
    offset = -left
    for name, width in zip(part.settings, widths, strict=False):
        _above(ax, "\n".join(sweep.wrap_name(name)), offset, 4, color=style.SOFT, linespacing=1.05)
        offset += width
    for index, quantity in enumerate(quantities):
        x = width_in(ax) + _VALUE_IN * (index + 1) - 0.02
        _above(ax, quantity.name, x, 4, color=style.SOFT, ha="right")


def _above(ax: Axes, text: str, x_in: float, y_pt: float, **look: Any) -> None:  # noqa: ANN401 - Matplotlib's own
    ax.annotate(
        text,
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(x_in * _PT, y_pt),
        textcoords="offset points",
        va="bottom",
        annotation_clip=False,
        **look,
    )


def _settings(
    ax: Axes, part: sweep.Part, widths: Sequence[float], row: int, cases: Sequence[pd.Series[Any]]
) -> None:
    """Write the last case's settings left of its row; values that only repeat the case before are light."""
    side = blended_transform_factory(ax.transAxes, ax.transData)
    *earlier_values, values = (_setting_texts(part, case) for case in cases)
    previous = earlier_values[0] if earlier_values else ()
    offset, repeats = -sum(widths), True
    for index, (value, width) in enumerate(zip(values, widths, strict=True)):
        repeats = repeats and bool(previous) and previous[index] == value
        colour = style.QUIET if repeats and index < len(widths) - 1 else style.INK
        ax.text(offset / width_in(ax), row, value, transform=side, va="center", color=colour)
        offset += width
    if previous and len(widths) > 1 and previous[0] != values[0]:
        left = -sum(widths) / width_in(ax)
        ax.plot(
            [left, 1.0], [row - 0.5] * 2, transform=side, color=style.GRID, lw=0.7, clip_on=False, zorder=0
        )


def _values(ax: Axes, row: int, case: pd.Series[Any], quantities: Sequence[Quantity]) -> None:
    side = blended_transform_factory(ax.transAxes, ax.transData)
    for index, quantity in enumerate(quantities):
        value = case[quantity.column]
        text = numbers.NOTHING if pd.isna(value) else quantity.text(float(value))
        x = 1 + (_VALUE_IN * (index + 1) - 0.02) / width_in(ax)
        ax.text(
            x,
            row,
            text,
            transform=side,
            va="center",
            ha="right",
            fontweight="semibold" if not index else "normal",
        )
    if not case["rounds"]:
        ax.text(0.02, row, "no valid trial", transform=side, va="center", color=style.BAD)


def _trials(ax: Axes, part: sweep.Part, row: int, case: pd.Series[Any], plot: Plot) -> None:
    look = style.look(part.system)
    trials = part.trials[part.trials["case"] == case["case"]]
    valid = trials["verdict"] == "valid"
    size = 250 * _ROW_IN**2
    for quantity in plot.quantities:
        values = quantity.of(trials)
        heights = row + _offsets(trials["round"])
        face = "white" if quantity.hollow else look.base
        ax.scatter(
            values[valid],
            heights[valid],
            s=size,
            marker=look.marker,
            facecolor=face,
            edgecolor=look.base,
            linewidth=0.5,
            alpha=0.75,
            zorder=3,
        )
        ax.scatter(
            values[~valid], heights[~valid], s=size + 2, marker="x", color=style.BAD, linewidth=0.7, zorder=3
        )
        if case["rounds"] > 1 and not pd.isna(case[quantity.column]):
            median = float(case[quantity.column]) * quantity.factor
            ax.plot(
                [median] * 2,
                [row - 0.36, row + 0.36],
                color=look.dark,
                lw=1.3,
                zorder=4,
                solid_capstyle="butt",
            )
    _line(ax, row, case, plot.quantities, look.base)


def _line(ax: Axes, row: int, case: pd.Series[Any], quantities: Sequence[Quantity], colour: str) -> None:
    """Join the medians of two quantities, or the ends of one quantity's interval; without one, of its range."""
    if len(quantities) > 1:
        ends = [case[quantity.column] * quantity.factor for quantity in (quantities[0], quantities[-1])]
    else:
        (quantity,) = quantities
        has_interval = not pd.isna(case[f"{quantity.column}_ci_low"])
        names = ("ci_low", "ci_high") if has_interval else ("low", "high")
        ends = [case[f"{quantity.column}_{name}"] * quantity.factor for name in names]
    if not any(pd.isna(end) for end in ends):
        ax.plot(ends, [row, row], color=colour, lw=0.8, alpha=0.45, zorder=2)


def _offsets(rounds: pd.Series[int]) -> pd.Series[float]:
    """Spread a case's trials over the height of its row: first round above, last below."""
    most = int(rounds.max()) if len(rounds) else 0
    return (rounds / most - 0.5) * 0.44 if most else rounds * 0.0
