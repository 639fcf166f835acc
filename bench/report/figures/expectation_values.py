"""The figure of a trial that a scenario asks for, a row a configuration: trials as dots, their median at the right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import numbers
from bench.model import NANOS
from bench.report import case_groups, style, sweep
from bench.report.expectation_figures import ExpectationFigure, leading_figures
from bench.report.figures.drawing import Drawing, draw
from bench.report.figures.row_axes import RowLayout, rows_by_system, value_behind, words_before
from bench.report.figures.scale import fit_scale
from bench.report.presentation import Labels
from bench.report.results import Results

NAME = "asked"
_UNITS: Mapping[Callable[[float], str], tuple[str, float]] = {
    numbers.percent: ("%", 100.0),
    numbers.duration: ("s", 1.0 / NANOS),
    numbers.size: ("MB", 1e-6),
}
"""The unit of an axis and its factor, by how a value is written."""
_ROW_IN, _VALUE_IN, _AIR_IN = 0.2, 0.8, 0.12
_LABEL_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class _Row:
    """A configuration with the value of each valid trial, as measured."""

    label: str
    trials: Sequence[float]

    @property
    def median(self) -> float:
        return float(pd.Series(self.trials).median())


def drawn_figure(results: Results) -> ExpectationFigure | None:
    """Return the figure that the first page shows: the first that the scenario asks for, where it is one of trials."""
    figures = leading_figures(results)
    return figures[0] if figures and not figures[0].kind else None


def drawing(results: Results, parts: Sequence[sweep.Part], labels: Labels) -> Drawing | None:
    """Draw it with its words; None where the scenario asks for no such figure."""
    figure = drawn_figure(results)
    if figure is None:
        return None
    blocks = [(part, rows) for part in parts if (rows := _rows(figure.values(results), part, labels))]
    title = numbers.sentence(figure.metric.words)
    alt = " ".join(
        f"{part.title}, {row.label}: {figure.metric.written(row.median)}."
        for part, rows in blocks
        for row in rows
    )
    caption = "Each mark is a trial; at the right, the median of the configuration."
    picture = draw(_figure(figure, blocks), name=NAME, title=title, alt=f"{title}. {alt}", caption=caption)
    return replace(picture, legend="Marks: trials. At the right: their median.")


def _rows(values: dict[str, list[float]], part: sweep.Part, labels: Labels) -> list[_Row]:
    return [
        _Row(
            numbers.cut(case_groups.name(labels, part, [case]) or part.title, _LABEL_CHARACTERS), values[case]
        )
        for case in map(str, part.cases["case"])
        if case in values
    ]


def _figure(figure: ExpectationFigure, blocks: Sequence[tuple[sweep.Part, Sequence[_Row]]]) -> Figure:
    unit, factor = _UNITS.get(figure.metric.written, ("", 1.0))
    scale = fit_scale(value * factor for _, rows in blocks for row in rows for value in row.trials)
    if scale is None:  # each block has a row, and each row a value
        raise ValueError(figure.name)
    left = max(len(row.label) for _, rows in blocks for row in rows) * style.CHARACTER_IN + _AIR_IN
    label = ", ".join(filter(None, (figure.metric.words, unit)))

    def draw_row(axes: Axes, system: str, row: _Row, y: float) -> None:
        _row(axes, system, row, y, factor)
        value_behind(axes, y, figure.metric.written(row.median), _VALUE_IN)

    systems = [(part.system, rows) for part, rows in blocks]
    return rows_by_system(systems, RowLayout(_ROW_IN, left, _VALUE_IN), (label, scale), draw_row)


def _row(axes: Axes, system: str, row: _Row, y: float, factor: float) -> None:
    look = style.look(system)
    words_before(axes, y, row.label, color=look.ink)
    axes.scatter(
        [value * factor for value in row.trials],
        [y] * len(row.trials),
        s=22,
        marker=look.marker,
        color=look.base,
        linewidth=0,
        alpha=0.75,
        zorder=3,
    )
