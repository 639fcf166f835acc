"""The event log as Spark reads it, its columns checked against docs/event-log.md before any job starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.folder import RunFolder
from bench.errors import EventLogError


class Column(NamedTuple):
    """A column of the event log: its Arrow type, its name in Spark's SQL, and whether it may be null."""

    arrow: Any
    sql: str
    nullable: bool = False


_INT = Column(pa.int32(), "int")
_LONG = Column(pa.int64(), "long")
_TEXT = Column(pa.string(), "string")
_REAL = Column(pa.float64(), "double")
_FLAG = Column(pa.bool_(), "boolean")
_POSITION = {
    "ledger": _LONG._replace(nullable=True),
    "entry": _LONG._replace(nullable=True),
    "batch_index": _INT._replace(nullable=True),
}

SENDS: Mapping[str, Column] = {
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
}
RECEIVES: Mapping[str, Column] = {
    "consumer": _INT,
    "stage": _TEXT,
    "partition": _INT,
    "producer": _INT,
    "sequence": _LONG,
    "sent_ns": _LONG,
    "received_ns": _LONG,
    **_POSITION,
}
SAMPLES: Mapping[str, Column] = {
    "at_ns": _LONG,
    "node": _TEXT,
    "role": _TEXT,
    "metric": _TEXT,
    "value": _REAL,
    "counter": _FLAG,
}


@dataclass(frozen=True, slots=True)
class EventLog:
    """All trials' sends, receives and samples, each with its trial's number in the column `trial`.

    `recorded` are the trials that wrote sends at all.
    """

    sends: DataFrame
    receives: DataFrame
    samples: DataFrame
    recorded: frozenset[int]


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The Parquet files of an event log, checked; `rows` counts sends and receives."""

    sends: Sequence[Path]
    receives: Sequence[Path]
    samples: Sequence[Path]
    recorded: frozenset[int]
    rows: int

    def open(self, spark: SparkSession) -> EventLog:
        """Give the tables to Spark, unread."""
        return EventLog(
            sends=_frame(spark, self.sends, SENDS),
            receives=_frame(spark, self.receives, RECEIVES),
            samples=_frame(spark, self.samples, SAMPLES),
            recorded=self.recorded,
        )


def check_log(folder: RunFolder) -> LogFiles:
    """Find a run's Parquet files and check their columns, from the footers alone.

    Raises:
        EventLogError: a file cannot be read, or a column is missing, of another type, or null where it must
            not be; the message names file and column.
    """
    sends = folder.parts("sends")
    send_files, receive_files, sample_files = (
        [path for paths in parts.values() for path in paths]
        for parts in (sends, folder.parts("receives"), folder.parts("telemetry"))
    )
    rows = _checked_rows(send_files, SENDS) + _checked_rows(receive_files, RECEIVES)
    _checked_rows(sample_files, SAMPLES)
    return LogFiles(send_files, receive_files, sample_files, frozenset(sends), rows)


def _frame(spark: SparkSession, files: Iterable[Path], columns: Mapping[str, Column]) -> DataFrame:
    """Read the files as one table; the trial is the folder two levels above a file."""
    schema = ", ".join(f"`{name}` {column.sql}" for name, column in columns.items())
    paths = [f"file:{path.resolve()}" for path in files]
    if not paths:
        return spark.createDataFrame([], f"trial int, {schema}")
    folder = F.substring_index(F.substring_index(F.col("_metadata.file_path"), "/", -3), "/", 1)
    return spark.read.schema(schema).parquet(*paths).select(folder.cast("int").alias("trial"), "*")


def _checked_rows(files: Iterable[Path], columns: Mapping[str, Column]) -> int:
    return sum(_checked(path, columns) for path in files)


def _checked(path: Path, columns: Mapping[str, Column]) -> int:
    """Check one file by its footer alone; returns its number of rows."""
    try:
        with pq.ParquetFile(path) as file:
            schema, footer = file.schema_arrow, file.metadata
    except (OSError, pa.ArrowInvalid) as error:
        raise EventLogError(f"reading {path}: it is no whole Parquet file ({error})") from error
    for name, column in columns.items():
        _check_type(path, schema, name, column)
        if not column.nullable:
            _check_nulls(path, footer, name)
    return int(footer.num_rows)


def _check_type(path: Path, schema: Any, name: str, column: Column) -> None:  # noqa: ANN401 - pyarrow has no types
    if name not in schema.names:
        raise EventLogError(
            f"reading {path}: column {name} is missing, expected {column.arrow}; "
            f"it has {', '.join(schema.names)} (docs/event-log.md)"
        )
    found = schema.field(name).type
    if _plain(found) != column.arrow:
        raise EventLogError(
            f"reading {path}: column {name} is {found}, expected {column.arrow} (docs/event-log.md)"
        )


def _plain(found: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Reduce the ways in which Arrow keeps text to one: Parquet stores them alike."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    return pa.string() if pa.types.is_large_string(found) else found


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
