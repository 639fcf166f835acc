"""What follows from the rows of `trials` alone, and can be derived again without the event log: cases, both systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.analysis.cases import case_rows
from bench.analysis.clusters import clusters
from bench.analysis.folder import RunRecords
from bench.analysis.statistics.system_comparison import sides
from bench.analysis.verdicts.deciding_rows import MeasuredRows
from bench.statistics.slice_series import slice_series

Row = dict[str, Any]


def cases(folder: RunRecords, trials: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the rows of the table `cases`, in the scenario's order."""
    return sorted(case_rows(folder.trials, trials, folder.settings), key=_place(folder))


def both_systems(folder: RunRecords, measured_rows: MeasuredRows) -> Row | None:
    """Return what results/summary.json says of both systems side by side; None where that is no comparison.

    Where something broke it is none, nor by links that were made narrow, of which each uses its own.
    """
    if folder.is_fault_run or any(trial.links for trial in folder.trials):
        return None
    trials = sorted(measured_rows.trials, key=_place(folder))
    slices = slice_series(trials, measured_rows.slices)
    cases = {trial.case.name: trial.case for trial in folder.trials}
    promises = {name: case.guarantee for name, case in cases.items()}
    copies = {name: case.copies for name, case in cases.items()}
    return sides(trials, folder.plan.swept, promises, copies, clusters(folder.trials), slices)


def _place(folder: RunRecords) -> Callable[[Mapping[str, Any]], int]:
    """Return what tells a row's place by its case, in the scenario's order."""
    places = {case: place for place, case in enumerate(folder.plan.cases)}
    return lambda row: places.get(row["case"], len(places))
