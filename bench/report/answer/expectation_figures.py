"""The figures that a scenario asks for, such as how far a broker is from the mean: findings, and cells of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pandas as pd

from bench import numbers
from bench.report.answer.fault_findings import FaultRun
from bench.report.answer.model import Finding
from bench.report.answer.reserve import TIMES
from bench.report.answer.sentences import sentence
from bench.report.expectation_figures import ExpectationFigure, heads, leading_figures
from bench.report.sections.expectation_figures import cell
from bench.report.sections.fault_outcome import FaultOutcome
from bench.report.table import Cell, Column

_MOST_FINDINGS, _MOST_COLUMNS = 3, 4
Figures: TypeAlias = tuple[ExpectationFigure, ...]
"""Figures with the same words, which share a column or a sentence."""


def _joined_figures(run: FaultRun) -> list[Figures]:
    """Return the figures in the order in which expectations speak of them, those that can share a column together.

    They have the same words, and each system has one of them.
    """
    joined: list[list[ExpectationFigure]] = []
    for figure in leading_figures(run.results):
        systems = _systems(run, [figure])
        shared = (
            figures
            for figures in joined
            if figures[0].metric.words == figure.metric.words and not systems & _systems(run, figures)
        )
        if (figures := next(shared, None)) is not None:
            figures.append(figure)
        else:
            joined.append([figure])
    return [tuple(figures) for figures in joined]


def _systems(run: FaultRun, figures: Sequence[ExpectationFigure]) -> set[str]:
    """Return the systems that have a value of any of these figures."""
    values = [figure.values(run.results) for figure in figures]
    return {
        outcome.system
        for outcome in run.case_outcomes
        if any(_case_values(outcome, case_values) for case_values in values)
    }


def findings(run: FaultRun) -> Iterator[Finding]:
    """State the first figures, from the configuration with the least to the one with the most, system by system.

    Where systems have one configuration each, the steps of which a figure is told stand in one sentence.
    """
    joined = _joined_figures(run)
    if joined and joined[0][0].name in TIMES:  # the finding on the reserve has them
        return
    if all(len(outcomes) == 1 for outcomes in run.outcomes):
        stated = _by_words(joined)
    else:
        stated = list(zip(_heads(joined), joined, strict=True))
    for words, figures in stated[:_MOST_FINDINGS]:
        systems = list(_spans(run, figures))
        if systems:
            slots = {"figure": words, "systems": systems, "ends": _common_ends(systems)}
            yield Finding(
                sentence("expectation-figure", slots),
                decided=run.has_enough_trials,
                anchor="expectation-figures",
            )


def _by_words(joined: Sequence[Figures]) -> list[tuple[str, Figures]]:
    """Return all figures with the same words together."""
    by_words: dict[str, Figures] = {}
    for figures in joined:
        words = figures[0].metric.words
        by_words[words] = (*by_words.get(words, ()), *figures)
    return list(by_words.items())


def _spans(run: FaultRun, figures: Sequence[ExpectationFigure]) -> Iterator[dict[str, Any]]:
    """Give the least and the most of each system, by step where it has several of them."""
    for part, outcomes in zip(run.parts, run.outcomes, strict=True):
        medians = {figure: _medians(outcomes, figure.values(run.results)) for figure in figures}
        measured = [figure for figure in figures if medians[figure]]
        for figure in measured:
            step = figure.step if len(measured) > 1 else ""
            yield {"system": part.title, "step": step, **_span(figure, medians[figure])}


def _common_ends(systems: Sequence[Mapping[str, Any]]) -> str:
    """Name the configurations with the least and the most once, where several systems have the same; else empty."""
    ends = {(span["low_label"], span["high_label"]) for span in systems}
    if len(systems) < 2 or len(ends) > 1 or not all(all(labels) for labels in ends):
        return ""
    ((low, high),) = ends
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def column_figures(run: FaultRun) -> list[Figures]:
    """Return the figures of each column that the table of an answer has of them."""
    return _joined_figures(run)[:_MOST_COLUMNS]


def columns(figures_by_column: Sequence[Figures]) -> list[Column]:
    """Return the columns of these figures."""
    return [Column(head) for head in _heads(figures_by_column)]


def _heads(joined: Sequence[Figures]) -> list[str]:
    return heads([figures[0] for figures in joined])


def cells(run: FaultRun, figures_by_column: Sequence[Figures], outcome: FaultOutcome) -> list[Cell]:
    """Return the cells of a configuration under these columns; of several together the range of their medians."""
    row_cells = []
    for figures in figures_by_column:
        by_figure = {figure: _case_values(outcome, figure.values(run.results)) for figure in figures}
        figure = next((figure for figure in figures if by_figure[figure]), figures[0])
        row_cells.append(_cell(figure, by_figure[figure]))
    return row_cells


def _cell(figure: ExpectationFigure, case_values: Sequence[Sequence[float]]) -> Cell:
    if len(case_values) == 1:
        return cell(figure, case_values[0])
    medians = [float(pd.Series(values).median()) for values in case_values]
    ends = dict.fromkeys(figure.metric.written(pick(medians)) for pick in (min, max) if medians)
    return Cell(" to ".join(ends) or numbers.NOTHING, sort=min(medians, default=None))


def _case_values(outcome: FaultOutcome, values: Mapping[str, Sequence[float]]) -> list[Sequence[float]]:
    """Return the values of each case of an outcome that has any."""
    return [values[case] for case in outcome.cases if case in values]


def _medians(outcomes: Sequence[FaultOutcome], values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each configuration that has the figure, by its label."""
    return {
        outcome.label: float(pd.Series(case_values[0]).median())
        for outcome in outcomes
        if (case_values := _case_values(outcome, values))
    }


def _span(figure: ExpectationFigure, medians: dict[str, float]) -> dict[str, Any]:
    """Name the least and the most; only the least where both read alike."""
    (low_label, low), (high_label, high) = (
        pick(medians.items(), key=lambda pair: pair[1]) for pick in (min, max)
    )
    low_text, high_text = figure.metric.written(low), figure.metric.written(high)
    if low_text == high_text:
        return {"low": low_text, "low_label": "", "high": "", "high_label": ""}
    return {"low": low_text, "low_label": low_label, "high": high_text, "high_label": high_label}
