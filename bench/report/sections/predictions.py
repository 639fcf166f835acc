"""Capacities as a model predicts them from the other configurations, beside the measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench import numbers
from bench.report import sweep
from bench.report.figures.predictions import errors
from bench.report.results import Results
from bench.report.table import Cell, Column, Row, Table, case_table
from bench.systems.registry import system_title


@dataclass(frozen=True, slots=True)
class PredictionError:
    """By which shares predictions are off, of so many capacities: in the median, and in the worst tenth at least."""

    count: int
    capacities: int
    median: float
    worst_tenth: float


def prediction_errors(table: pd.DataFrame, capacities: pd.DataFrame) -> dict[str, PredictionError]:
    """Return the error of predictions by system, from the tables `predictions` and `capacities`.

    Systems without predictions are not among them.
    """
    return {
        str(system): PredictionError(
            count=len(predictions),
            capacities=int((capacities["system"] == system).sum()),
            median=float(np.median(sizes := errors(predictions).abs())),
            worst_tenth=float(np.quantile(sizes, 0.9, method="higher")),
        )
        for system, predictions in table.groupby("system", sort=False)
    }


def summary(results: Results) -> Table | None:
    """Return a row a system: how many capacities are predicted, from where to where, and how far they are off."""
    rows = [
        Row(
            (
                Cell(system_title(system)),
                Cell(f"{error.count} of {error.capacities}"),
                Cell(_span(results.predictions[results.predictions["system"] == system]["measured"])),
                Cell(numbers.percent(error.median), "strong"),
                Cell(numbers.percent(error.worst_tenth), "strong"),
            )
        )
        for system, error in prediction_errors(results.predictions, results.capacities).items()
    ]
    columns = (
        Column("system", "name"),
        Column("capacities predicted"),
        Column("measured, messages/s"),
        Column("median", group="error"),
        Column("worst tenth", group="error"),
    )
    return Table("Errors of predicted capacities", columns, tuple(rows)) if rows else None


def _span(measured: pd.Series[float]) -> str:
    return f"{numbers.rate(measured.min())} to {numbers.rate(measured.max())}"


def tables(results: Results, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return a table a system with a row a predicted case; none without predictions."""
    by_case = {
        row["case"]: row
        for _, row in results.predictions.assign(error=errors(results.predictions)).iterrows()
    }
    shown = [part.with_cases(by_case) for part in parts]
    columns = (
        Column("measured, messages/s"),
        Column("predicted, messages/s"),
        Column("error"),
        Column("role that limits", "text"),
        Column("CPU it may use"),
    )
    return [
        case_table(part, columns, [_cells(by_case[str(case)]) for case in part.cases["case"]])
        for part in shown
        if len(part.cases)
    ]


def _cells(row: pd.Series[float]) -> list[Cell]:
    return [
        Cell(numbers.rate(row["measured"]), sort=row["measured"]),
        Cell(numbers.rate(row["predicted"]), sort=row["predicted"]),
        Cell(f"{100 * row['error']:+.0f} %", "strong", sort=row["error"]),
        Cell(str(row["role"])),
        Cell(numbers.share(row["cpu_share"]), sort=row["cpu_share"]),
    ]
