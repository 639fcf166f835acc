"""The compact layout of a published run: everything that its report is rendered from, in few bytes.

Files stay where a run folder has them, with five exceptions:

- The trial.json files of all trials are one file, trials.json.xz.
- plan.json, expectations.json and summary.json are compressed (plan.json.xz).
- There are no CSV files.
- Tables that only figures read hold what the figures show: fewer rows, columns and digits.
- Of trials and cases, columns without any value are left out, unless a report cannot do without them.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.columns import ENDS, TABLES
from bench.model import NANOS
from bench.report import results, sweep
from bench.report.figures import curves, disk_usage, resources
from bench.report.presentation import presentation
from bench.report.results import Results

PLAIN = ("manifest.json", "scenario.yaml")
"""Documents that stay uncompressed: people read them first."""
_PACKED = ("plan.json", "results/expectations.json", "results/summary.json")
_STEPS = 240
"""The most steps of time in a panel of the figure of servers and machine."""
_DIGITS = 4
_CURVE_DIGITS = 3
"""Significant digits in tables of figures; on a curve's log scale the third digit is a tenth of a point."""
_MS = 1_000_000
_WIDE = ("trials", "cases")
"""Tables of hundreds of columns, each of which takes bytes however empty it is."""
_UNSEEN = re.compile(r"_(p90|p95|p99_99)_ns")


def copy(run: Path, to: Path) -> None:
    """Copy what a report is rendered from into an empty folder, in the layout of a run folder; `run` may be compact.

    Raises ReportError for a document that is missing or garbled.
    """
    (to / "results").mkdir(parents=True)
    for name in PLAIN:
        shutil.copyfile(run / name, to / name)
    for table in (run / "results").glob("*.parquet"):
        shutil.copyfile(table, to / "results" / table.name)
    for name in _PACKED:
        _write(to / name, results.content(run / name))
    for number, document in results.trial_documents(run).items():
        trial = to / "trials" / f"{number:04d}"
        trial.mkdir(parents=True)
        _write(trial / "trial.json", document)


def compact(run: Path) -> None:
    """Turn a folder that `copy` wrote into the compact layout.

    Raises ReportError where results are missing or garbled, OutdatedError where a table lacks a column.
    """
    run_results = results.read(run)
    for path in sorted((run / "results").glob("*.parquet")):
        reduce = _REDUCED.get(path.stem)
        table = (
            pq.read_table(path)
            if reduce is None
            else pa.Table.from_pandas(reduce(run_results), preserve_index=False)
        )
        path.write_bytes(_parquet(_with_values(table, path.stem) if path.stem in _WIDE else table))
    _pack(run / results.TRIALS, list(results.trial_documents(run).values()))
    for name in _PACKED:
        _pack(run / f"{name}{results.PACKED}", results.content(run / name))
        (run / name).unlink()
    shutil.rmtree(run / "trials")
    for csv in (run / "results").glob("*.csv"):
        csv.unlink()


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")


def _pack(path: Path, content: object) -> None:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(lzma.compress(text.encode("utf-8"), preset=9))


def _with_values(table: pa.Table, name: str) -> pa.Table:
    """Return a table without the columns that are null in every row and that a report can do without.

    A figure's column that stays has its ends beside it, also where there is no interval.
    """
    needed = TABLES[name].required_columns
    columns = {
        column
        for column in table.column_names
        if column in needed or table[column].null_count < table.num_rows
    }
    columns |= {f"{column}_{end}" for column in columns for end in ENDS}
    return table.select([column for column in table.column_names if column in columns])


def _parquet(table: pa.Table) -> bytes:
    """Return the table as a Parquet file, with the encoding of integers that gives the smaller file."""
    bare_table = table.replace_schema_metadata(None)
    integers = [column.name for column in bare_table.schema if pa.types.is_integer(column.type)]
    encodings: tuple[dict[str, str], ...] = ({}, dict.fromkeys(integers, "DELTA_BINARY_PACKED"))
    return min((_encode(bare_table, encoding) for encoding in encodings), key=len)


def _encode(table: pa.Table, encoding: Mapping[str, str]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=19,
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
        column_encoding=encoding or None,
    )
    return bytes(sink.getvalue())


def _percentiles(run_results: Results) -> pd.DataFrame:
    """Return the points of the curves."""
    table = run_results.percentiles
    points = table[curves.is_drawn(table["quantile"]) & table["trial"].isin(run_results.valid["trial"])]
    return points.assign(value_ns=_round_values(points["value_ns"], _CURVE_DIGITS))


def _timeline(run_results: Results) -> pd.DataFrame:
    return run_results.timeline.loc[:, list(TABLES["timeline"].required_columns)]


def _slices(run_results: Results) -> pd.DataFrame:
    names = ("throughput_msgs_per_s", "service_p50_ns", "service_p99_ns", "response_p99_ns")
    start_ns = run_results.slices["start_ns"] // _MS * _MS
    return run_results.slices.assign(
        start_ns=start_ns, **{name: _round_values(run_results.slices[name]) for name in names}
    )


def _telemetry(run_results: Results) -> pd.DataFrame:
    """Return what the figures of servers, machine and bytes on disk show, in at most _STEPS steps of time."""
    drawn_samples = [
        column.samples
        for part in sweep.parts(run_results)
        for column in resources.shown_trials(run_results, part)
    ]
    samples = [table[table["metric"].isin(resources.METRICS)] for table in drawn_samples]
    samples += _disk_samples(run_results)
    if not samples:
        return run_results.telemetry.head(0)
    reduced: pd.DataFrame = pd.concat(map(_step_means, samples), ignore_index=True)
    return reduced


def _disk_samples(run_results: Results) -> list[pd.DataFrame]:
    """Return what the figure of bytes on disk shows, by trial."""
    shown = [disk_usage.shown_trial(run_results, str(case)) for case in run_results.cases["case"]]
    table = run_results.telemetry[run_results.telemetry["metric"] == disk_usage.METRIC]
    return [trial_samples for trial in shown if not (trial_samples := table[table["trial"] == trial]).empty]


def _step_means(samples: pd.DataFrame) -> pd.DataFrame:
    """Return the samples of one trial as means over steps of whole seconds."""
    seconds = samples["at_ns"] // NANOS
    step = max(1, -(-int(seconds.max() + 1) // _STEPS)) if len(samples) else 1
    stepped = samples.assign(at_ns=seconds // step * step * NANOS)
    keys = ["trial", "at_ns", "node", "role", "metric"]
    means = stepped.groupby(keys, as_index=False, sort=True)["value"].mean()
    reduced: pd.DataFrame = means.assign(value=_round_values(means["value"]).astype("float32"))
    return reduced


def _round_values(values: pd.Series[Any], digits: int = _DIGITS) -> pd.Series[Any]:
    """Return numbers with so many significant digits, in their own type; infinite and missing values stay."""
    floats = pd.to_numeric(values).astype("float64")
    nonzero = np.isfinite(floats) & (floats != 0)
    scale = 10.0 ** (digits - 1 - np.floor(np.log10(floats.where(nonzero, 1.0).abs())))
    return ((floats * scale).round() / scale).where(nonzero, floats).astype(values.dtype)


def _cases(run_results: Results) -> pd.DataFrame:
    """Return the cases without the percentiles that no page shows; they follow from `trials`."""
    compared = tuple(comparison.metric for comparison in presentation(run_results.run).comparisons)
    names = map(str, run_results.cases)
    return run_results.cases.loc[
        :, [name for name in names if not _UNSEEN.search(name) or (compared and name.startswith(compared))]
    ]


_REDUCED: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "cases": _cases,
    "percentiles": _percentiles,
    "timeline": _timeline,
    "slices": _slices,
    "telemetry": _telemetry,
}
