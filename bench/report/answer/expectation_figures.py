"""The figures that a scenario asks for, such as how far a broker is from the mean: findings, and cells of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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

_MOST_FINDINGS, _MOST_COLUMNS = 2, 3


def _column_figures(run: FaultRun) -> list[ExpectationFigure]:
    """Return the figures that the page has columns of."""
    return leading_figures(run.results)[:_MOST_COLUMNS]


def findings(run: FaultRun) -> Iterator[Finding]:
    """State the first figures, from the configuration with the least to the one with the most, system by system."""
    figures = _column_figures(run)[:_MOST_FINDINGS]
    if figures and figures[0].name in TIMES:  # the finding on the reserve has them
        return
    for figure, words in zip(figures, heads(figures), strict=True):
        values = figure.values(run.results)
        systems = [
            {"system": part.title, **_span(figure, medians)}
            for part, outcomes in zip(run.parts, run.outcomes, strict=True)
            if (medians := _medians(outcomes, values))
        ]
        if systems:
            slots = {"figure": words, "systems": systems, "ends": _common_ends(systems)}
            yield Finding(
                sentence("expectation-figure", slots),
                decided=run.has_enough_trials,
                anchor="expectation-figures",
            )


def _common_ends(systems: Sequence[Mapping[str, Any]]) -> str:
    """Name the configurations with the least and the most once, where several systems have the same; else empty."""
    ends = {(span["low_label"], span["high_label"]) for span in systems}
    if len(systems) < 2 or len(ends) > 1 or not all(all(labels) for labels in ends):
        return ""
    ((low, high),) = ends
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def columns(run: FaultRun) -> list[Column]:
    """Return the columns of the table of an answer that have these figures."""
    return [Column(head) for head in heads(_column_figures(run))]


def cells(run: FaultRun, outcome: FaultOutcome) -> list[Cell]:
    """Return the cells of a configuration under these columns; of several together the range of their medians."""
    return [
        _cell(figure, _case_values(outcome, figure.values(run.results))) for figure in _column_figures(run)
    ]


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
