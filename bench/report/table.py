"""A table as the templates draw it: columns under group heads, cells that know how they are to look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress, groupby
from typing import Any

import pandas as pd

from bench import numbers
from bench.report import sweep


@dataclass(frozen=True, slots=True)
class Column:
    """A column's head; neighbours of equal `group` share a head above.

    `kind` is text, number, name, values (of settings, with their names; broken only between two of them), or links,
    which are for the screen only.
    """

    head: str
    kind: str = "number"
    group: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell. `tone`: plain, strong, quiet, good, warn, bad; `note` shows on pointing.

    `links` are words that lead somewhere, behind the text. `sort` is by what the column sorts where the text is no
    number: of a span the low end.
    """

    text: str
    tone: str = "plain"
    note: str = ""
    links: tuple[tuple[str, str], ...] = ()
    sort: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Cells by column; `opens` draws a line above, where a group begins; a `heading` is one wide cell.

    `find` are the words by which a reader finds the row on the screen.
    """

    cells: tuple[Cell, ...]
    opens: bool = False
    heading: bool = False
    find: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """One table. `system` gives it its colour; None for tables over all systems."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    system: str | None = None

    @property
    def finds(self) -> bool:
        """Whether its rows can be sorted, and found by words."""
        return any(row.find for row in self.rows)

    @property
    def groups(self) -> list[tuple[str, int, str]]:
        """The heads above the columns' heads, each with its width and kind; empty where none has one."""
        spans = [
            (name, len(group_columns := list(columns)), group_columns[0].kind)
            for name, columns in groupby(self.columns, key=lambda column: column.group)
        ]
        return spans if any(name for name, *_ in spans) else []


def heading(text: str, *, opens: bool) -> Row:
    """One wide cell above the rows of a group; `opens` where it is not the first."""
    return Row((Cell(text, "strong"),), opens=opens, heading=True)


def without_empty(table: Table) -> Table:
    """The table without columns in which no cell says anything."""
    has_text = [
        any(row.cells[place].text != numbers.NOTHING for row in table.rows if not row.heading)
        for place in range(len(table.columns))
    ]
    columns = tuple(compress(table.columns, has_text))
    rows = tuple(
        row if row.heading else replace(row, cells=tuple(compress(row.cells, has_text))) for row in table.rows
    )
    return Table(table.title, columns, rows, table.system)


def setting_columns(part: sweep.Part) -> tuple[Column, ...]:
    """The columns of a system's swept settings, or one with its name where nothing is swept."""
    return tuple(Column(name, "name") for name in part.settings) or (Column("case", "name"),)


def setting_cells(
    part: sweep.Part, case: pd.Series[Any], previous_case: pd.Series[Any] | None
) -> tuple[Cell, ...]:
    """A case's settings; those that only repeat the row above are quiet."""
    values = part.values(case) or (part.title,)
    above = part.values(previous_case) if previous_case is not None else ()
    cells, repeats = [], bool(above)
    for index, value in enumerate(values):
        repeats = repeats and above[index] == value
        cells.append(Cell(value, "quiet" if repeats and index < len(values) - 1 else "plain"))
    return tuple(cells)


def opens(part: sweep.Part, case: pd.Series[Any], previous_case: pd.Series[Any] | None) -> bool:
    """Whether the first of several settings changes here."""
    return (
        previous_case is not None
        and len(part.settings) > 1
        and part.values(previous_case)[0] != part.values(case)[0]
    )


def case_table(part: sweep.Part, columns: Sequence[Column], cells: Sequence[Sequence[Cell]]) -> Table:
    """A table with a row for each case of a system: its settings, then `cells`."""
    rows, previous_case = [], None
    for (_, case), case_cells in zip(part.cases.iterrows(), cells, strict=True):
        find = f"{part.system} {part.label(case)} {case['bottleneck']}"
        rows.append(
            Row(
                (*setting_cells(part, case, previous_case), *case_cells),
                opens(part, case, previous_case),
                find=find,
            )
        )
        previous_case = case
    return Table(part.title, (*setting_columns(part), *columns), tuple(rows), part.system)


def trial_table(
    title: str,
    parts: Sequence[sweep.Part],
    trials: pd.DataFrame,
    columns: Sequence[Column],
    cells: Callable[[pd.Series[Any]], Sequence[Cell]],
) -> Table:
    """A table with a row for each trial: number, round, system and case, then `cells` of it."""
    labels = {case["case"]: part.label(case) for part in parts for _, case in part.cases.iterrows()}
    head = (Column("trial"), Column("round"), Column("system", "name"), Column("case", "name"))
    rows = []
    for _, trial in trials.iterrows():
        places = (str(trial["trial"]), str(int(trial["round"]) + 1), str(trial["system"]))
        case = labels.get(trial["case"], str(trial["case"]))
        rows.append(Row((*map(Cell, places), Cell(case), *cells(trial))))
    return Table(title, (*head, *columns), tuple(rows))


def known_lost(case: pd.Series[Any]) -> float:
    """How many messages of a case are known to be lost: where some of its trials cannot tell, by the others."""
    loss_counts = (case["lost"], case.get("lost_at_least"))
    return next(
        (float(count) for count in loss_counts if count is not None and not numbers.absent(count)), 0.0
    )


def lost_cell(case: pd.Series[Any], *, tone: str = "bad") -> Cell:
    """How many messages of a case were lost; where some of its trials cannot tell, at least how many."""
    lost, least_lost = case["lost"], known_lost(case)
    if not numbers.absent(lost) or not least_lost:
        return number_cell(lost, tone=tone)
    return Cell(f"at least {numbers.count(least_lost)}", tone, sort=least_lost)


def fate_cell(case: pd.Series[Any]) -> Cell:
    """How many messages of a case were lost, and how many were not read where a read stopped short."""
    lost, unread = lost_cell(case), case.get("unread")
    if unread is None or numbers.absent(unread) or not unread:
        return lost
    phrases = [*([] if lost.text == numbers.NOTHING else [lost.text]), f"{numbers.count(unread)} unread"]
    return Cell(", ".join(phrases), "warn" if lost.tone == "quiet" else lost.tone)


def number_cell(value: float | None, *, tone: str = "plain", note: str = "") -> Cell:
    """A count; zero is quiet, so that what is not zero stands out in `tone`."""
    if value is None or numbers.absent(value):
        return Cell(numbers.NOTHING, "quiet", note)
    return Cell(numbers.count(value), tone if value else "quiet", note)
