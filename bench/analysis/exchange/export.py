"""Results for other tools: one tidy table, and the OpenMessaging Benchmark's result files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from bench.analysis.exchange import omb, tidy_table
from bench.analysis.folder import RunRecords, read_folder
from bench.analysis.log import check_log
from bench.analysis.log_validation import check_sends
from bench.analysis.spark import spark_session
from bench.analysis.window import windows
from bench.errors import AnalysisError
from bench.records.trial import TrialRecord

_TABLE, _RESULTS = "tidy.csv", "omb"
_EXPORT_FILES = re.compile(rf"{_TABLE}|{_RESULTS}/({omb.PERIODS}|\d{{4,}}-[^/]*\.json)")
"""The files of an export, by their paths."""
_UNKNOWN = "an unknown run"
_NAME_MOST = 200
"""File systems take names of 255 bytes."""


def export(run: Path, to: Path) -> list[Path]:
    """Write `to`/tidy.csv, `to`/omb/periods.csv and `to`/omb/<trial>-<case>.json (docs/results.md); return their paths.

    What an earlier export of this run left there is removed first, as its trials may be others now. Only valid trials
    leave as OMB's files, in which none can say that it is not. Raises AnalysisError where the run has no results, or
    `to` holds anything but an export of it, EventLogError for an event log that is not as described.
    """
    folder = read_folder(run)
    table = run / "results" / "trials.parquet"
    if not table.is_file():
        raise AnalysisError(f"{run} has no results yet: bench report {run}")
    earlier = _earlier(to, run.name)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    trials = pq.read_table(table).to_pylist()
    rows = tidy_table.rows(run.name, manifest, folder.settings, trials)
    made = _results(folder, str(manifest.get("scenario") or ""))
    for path in earlier:
        path.unlink()
    (to / _RESULTS).mkdir(parents=True, exist_ok=True)
    pa.csv.write_csv(pa.Table.from_pylist(list(rows)), to / _TABLE)
    valid = {row["trial"] for row in trials if row["verdict"] == "valid"}
    return [
        to / _TABLE,
        *write([trial for trial in folder.trials if trial.trial in valid], made, to / _RESULTS),
    ]


def _earlier(to: Path, run: str) -> list[Path]:
    """Return the files of an earlier export of the same run. Raises AnalysisError where there is anything else."""
    files = [*(to / _RESULTS).glob("*"), *(path for path in to.glob("*") if path.name != _RESULTS)]
    foreign = [path.name for path in files if not _EXPORT_FILES.fullmatch(path.relative_to(to).as_posix())]
    whose = _runs(to / _TABLE)
    if foreign or (files and whose != {run}):
        content = foreign[0] if foreign else f"the export of {', '.join(sorted(whose)) or _UNKNOWN}"
        raise AnalysisError(
            f"exporting {run}: {to} holds {content}; give another folder (--to), or take away what is in this one"
        )
    return files


def _runs(file: Path) -> set[str]:
    """Read of which runs a tidy table is; of none where there is no table."""
    if not file.is_file():
        return set()
    with file.open(encoding="utf-8", errors="replace", newline="") as opened:
        return {row.get("run") or _UNKNOWN for row in csv.DictReader(opened)}


def _results(folder: RunRecords, workload: str) -> Mapping[int, Mapping[str, Any]]:
    files = check_log(folder)
    with spark_session(files.rows) as spark, files.open_log(spark) as log:
        first_ns = {
            trial: checked.first_ns for trial, checked in check_sends(log.sends, folder.trials).items()
        }
        return omb.results(folder.trials, log, windows(spark, folder.trials, first_ns), workload)


def write(trials: Iterable[TrialRecord], made: Mapping[int, Mapping[str, Any]], to: Path) -> list[Path]:
    """Write result objects by trial, and beside them how long their periods are, for which they have no place."""
    lengths = {}
    for trial in trials:
        if trial.trial in made:
            name = re.sub(r"[^A-Za-z0-9._=-]+", "-", trial.case.name)[:_NAME_MOST]
            path = to / f"{trial.trial:04d}-{name}.json"
            path.write_text(json.dumps(made[trial.trial], indent=1), encoding="utf-8")
            lengths[path] = omb.periods(trial).length_s
    with (to / omb.PERIODS).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [("file", "period_s"), *((path.name, length) for path, length in lengths.items())]
        )
    return [to / omb.PERIODS, *lengths]
