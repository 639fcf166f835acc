"""What an ack was worth under faults, a line a configuration: the cells of the first page and of a family's page."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bench.report import numbers, sweep
from bench.report.results import Results
from bench.report.table import Cell, Column, Row, Table

_COUNTS = (("lost", "bad"), ("duplicates", "warn"), ("out_of_order", "warn"))
_BASE = {
    "kafka": (("producer", "acks"), ("topic", "replicas"), ("topic", "min.insync.replicas")),
    "pulsar": (("topic", "quorums"),),
}
"""What names a configuration, also where the scenario does not sweep it."""
_JAVA_NEVER = "9223372036854775807"
HEADS = ("configuration", "trials", "lost", "twice", "disordered", "no ack, s", "none read, s")


def tables(found: Results) -> list[Table]:
    """Return a table a system; none where nothing broke."""
    return [] if found.faults.empty else [_table(found, part) for part in sweep.parts(found)]


def _table(found: Results, part: sweep.Part) -> Table:
    columns = (Column(HEADS[0], "name"), *map(Column, HEADS[1:]))
    rows = tuple(Row(cells) for cells in lines(found, part))
    return Table(part.title, columns, rows, part.system)


def lines(found: Results, part: sweep.Part) -> list[tuple[Cell, ...]]:
    """Return the cells under HEADS of each configuration; a span is the least and the most of its valid trials."""
    return [_line(found, part, case) for _, case in part.cases.iterrows()]


def _line(found: Results, part: sweep.Part, case: pd.Series[Any]) -> tuple[Cell, ...]:
    trials = part.trials[part.trials["case"] == case["case"]]
    valid = trials[trials["verdict"] == "valid"]
    counted = Cell(f"{len(valid)}/{len(trials)}", "plain" if len(valid) == len(trials) else "warn")
    cells = [Cell(_label(found, part, case, trials), "plain"), counted]
    cells += [_count(valid[name], tone) for name, tone in _COUNTS]
    if "unread" in valid.columns and valid["unread"].any():
        lost = "" if cells[2].text in {"0", numbers.NOTHING} else f"{cells[2].text}, "
        cells[2] = Cell(f"{lost}{_span(valid['unread'], numbers.count)} unread", "bad")
    for gaps in (valid["unavailable_ns"], _unread_ns(found, valid)):
        cells.append(Cell(_span(gaps.dropna() / 1e9, "{:.1f}".format), "plain"))
    return tuple(cells)


def _unread_ns(found: Results, valid: pd.DataFrame) -> pd.Series[Any]:
    """Return for how long nothing came to a live consumer after a fault, or to the reader of a step, the longest."""
    live = valid["trial"].map(found.faults.groupby("trial")["live_gap_ns"].max())
    return pd.DataFrame({"live": live, "reader": valid["reader_stall_ns"]}).astype(float).max(axis=1)


def _label(found: Results, part: sweep.Part, case: pd.Series[Any], trials: pd.DataFrame) -> str:
    swept = dict(zip(part.settings, part.values(case), strict=True))
    document = found.trial_files.get(int(trials["trial"].iloc[0]), {}) if len(trials) else {}
    configuration = document.get("case", {}).get("configuration", {})
    base = {name: configuration.get(room, {}).get(name) for room, name in _BASE.get(part.system, ())}
    unswept = {name: str(value) for name, value in base.items() if value is not None and name not in swept}
    return ", ".join(_said(name, value) for name, value in (unswept | swept).items()) or part.title


def _said(name: str, value: str) -> str:
    if name == "quorums":
        return value
    return f"{name}={'never' if value == _JAVA_NEVER else value}"


def _count(values: pd.Series[Any], tone: str) -> Cell:
    known = values.dropna()
    return Cell(_span(known, numbers.count), tone if known.any() else "quiet")


def _span(values: pd.Series[Any], word: Any) -> str:  # noqa: ANN401 - a format
    """Say the least and the most over the trials; one of them where they are alike."""
    if values.empty:
        return numbers.NOTHING
    low, high = word(values.min()), word(values.max())
    return low if low == high else f"{low} to {high}"
