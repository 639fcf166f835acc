"""A run as it is published: all that its report is made of, in few bytes.

Documents and results of a run folder stay where they are but for this: the trial.json of all trials are one file
(trials.json.xz), large documents are compressed (plan.json.xz), there is no CSV, and tables that only figures read have
what the figures show.
"""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.model import NANOS
from bench.report import results, sweep
from bench.report.figures import curves, resources
from bench.report.results import Results

PLAIN = ("manifest.json", "scenario.yaml")
"""What is read first, and stays as it is."""
_PACKED = ("plan.json", "results/expectations.json", "results/summary.json")
_STEPS = 240
"""As many steps of time at most does a panel of the figure over servers and machine show."""
_DIGITS = 4
_CURVE_DIGITS = 3
"""Significant digits of what only figures show; on a curve's log scale the third one is a tenth of a point."""
_MS = 1_000_000


def copy(run: Path, to: Path) -> None:
    """Copy what a report is made of into an empty folder, as a run folder has it; `run` may be compact.

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
    """Make a run folder compact, which `copy` made.

    Raises ReportError where results are missing or garbled, OutdatedError where a table lacks a column.
    """
    found = results.read(run)
    for path in sorted((run / "results").glob("*.parquet")):
        thin = _THIN.get(path.stem)
        table = (
            pq.read_table(path) if thin is None else pa.Table.from_pandas(thin(found), preserve_index=False)
        )
        path.write_bytes(_parquet(table))
    _pack(run / results.TRIALS, list(found.trial_files.values()))
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


def _parquet(table: pa.Table) -> bytes:
    """The table as a Parquet file, by the encoding of integers that is the shorter one."""
    plain = table.replace_schema_metadata(None)
    integers = [column.name for column in plain.schema if pa.types.is_integer(column.type)]
    encodings: tuple[dict[str, str], ...] = ({}, dict.fromkeys(integers, "DELTA_BINARY_PACKED"))
    return min((_encoded(plain, encoding) for encoding in encodings), key=len)


def _encoded(table: pa.Table, encoding: Mapping[str, str]) -> bytes:
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


def _percentiles(found: Results) -> pd.DataFrame:
    """The points that curves are drawn through."""
    table = found.percentiles
    drawn = table[curves.is_drawn(table["quantile"]) & table["trial"].isin(found.valid["trial"])]
    return drawn.assign(value_ns=_rounded(drawn["value_ns"], _CURVE_DIGITS))


def _timeline(found: Results) -> pd.DataFrame:
    return found.timeline.loc[:, list(results.columns("timeline"))]


def _slices(found: Results) -> pd.DataFrame:
    names = ("throughput_msgs_per_s", "service_p50_ns", "service_p99_ns", "response_p99_ns")
    start_ns = found.slices["start_ns"] // _MS * _MS
    return found.slices.assign(start_ns=start_ns, **{name: _rounded(found.slices[name]) for name in names})


def _telemetry(found: Results) -> pd.DataFrame:
    """What the figure over servers and machine shows, in so many steps of time as it can."""
    drawn = [column.samples for part in sweep.parts(found) for column in resources.drawn(found, part)]
    samples = [table[table["metric"].isin(resources.METRICS)] for table in drawn]
    if not samples:
        return found.telemetry.head(0)
    thin: pd.DataFrame = pd.concat(map(_stepped, samples), ignore_index=True)
    return thin


def _stepped(samples: pd.DataFrame) -> pd.DataFrame:
    """Samples of one trial as means over steps of whole seconds."""
    seconds = samples["at_ns"] // NANOS
    step = max(1, -(-int(seconds.max() + 1) // _STEPS)) if len(samples) else 1
    stepped = samples.assign(at_ns=seconds // step * step * NANOS)
    keys = ["trial", "at_ns", "node", "role", "metric"]
    means = stepped.groupby(keys, as_index=False, sort=True)["value"].mean()
    thin: pd.DataFrame = means.assign(value=_rounded(means["value"]).astype("float32"))
    return thin


def _rounded(values: pd.Series[Any], digits: int = _DIGITS) -> pd.Series[Any]:
    """Numbers to so many significant digits, in the type that they have; infinite and missing ones stay."""
    exact = pd.to_numeric(values).astype("float64")
    usual = np.isfinite(exact) & (exact != 0)
    scale = 10.0 ** (digits - 1 - np.floor(np.log10(exact.where(usual, 1.0).abs())))
    return ((exact * scale).round() / scale).where(usual, exact).astype(values.dtype)


_THIN: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "percentiles": _percentiles,
    "timeline": _timeline,
    "slices": _slices,
    "telemetry": _telemetry,
}
