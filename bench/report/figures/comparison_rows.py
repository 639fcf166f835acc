"""The cases that an answer compares, a row each: every trial as a dot, the median as a bar, its value in figures."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from bench import numbers
from bench.capacity.capacity import bracket
from bench.columns import CAPACITY, CONSUMED, OUTAGE
from bench.model import NANOS
from bench.report import fault_words, style
from bench.report.figures.row_axes import row_axes, value_behind, words_before
from bench.report.figures.scale import Scale, fit_scale
from bench.report.results import Results
from bench.systems.registry import system_title

_RATE, _BYTES = "throughput_msgs_per_s", "throughput_bytes_per_s"
_OTHER_RATES = {CAPACITY: "sustained messages/s", CONSUMED: "messages/s that the group consumed"}
_MS, _MB, _SECOND_MS = 1e-6, 1e-6, 1e3
_ROW_IN, _TITLE_IN, _HEAD_IN, _FOOT_IN, _VALUE_IN, _AIR_IN = 0.21, 0.25, 0.26, 0.24, 0.62, 0.12
_LABEL_CHARACTERS, _TITLE_CHARACTERS = 54, 95
_POINTS = {"p50": "median", "p99_9": "p99.9"}
_TIMES = {
    "service": "time of a send",
    "response": "response time",
    "queue": "time in the queue",
    "e2e": "end-to-end time",
}


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case as a row: its system, its label and its full name."""

    system: str
    label: str
    case: str

    @property
    def name(self) -> str:
        """System and label, once where they are the same."""
        system = system_title(self.system)
        words = self.label if self.label.startswith(system) else f"{system}: {self.label}"
        return numbers.cut(words, _LABEL_CHARACTERS)


@dataclass(frozen=True, slots=True)
class ComparedCases:
    """Cases that are compared by a column of trials, under a title."""

    title: str
    metric: str
    rows: tuple[CaseRow, ...]


@dataclass(frozen=True, slots=True)
class _Axis:
    """How a metric is shown: its label; `inverse` where ms a send stand for a rate, else times `factor`."""

    label: str
    factor: float = 1.0
    inverse: bool = False
    time: bool = False
    outage: bool = False

    def of(self, values: pd.Series[Any]) -> pd.Series[float]:
        numeric_values = pd.to_numeric(values).astype(float)
        return (
            _SECOND_MS / numeric_values.where(numeric_values > 0)
            if self.inverse
            else numeric_values * self.factor
        )

    def text(self, value: float) -> str:
        if self.outage:
            return fault_words.seconds_text(value * NANOS)
        return numbers.ms(value / _MS) if self.time or self.inverse else numbers.rate(value)


def comparison_rows(
    results: Results, compared: Sequence[ComparedCases], *, one_send_open: bool
) -> Figure | None:
    """Draw the comparisons, those of one metric over one axis; None where no trial has any of them."""
    blocks = [
        (_axis(metric, one_send_open=one_send_open), list(comparisons))
        for metric, comparisons in groupby(compared, key=lambda comparison: comparison.metric)
    ]
    scaled_blocks = [
        (axis, comparisons, scale)
        for axis, comparisons in blocks
        if (scale := _scale(results, axis, comparisons))
    ]
    if not scaled_blocks:
        return None
    longest = max(len(row.name) for comparison in compared for row in comparison.rows)
    left = longest * style.CHARACTER_IN + _AIR_IN
    heights = [_HEAD_IN + _FOOT_IN + sum(map(_height, comparisons)) for _, comparisons, _ in scaled_blocks]
    figure = Figure(figsize=(style.WIDTH_IN, sum(heights)))
    top = sum(heights)
    for (axis, comparisons, scale), height in zip(scaled_blocks, heights, strict=True):
        inner = height - _HEAD_IN - _FOOT_IN
        box = (left, top - _HEAD_IN - inner, style.WIDTH_IN - left - _VALUE_IN, inner)
        axes = row_axes(figure, box, axis.label, scale)
        at = 0.0
        for comparison in comparisons:
            _comparison(axes, results, axis, comparison, at)
            at += _height(comparison)
        top -= height
    return figure


def in_words(results: Results, compared: Sequence[ComparedCases], *, one_send_open: bool) -> str:
    """Say what the figure shows: the median of each case."""
    sentences = []
    for comparison in compared:
        axis = _axis(comparison.metric, one_send_open=one_send_open)
        rows = [
            f"{row.name} {axis.text(_median(results, axis, comparison, row))} {axis.label}"
            for row in comparison.rows
        ]
        sentences.append(f"{comparison.title}: {'; '.join(rows)}.")
    return " ".join(sentences)


def _axis(metric: str, *, one_send_open: bool) -> _Axis:
    if metric == _RATE:
        return _Axis("ms a send", inverse=True) if one_send_open else _Axis("acknowledged messages/s")
    if metric == _BYTES:
        return _Axis("acknowledged MB/s", _MB)
    if metric in _OTHER_RATES:
        return _Axis(_OTHER_RATES[metric])
    if metric == OUTAGE:
        return _Axis("longest time without writes, s", 1 / NANOS, outage=True)
    measure, _, point = metric.removesuffix("_ns").partition("_")
    return _Axis(f"{_POINTS.get(point, point)} {_TIMES.get(measure, measure)}, ms", _MS, time=True)


def _scale(results: Results, axis: _Axis, compared: Sequence[ComparedCases]) -> Scale | None:
    return fit_scale(
        value
        for comparison in compared
        for row in comparison.rows
        for value in (
            *axis.of(_trials(results, row)[comparison.metric]).dropna(),
            *chain.from_iterable(_brackets(results, comparison, row)),
        )
    )


def _trials(results: Results, row: CaseRow) -> pd.DataFrame:
    return results.valid[results.valid["case"] == row.case]


def _brackets(results: Results, comparison: ComparedCases, row: CaseRow) -> list[tuple[float, float]]:
    """Return the highest rate that passed and the lowest that failed, of each search for a capacity that has both."""
    if comparison.metric != CAPACITY or results.holds.empty:
        return []
    searches = (results.holds[results.holds["trial"] == trial] for trial in _trials(results, row)["trial"])
    return [ends for search in searches if (ends := _bracket(search))]


def _bracket(search: pd.DataFrame) -> tuple[float, float] | None:
    """Return both ends of a search; None where it has not both. What was held again counts as it was judged last."""
    holds = search.drop_duplicates(["confirms", "rate"], keep="last")
    passed, failed = bracket(
        zip(holds["rate"], holds["verdict"], holds["confirms"].astype(bool), strict=True)
    )
    return None if passed is None or failed is None else (float(passed), float(failed))


def _median(results: Results, axis: _Axis, comparison: ComparedCases, row: CaseRow) -> float:
    return float(axis.of(_middle(results, comparison, row)).iloc[0])


def _middle(results: Results, comparison: ComparedCases, row: CaseRow) -> pd.Series[Any]:
    """Return the middle value of a case, from the table of cases where that has it, else the median of its trials."""
    if comparison.metric in results.cases:
        return results.cases.loc[results.cases["case"] == row.case, comparison.metric]
    return pd.Series([_trials(results, row)[comparison.metric].median()])


def _height(comparison: ComparedCases) -> float:
    return _TITLE_IN + _ROW_IN * len(comparison.rows)


def _comparison(axes: Axes, results: Results, axis: _Axis, comparison: ComparedCases, at: float) -> None:
    """Draw a title and its rows from `at` inches below the top."""
    words_before(
        axes,
        at + 0.6 * _TITLE_IN,
        textwrap.shorten(comparison.title, _TITLE_CHARACTERS, placeholder=" …"),
        color=style.INK,
        fontweight="semibold",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
    )
    for number, row in enumerate(comparison.rows):
        _row(axes, results, axis, (comparison, row), at + _TITLE_IN + (number + 0.5) * _ROW_IN)


def _line_ends(results: Results, axis: _Axis, comparison: ComparedCases, row: CaseRow) -> list[float]:
    """Return the interval of a case, or the range of its trials where there is no interval."""
    if comparison.metric not in results.cases:
        values = axis.of(_trials(results, row)[comparison.metric])
        return [float(values.min()), float(values.max())]
    case = results.cases[results.cases["case"] == row.case]
    has_interval = not pd.isna(case[f"{comparison.metric}_ci_low"].iloc[0])
    names = ("ci_low", "ci_high") if has_interval else ("low", "high")
    return [float(axis.of(case[f"{comparison.metric}_{name}"]).iloc[0]) for name in names]


def _row(axes: Axes, results: Results, axis: _Axis, shown: tuple[ComparedCases, CaseRow], y: float) -> None:
    comparison, row = shown
    look = style.look(row.system)
    words_before(axes, y, row.name, color=look.ink)
    values = axis.of(_trials(results, row)[comparison.metric]).dropna()
    axes.scatter(
        values,
        [y] * len(values),
        s=16,
        marker=look.marker,
        color=look.base,
        linewidth=0,
        alpha=0.55,
        zorder=3,
    )
    for ends_of_start in _brackets(results, comparison, row):
        axes.plot(
            ends_of_start, [y, y], color=look.base, linewidth=5, alpha=0.18, solid_capstyle="butt", zorder=1
        )
    median = _median(results, axis, comparison, row)
    if math.isnan(median):
        side = blended_transform_factory(axes.transAxes, axes.transData)
        axes.text(1.02, y, numbers.NOTHING, transform=side, va="center")
        return
    ends = _line_ends(results, axis, comparison, row)
    axes.plot(ends, [y, y], color=look.base, linewidth=1.0, alpha=0.6, zorder=2)
    left, right = axes.get_xlim()
    for end, marker in ((left, "<"), (right, ">")):
        if ends[0] < left if marker == "<" else ends[1] > right:
            axes.plot([end], [y], marker=marker, color=look.base, markersize=4, clip_on=False, zorder=4)
    axes.plot(
        [median] * 2, [y - 0.075, y + 0.075], color=look.dark, linewidth=2.0, solid_capstyle="butt", zorder=4
    )
    value_behind(axes, y, axis.text(median), _VALUE_IN)
