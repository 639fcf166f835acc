"""A run's results for other people's tools: one tidy table, and the OpenMessaging Benchmark's result files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from bench.analysis.contract import recorded
from bench.analysis.exchange import omb, tidy
from bench.analysis.folder import RunFolder, TrialRecord, read_folder
from bench.analysis.log import check_log
from bench.analysis.spark import spark_session
from bench.analysis.window import windows
from bench.errors import AnalysisError

_NAME_MOST = 200
"""File systems take names of 255 bytes."""


def export(run: Path, to: Path) -> list[Path]:
    """Write `to`/tidy.csv, `to`/omb/periods.csv and `to`/omb/<trial>-<case>.json (docs/results.md); return their paths.

    Only valid trials leave as OMB's files, in which none can say that it is not. Raises AnalysisError where the run has
    no results, EventLogError for an event log that is not as described.
    """
    folder = read_folder(run)
    table = run / "results" / "trials.parquet"
    if not table.is_file():
        raise AnalysisError(f"{run} has no results yet: bench report {run}")
    to.mkdir(parents=True, exist_ok=True)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    trials = pq.read_table(table).to_pylist()
    rows = tidy.rows(run.name, manifest, folder.settings, trials)
    pa.csv.write_csv(pa.Table.from_pylist(list(rows)), to / "tidy.csv")
    valid = {row["trial"] for row in trials if row["verdict"] == "valid"}
    return [to / "tidy.csv", *_omb(folder, valid, str(manifest.get("scenario") or ""), to / "omb")]


def _omb(folder: RunFolder, valid: Container[int], workload: str, to: Path) -> list[Path]:
    to.mkdir(exist_ok=True)
    files = check_log(folder)
    with spark_session(files.rows) as spark, files.opened(spark) as log:
        first_ns = {trial: found.first_ns for trial, found in recorded(log.sends).items()}
        made = omb.results(folder.trials, log, windows(spark, folder.trials, first_ns), workload)
    return write([trial for trial in folder.trials if trial.trial in valid], made, to)


def write(trials: Iterable[TrialRecord], made: Mapping[int, Mapping[str, Any]], to: Path) -> list[Path]:
    """Write result objects by trial, and beside them how long their periods are, for which they have no place."""
    lengths = {}
    for trial in trials:
        if trial.window is not None and trial.trial in made:
            name = re.sub(r"[^A-Za-z0-9._=-]+", "-", trial.case.name)[:_NAME_MOST]
            path = to / f"{trial.trial:04d}-{name}.json"
            path.write_text(json.dumps(made[trial.trial], indent=1), encoding="utf-8")
            lengths[path] = omb.periods(trial.window).length_s
    with (to / omb.PERIODS).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [("file", "period_s"), *((path.name, length) for path, length in lengths.items())]
        )
    return [to / omb.PERIODS, *lengths]
