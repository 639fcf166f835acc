"""Whether promises were kept where something broke: other runs, of the same guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bench import numbers
from bench.report import beside, sweep
from bench.report.beside import Other
from bench.report.results import Results
from bench.report.table import Cell, Column, Row, Table, heading, number_cell


def kept(found: Results, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return a table a system: under each promise of this run's cases, what became of it where something broke.

    From the latest run of each scenario in the same folder; none for a run in which something broke itself.
    """
    others = [] if found.broken else list(beside.broken(found.run.resolve().parent))
    return [table for part in parts if (table := _table(part, others)).rows]


def _table(part: sweep.Part, others: Sequence[Other]) -> Table:
    columns = (
        Column("scenario", "text"),
        Column("configuration", "name"),
        Column("valid / all", "number", "trials"),
        Column("acknowledged", "number", "messages"),
        Column("lost", "number", "messages"),
    )
    rows: list[Row] = []
    for promise in dict.fromkeys(part.cases["guarantee"].dropna()):
        tried = [row for other in others for row in _rows(part.system, str(promise), other)]
        if tried:
            rows += [heading(numbers.sentence(str(promise)), opens=bool(rows)), *tried]
    return Table(part.title, columns, tuple(rows), part.system)


def _rows(system: str, promise: str, other: Other) -> list[Row]:
    cases = other.cases
    same = cases[(cases["system"] == system) & (cases["guarantee"] == promise)]
    return [_row(case, other) for _, case in same.iterrows()]


def _row(case: pd.Series[Any], other: Other) -> Row:
    name = str(case["case"]).removeprefix(str(case["system"])).strip()
    link = (("report", f"../{other.path.name}/report.html"),)
    return Row(
        (
            Cell(f"{other.manifest.get('title')} ({other.manifest.get('profile')})", links=link),
            Cell(name or numbers.NOTHING),
            Cell(f"{case['rounds']} / {case['trials']}"),
            number_cell(case["acked"]),
            number_cell(case["lost"], tone="bad"),
        )
    )
