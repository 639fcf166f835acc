"""The verdicts on all expectations of a run: during its analysis, and again from existing results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bench.analysis import case_tables, tables
from bench.analysis.clusters import clusters
from bench.analysis.folder import RunRecords, read_folder
from bench.analysis.resources.costs import cost_rows
from bench.analysis.statistics.baseline_ratios import half_widths, ratio_rows
from bench.analysis.statistics.steadiness import rounds_apart
from bench.analysis.verdicts.comparisons import Basis
from bench.analysis.verdicts.deciding_rows import MeasuredRows, expectation_rows, never_run
from bench.analysis.verdicts.expectations import judge
from bench.analysis.verdicts.outlook import outlook, seconds_per_round
from bench.statistics.slice_series import slice_series

Row = dict[str, Any]


def judgements(folder: RunRecords, measured_rows: MeasuredRows, looks: int | None = None) -> list[Row]:
    """Judge every expectation of a run, as results/expectations.json has them.

    `looks` is how often the run was evaluated to decide whether to go on, this time included; None: what the manifest
    says.
    """
    missing = never_run(folder)
    basis = None if folder.is_fault_run else _basis(folder, measured_rows, looks)
    return [
        judge(
            expectation,
            [*expectation_rows(expectation, folder.trials, measured_rows), *missing],
            folder.settings,
            basis,
        )
        for expectation in folder.manifest.expectations
    ]


def _basis(folder: RunRecords, measured_rows: MeasuredRows, looks: int | None) -> Basis:
    manifest = folder.manifest
    return Basis(
        clusters(folder.trials),
        manifest.looks if looks is None else looks,
        manifest.smallest_effect,
        slice_series(measured_rows.trials, measured_rows.slices),
    )


def ratios(folder: RunRecords, measured_rows: MeasuredRows) -> list[Row]:
    """Return the rows of the table `ratios`; none for a run in which something was broken."""
    if folder.is_fault_run:
        return []
    slices = slice_series(measured_rows.trials, measured_rows.slices)
    return ratio_rows(measured_rows.trials, folder.manifest.baseline, clusters(folder.trials), slices)


def write(results: Path, folder: RunRecords, measured_rows: MeasuredRows) -> Row | None:
    """Write <results>/expectations.json and the table `ratios`; return what results/summary.json says is undecided.

    None for a run in which something was broken.
    """
    verdicts, baseline_ratios = judgements(folder, measured_rows), ratios(folder, measured_rows)
    tables.write_json(results, "expectations", verdicts)
    tables.write_rows(results, "ratios", baseline_ratios)
    return None if folder.is_fault_run else _undecided_summary(folder, verdicts, baseline_ratios)


def _undecided_summary(folder: RunRecords, verdicts: Sequence[Row], baseline_ratios: Sequence[Row]) -> Row:
    """Return the ids of undecided expectations, the half-widths of ratios, and the minutes still missing."""
    ahead = outlook(
        verdicts,
        baseline_ratios,
        folder.manifest.precision,
        folder.rounds,
        seconds_per_round(folder.trials),
    )
    return {
        "expectations": [identifier for identifier, _ in ahead.undecided],
        "half_widths": half_widths(baseline_ratios),
        "minutes_left": None if ahead.minutes_left is None else round(ahead.minutes_left, 1),
    }


def rederive(run: Path) -> None:
    """Derive anew, by today's rules, what follows from the tables of <run>/results: cases, verdicts, both systems.

    Its event log may be gone. Raises EventLogError for a folder that is no run.
    """
    results, folder = run / "results", read_folder(run)
    names = ("trials", "faults", "errors", "slices", "readings", "transfers")
    measured_rows = MeasuredRows(*(_rows(results / f"{name}.parquet") for name in names))
    undecided = write(results, folder, measured_rows)
    summary = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    off = [] if folder.is_fault_run else rounds_apart(measured_rows.trials)
    fresh = {
        "rounds_apart": off,
        "undecided": undecided,
        "sides": case_tables.both_systems(folder, measured_rows),
    }
    tables.write_json(results, "summary", summary | fresh)
    rows = case_tables.cases(folder, measured_rows.trials)
    tables.write_rows(results, "cases", rows, folder.settings)
    costs = cost_rows(folder.trials, measured_rows.trials, _rows(results / "use.parquet"))
    tables.write_rows(results, "costs", costs)


def _rows(file: Path) -> list[Row]:
    """Return the rows of a table; none of one that older results lack."""
    return pq.read_table(file).to_pylist() if file.exists() else []
