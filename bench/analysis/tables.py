"""The tables of results/, with the columns that bench/columns declares, as Parquet and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from bench.columns import TABLES, Kind
from bench.errors import AnalysisError
from bench.systems.registry import WORKING_ROLES

_Fields = dict[str, Any]


def fields(name: str, settings: Sequence[str] = ()) -> _Fields:
    """Return Arrow's type of each column of a table, in order; `settings` are those that the run swept.

    Raises AnalysisError where a setting has the name of another column.
    """
    declared = TABLES[name]
    more = _more(name, settings)
    clashes = sorted({*more} & {column.name for column in declared.columns})
    if clashes:
        raise AnalysisError(
            f"laying out the results: the swept setting {clashes[0]!r} has the name of another column; "
            f"name it with its owner in plan.json and trial.json (topic.{clashes[0]})"
        )
    columns: _Fields = {}
    for column in declared.columns:
        columns[column.name] = _arrow(column.kind)
        columns |= more if column.name == declared.more_after else {}
    return columns


def _more(name: str, settings: Sequence[str]) -> _Fields:
    """Return the columns that depend on the run."""
    if name == "holds":
        return {f"{role}_cpu_share": _arrow(Kind.REAL) for role in WORKING_ROLES}
    return dict.fromkeys(settings, _arrow(Kind.TEXT))


def _arrow(kind: Kind) -> Any:  # noqa: ANN401 - pyarrow has no types
    return pa.type_for_alias(kind.value)


def frame(name: str, spark_frame: DataFrame | None) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Bring a small Spark table here; an empty one where there is none."""
    schema = pa.schema(list(fields(name).items()))
    return (
        schema.empty_table()
        if spark_frame is None
        else spark_frame.toArrow().select(schema.names).cast(schema)
    )


def write_rows(
    folder: Path, name: str, rows: Iterable[Mapping[str, object]], settings: Sequence[str] = ()
) -> None:
    """Write a table; what a row lacks is null."""
    listed = list(rows)
    columns = fields(name, settings).items()
    write_table(
        folder,
        name,
        pa.table({column: pa.array([row.get(column) for row in listed], kind) for column, kind in columns}),
    )


def write_table(folder: Path, name: str, content: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    pq.write_table(content, folder / f"{name}.parquet", compression="zstd")
    pa.csv.write_csv(content, folder / f"{name}.csv")


def write_json(folder: Path, name: str, content: object) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False)
    folder.joinpath(f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
