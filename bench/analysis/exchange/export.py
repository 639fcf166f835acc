"""A run's results for other people's tools: one tidy table, and the OpenMessaging Benchmark's result files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from bench.analysis.contract import recorded
from bench.analysis.exchange import omb
from bench.analysis.folder import RunFolder, read_folder
from bench.analysis.log import check_log
from bench.analysis.spark import spark_session
from bench.analysis.window import windows
from bench.errors import AnalysisError
from bench.model import METRICS, SHARES

_UNITS = {"_ns": "ns", "_msgs_per_s": "messages/s", "_bytes_per_s": "bytes/s", "_share": "1", "_cpu": "cores"}


def export(run: Path, to: Path) -> list[Path]:
    """Write `to`/tidy.csv (a row a trial and metric) and `to`/omb/<trial>-<case>.json; return their paths.

    Raises AnalysisError where the run has no results, EventLogError for an event log that is not as described.
    """
    folder = read_folder(run)
    table = run / "results" / "trials.parquet"
    if not table.is_file():
        raise AnalysisError(f"{run} has no results yet: bench report {run}")
    to.mkdir(parents=True, exist_ok=True)
    tidy = to / "tidy.csv"
    pa.csv.write_csv(pa.Table.from_pylist(list(_tidy(folder, pq.read_table(table).to_pylist()))), tidy)
    return [tidy, *_omb(folder, to / "omb")]


def _tidy(folder: RunFolder, rows: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give a row for each figure that is known; settings that a system does not have are empty."""
    manifest = json.loads((folder.path / "manifest.json").read_text(encoding="utf-8"))
    for row in rows:
        head = {
            "run": folder.path.name,
            "scenario": manifest.get("scenario"),
            "profile": manifest.get("profile"),
            **{name: row[name] for name in ("system", "case", *folder.settings, "round", "trial", "verdict")},
        }
        for metric in (*METRICS, *SHARES, "flush_ns", "request_ns"):
            if row.get(metric) is not None:
                yield {**head, "metric": metric, "value": float(row[metric]), "unit": _unit(metric)}


def _unit(metric: str) -> str:
    return next((unit for ending, unit in _UNITS.items() if metric.endswith(ending)), "count")


def _omb(folder: RunFolder, to: Path) -> Iterator[Path]:
    to.mkdir(exist_ok=True)
    files = check_log(folder)
    with spark_session(files.rows) as spark, files.opened(spark) as log:
        first_ns = {trial: found.first_ns for trial, found in recorded(log.sends).items()}
        workload = json.loads((folder.path / "manifest.json").read_text(encoding="utf-8")).get("scenario", "")
        made = omb.results(folder.trials, log, windows(spark, folder.trials, first_ns), str(workload))
    for trial in folder.trials:
        if trial.trial in made:
            path = to / f"{trial.trial:04d}-{re.sub(r'[^A-Za-z0-9._=-]+', '-', trial.case.name)}.json"
            path.write_text(json.dumps(made[trial.trial], indent=1), encoding="utf-8")
            yield path
