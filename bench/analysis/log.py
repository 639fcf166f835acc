"""The event log as Spark reads it, its columns checked against docs/event-log.md before any job starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.folder import RunRecords
from bench.errors import EventLogError


class LogColumn(NamedTuple):
    """A column of the event log: its Arrow type, its name in Spark's SQL, and whether it may be null.

    `since` is the format that has it first: in files of an older one it is missing, and 0 in every row.
    """

    arrow: Any
    sql: str
    nullable: bool = False
    since: int = 1


_INT = LogColumn(pa.int32(), "int")
_LONG = LogColumn(pa.int64(), "long")
_TEXT = LogColumn(pa.string(), "string")
_REAL = LogColumn(pa.float64(), "double")
_FLAG = LogColumn(pa.bool_(), "boolean")
_SLICE = _INT._replace(since=2)
_POSITION = {
    "ledger": _LONG._replace(nullable=True),
    "entry": _LONG._replace(nullable=True),
    "batch_index": _INT._replace(nullable=True),
}

SENDS: Mapping[str, LogColumn] = {
    "producer": _INT,
    "sequence": _LONG,
    "partition": _INT,
    "due_ns": _LONG,
    "sent_ns": _LONG,
    "done_ns": _LONG._replace(nullable=True),
    "outcome": _TEXT,
    "error": _TEXT._replace(nullable=True),
    "bytes": _INT,
    **_POSITION,
    "slice": _SLICE,
}
RECEIVES: Mapping[str, LogColumn] = {
    "consumer": _INT,
    "stage": _TEXT,
    "partition": _INT,
    "producer": _INT,
    "sequence": _LONG,
    "sent_ns": _LONG,
    "received_ns": _LONG,
    **_POSITION,
}
SAMPLES: Mapping[str, LogColumn] = {
    "at_ns": _LONG,
    "node": _TEXT,
    "role": _TEXT,
    "metric": _TEXT,
    "value": _REAL,
    "counter": _FLAG,
    "slice": _SLICE,
}


_PLACE_IN_LOG = {
    "file": (_TEXT, "_metadata.file_name"),
    "row": (_LONG, "_metadata.row_index"),
}
"""Columns that Spark computes where they are asked for: the file's name, and the row's number in it."""

ByTrial: TypeAlias = Mapping[int, Sequence[Path]]
ByStep: TypeAlias = Mapping[tuple[int, int], Sequence[Path]]
"""Parquet files by trial; and by trial and the place of a step among its own."""


class _Table(NamedTuple):
    """A table of the event log: columns in its files, columns that Spark computes, and what its files are found by."""

    columns: Mapping[str, LogColumn]
    computed: Mapping[str, tuple[LogColumn, str]] = MappingProxyType({})
    keys: Sequence[str] = ("trial",)


@dataclass(frozen=True, slots=True)
class EventLog:
    """All trials' sends, receives, reads and samples, each with its trial's number in the column `trial`.

    Receives have their place in the log besides: `file` and `row`. Reads are what readers and groups of steps received;
    `step` is the place of theirs among the trial's steps. `recorded` are the trials that wrote sends at all.
    """

    sends: DataFrame
    receives: DataFrame
    reads: DataFrame
    samples: DataFrame
    recorded: frozenset[int]


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The Parquet files of a run's event log by trial, checked; `rows` counts sends and receives."""

    run: Path
    sends: ByTrial
    receives: ByTrial
    reads: ByStep
    samples: ByTrial
    rows: int

    @contextmanager
    def open_log(self, spark: SparkSession) -> Iterator[EventLog]:
        """Give the tables to Spark, unread; they can be read until the context ends."""
        with TemporaryDirectory(dir=self.run.resolve(), prefix=".by-trial-") as tree:
            yield EventLog(
                sends=_frame(spark, self.sends, _Table(SENDS), Path(tree) / "sends"),
                receives=_frame(
                    spark, self.receives, _Table(RECEIVES, _PLACE_IN_LOG), Path(tree) / "receives"
                ),
                reads=_frame(
                    spark, self.reads, _Table(RECEIVES, keys=("trial", "step")), Path(tree) / "reads"
                ),
                samples=_frame(spark, self.samples, _Table(SAMPLES), Path(tree) / "telemetry"),
                recorded=frozenset(self.sends),
            )


def check_log(folder: RunRecords) -> LogFiles:
    """Find a run's Parquet files and check their columns, from the footers alone.

    Raises:
        EventLogError: a file cannot be read, or a column is missing, of another type, or null where it must
            not be; the message names file and column.
    """
    sends, receives, samples = map(folder.parts, ("sends", "receives", "telemetry"))
    reads = folder.reads()
    formats = {trial.trial: trial.format for trial in folder.trials}
    rows = _checked_rows(sends, SENDS, formats) + _checked_rows(receives, RECEIVES, formats)
    rows += _checked_rows(reads, RECEIVES, formats)
    _checked_rows(samples, SAMPLES, formats)
    return LogFiles(folder.path, sends, receives, reads, samples, rows)


def _frame(spark: SparkSession, parts: ByTrial | ByStep, table: _Table, tree: Path) -> DataFrame:
    """Read the files as one table, with the columns that Spark computes beside those stored.

    They are linked below `tree` in folders `trial=<n>`. Spark knows such names to be a column: a constant for each
    file. A trial taken from a row's own path would be worked out for each row, in every job.
    """
    columns, computed, keys = table
    schema = ", ".join(f"`{name}` {column.sql}" for name, column in columns.items())
    by = ", ".join(f"{name} int" for name in keys)
    if not parts:
        more = "".join(f", `{name}` {column.sql}" for name, (column, _) in computed.items())
        return spark.createDataFrame([], f"{by}, {schema}{more}")
    for key, paths in parts.items():
        numbers = key if isinstance(key, tuple) else (key,)
        folder = tree.joinpath(*(f"{name}={number}" for name, number in zip(keys, numbers, strict=True)))
        folder.mkdir(parents=True)
        for path in paths:
            (folder / path.name).symlink_to(path.resolve())
    stored = [
        F.coalesce(F.col(name), F.lit(0)).alias(name) if column.since > 1 else F.col(name)
        for name, column in columns.items()
    ]
    added = [F.col(source).alias(name) for name, (_, source) in computed.items()]
    return spark.read.schema(f"{schema}, {by}").parquet(tree.as_uri()).select(*keys, *stored, *added)


def _checked_rows(
    parts: ByTrial | ByStep, columns: Mapping[str, LogColumn], formats: Mapping[int, int]
) -> int:
    return sum(
        _check_file(path, columns, formats[key[0] if isinstance(key, tuple) else key])
        for key, paths in parts.items()
        for path in paths
    )


def _check_file(path: Path, columns: Mapping[str, LogColumn], log_format: int) -> int:
    """Check one file of a log of this format by its footer alone; returns its number of rows."""
    try:
        with pq.ParquetFile(path) as file:
            schema, footer = file.schema_arrow, file.metadata
    except (OSError, pa.ArrowInvalid) as error:
        raise EventLogError(f"reading {path}: it is no whole Parquet file ({error})") from error
    for name, column in columns.items():
        if column.since > log_format and name not in schema.names:
            continue
        _check_type(path, schema, name, column)
        if not column.nullable:
            _check_nulls(path, footer, name)
    return int(footer.num_rows)


def _check_type(path: Path, schema: Any, name: str, column: LogColumn) -> None:  # noqa: ANN401 - pyarrow has no types
    if name not in schema.names:
        raise EventLogError(
            f"reading {path}: column {name} is missing, expected {column.arrow}; "
            f"it has {', '.join(schema.names)} (docs/event-log.md)"
        )
    actual = schema.field(name).type
    if _plain(actual) != column.arrow:
        raise EventLogError(
            f"reading {path}: column {name} is {actual}, expected {column.arrow} (docs/event-log.md)"
        )


def _plain(arrow_type: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Reduce the ways in which Arrow keeps text to one: Parquet stores them alike."""
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return pa.string() if pa.types.is_large_string(arrow_type) else arrow_type


def _check_nulls(path: Path, footer: Any, name: str) -> None:  # noqa: ANN401 - pyarrow has no types
    """Look for nulls in the footer's statistics; a writer that keeps none is taken at its word."""
    index = footer.schema.names.index(name)
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(index).statistics
        if statistics is not None and statistics.has_null_count and statistics.null_count:
            raise EventLogError(
                f"reading {path}: column {name} holds {statistics.null_count} nulls, expected none "
                f"(docs/event-log.md)"
            )
