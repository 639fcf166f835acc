"""What is declared of a column and of a table of results/."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The type of a column, by Arrow's name of it."""

    TEXT = "string"
    INT = "int32"
    LONG = "int64"
    REAL = "double"
    BOOL = "bool"


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column. `meaning` is Markdown, with links as from docs/.

    `unit` is empty for texts and counts, "1" for shares and ratios. `heading` is what the documentation calls the
    columns that share this meaning. Where it is `required` no report is made of results that lack it.
    """

    name: str
    kind: Kind
    meaning: str
    unit: str
    heading: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class ResultTable:
    """One table: `title` says what a row is; `introduction` and `notes` are Markdown above and below its columns.

    `more_after` is the column after which those stand that depend on the run. Where it was `added_later` results of
    older versions of the suite lack it.
    """

    name: str
    title: str
    columns: tuple[ResultColumn, ...]
    introduction: str = ""
    notes: str = ""
    more_after: str = ""
    added_later: bool = False

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns without which no report is made."""
        return tuple(column.name for column in self.columns if column.required)


def columns(  # noqa: PLR0913 - what a column has
    names: str, kind: Kind, meaning: str, *, unit: str = "", required: bool = False, heading: str = ""
) -> tuple[ResultColumn, ...]:
    """Declare the columns of these names, between blanks, which share everything else."""
    listed = names.split()
    heading = heading or ", ".join(listed)
    return tuple(ResultColumn(name, kind, meaning, unit, heading, required) for name in listed)


def names(declared: Iterable[ResultColumn]) -> tuple[str, ...]:
    """Return the columns' names."""
    return tuple(column.name for column in declared)
