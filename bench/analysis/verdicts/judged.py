"""The verdicts on all that a run's scenario claims: of a run that is analysed, and again of results that are there."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from bench.analysis import tables
from bench.analysis.folder import RunFolder, read_folder
from bench.analysis.verdicts.expectations import judge
from bench.analysis.verdicts.meant import Found, meant


def write(results: Path, folder: RunFolder, found: Found) -> None:
    """Write <results>/expectations.json."""
    judged = [
        judge(expectation, meant(expectation, folder.trials, found), folder.settings)
        for expectation in folder.manifest.expectations
    ]
    tables.write_json(results, "expectations", judged)


def again(run: Path) -> None:
    """Judge by today's rules what a run claimed, by the tables of <run>/results; its event log may be gone.

    Raises EventLogError for a folder that is no run.
    """
    results = run / "results"
    rows = (pq.read_table(results / f"{name}.parquet").to_pylist() for name in ("trials", "faults", "errors"))
    write(results, read_folder(run), Found(*rows))
