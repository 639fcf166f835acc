"""The verdicts on all that a run's scenario claims: of a run that is analysed, and again of results that are there."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from bench.analysis import tables
from bench.analysis.folder import RunFolder, read_folder
from bench.analysis.statistics.steadiness import rounds_apart
from bench.analysis.verdicts.expectations import judge
from bench.analysis.verdicts.meant import Found, meant, never_run


def write(results: Path, folder: RunFolder, found: Found) -> None:
    """Write <results>/expectations.json."""
    missing = never_run(folder)
    judged = [
        judge(expectation, [*meant(expectation, folder.trials, found), *missing], folder.settings)
        for expectation in folder.manifest.expectations
    ]
    tables.write_json(results, "expectations", judged)


def again(run: Path) -> None:
    """Judge by today's rules what a run claimed and which rounds were off, by the tables of <run>/results.

    Its event log may be gone. Raises EventLogError for a folder that is no run.
    """
    results, folder = run / "results", read_folder(run)
    rows = (pq.read_table(results / f"{name}.parquet").to_pylist() for name in ("trials", "faults", "errors"))
    found = Found(*rows)
    write(results, folder, found)
    summary = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    off = [] if folder.broken else rounds_apart(found.trials)
    tables.write_json(results, "summary", summary | {"rounds_apart": off})
