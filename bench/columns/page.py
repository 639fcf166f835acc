"""docs/tables.md from the declared columns: python -m bench.columns.page > docs/tables.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.columns import TABLES, Kind, ResultColumn, ResultTable

_HEAD = """\
# The tables of results

Made from `bench/columns/` by `make generated`: change it there. What is common to all
of them, and the other files, is in [The results](results.md).

A unit of `1` stands for shares and ratios; counts and texts have none. A column of several names has the same meaning
for each of them.
"""


def page() -> str:
    """Return the page as Markdown."""
    listed = "\n".join(f"- [`{table.name}`](#{_anchor(table)}): {table.title}" for table in TABLES.values())
    return "\n".join([_HEAD, listed, *map(_section, TABLES.values())])


def _anchor(table: ResultTable) -> str:
    heading = f"{table.name}: {table.title}".lower()
    return "".join(letter for letter in heading if letter.isalnum() or letter in " -_").replace(" ", "-")


def _section(table: ResultTable) -> str:
    introduction = f"{table.introduction}\n\n" if table.introduction else ""
    notes = f"\n{table.notes}\n" if table.notes else ""
    rows = "\n".join(_rows(table))
    return (
        f"""
## `{table.name}`: {table.title}

{introduction}| column | type | unit | meaning |
|---|---|---|---|
{rows}
{notes}""".rstrip("\n")
        + "\n"
    )


def _rows(table: ResultTable) -> Iterator[str]:
    for heading in dict.fromkeys(column.heading for column in table.columns):
        same = [column for column in table.columns if column.heading == heading]
        yield f"| {heading} | {_kinds(same)} | {_units(same)} | {same[0].meaning} |"


def _kinds(same: list[ResultColumn]) -> str:
    words = {Kind.TEXT: "text", Kind.REAL: "double"}
    return ", ".join(dict.fromkeys(words.get(column.kind, column.kind.value) for column in same))


def _units(same: list[ResultColumn]) -> str:
    return ", ".join(dict.fromkeys(column.unit for column in same if column.unit))


if __name__ == "__main__":
    sys.stdout.write(page())
