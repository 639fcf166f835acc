"""Tables that fit on a page: one with too many columns becomes several, each with the columns that name its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from bench.report import sweep
from bench.report.table import Column, Row, Table

PAGE_PT = 510.0
"""The text width of an A4 page."""
_TYPE_PT = 9.0
_PADDING_PT, _BEFORE_NAME_PT = 7.0, 8.0
_NARROW, _WIDE = frozenset(".,:;'|ifjlrt ()[]/"), frozenset("mwMW%=\N{MULTIPLICATION SIGN}")
_NAME_PT, _TIGHT_NAME_PT, _WIDE_TEXT_PT = 110.0, 70.0, 150.0
"""So much width names and sentences are given where they need as much; what is longer is broken between words."""
_SHARES = (0.55, 0.65, 0.75, 0.85, 1.0)
"""Of the room on a page, to deal columns out evenly over no more parts than it takes."""
_WRAPS_FROM = 18
"""So many characters of a number's cell are broken between words, such as a range with what ended it."""
_MOST_ROWS, _LINE_CHARACTERS = 14, 60


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that belong together. `keep_together`: they take so little room that a page need not break between them."""

    rows: tuple[Row, ...]
    keep_together: bool


def fit_to_width(table: Table, width_pt: float = PAGE_PT) -> tuple[Table, ...]:
    """Return the table, or several of some of its columns each, that are no wider than a page.

    Each has the leading columns that name a row. Columns under one head stay together where they fit. Widths are
    estimates of what 9 pt take.
    """
    if sum(_widths(table, _TIGHT_NAME_PT)) <= width_pt:
        return (table,)
    keys, widths = _keys(table.columns), _widths(table, _NAME_PT)
    room = width_pt - sum(widths[:keys])
    dealt = [list(_parts(table.columns, widths, keys, share * room)) for share in _SHARES]
    parts = next(candidate for candidate in dealt if len(candidate) == len(dealt[-1]))
    return tuple(
        _part(table, [*range(keys), *places], number, len(parts)) for number, places in enumerate(parts)
    )


def _keys(columns: Sequence[Column]) -> int:
    """Return how many leading columns name a row: those of settings, trial, round, system and case."""
    count = 0
    for column in columns:
        if column.group or (column.kind not in {"name", "text"} and column.head not in {"trial", "round"}):
            break
        count += 1
    return min(count, len(columns) - 1)


def _parts(columns: Sequence[Column], widths: Sequence[float], keys: int, room: float) -> Iterator[list[int]]:
    """Deal columns out, from left to right, whole groups where they fit."""
    places: list[int] = []
    for group in _groups(columns, keys):
        for block in _blocks(group, widths, room):
            if places and sum(widths[place] for place in [*places, *block]) > room:
                yield places
                places = []
            places = [*places, *block]
    if places:
        yield places


def _groups(columns: Sequence[Column], keys: int) -> Iterator[list[int]]:
    """Give neighbours under one head together, others alone."""
    group: list[int] = []
    for place in range(keys, len(columns)):
        same = group and columns[place].group and columns[place].group == columns[group[-1]].group
        if group and not same:
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _blocks(group: list[int], widths: Sequence[float], room: float) -> Iterator[list[int]]:
    """Give a group whole where it fits by itself, else in pieces that do."""
    block: list[int] = []
    for place in group:
        if block and sum(widths[column_place] for column_place in [*block, place]) > room:
            yield block
            block = []
        block.append(place)
    if block:
        yield block


def _part(table: Table, places: Sequence[int], number: int, of: int) -> Table:
    rows = tuple(
        row if row.heading else replace(row, cells=tuple(row.cells[place] for place in places))
        for row in table.rows
    )
    title = f"{table.title}, part {number + 1} of {of}" if table.title else ""
    return replace(table, title=title, columns=tuple(table.columns[place] for place in places), rows=rows)


def _widths(table: Table, name_pt: float) -> list[float]:
    return [_width(table, place, name_pt) for place in range(len(table.columns))]


def _width(table: Table, place: int, name_pt: float) -> float:
    """Estimate the least width of a column that can be read well, in points, with so much for a name."""
    column = table.columns[place]
    if column.kind == "links":
        return 0.0  # on the screen only
    cells = [row.cells[place].text for row in table.rows if not row.heading]
    heads = [piece for word in column.head.split() for piece in sweep.wrap_name(word)]
    longest_head = max(map(_text_pt, heads), default=0.0)
    if column.kind == "number":
        return max([longest_head, *map(_text_pt, _lines(cells))]) + _PADDING_PT
    words = max((_text_pt(piece) for cell in cells for piece in _pieces(cell)), default=0.0)
    longest_cell = max(map(_text_pt, cells), default=0.0)
    most = _WIDE_TEXT_PT if column.kind == "text" else name_pt
    apart = _BEFORE_NAME_PT if place and table.columns[place - 1].kind == "number" else 0.0
    return max(longest_head, words, min(longest_cell, most)) + _PADDING_PT + apart


def wraps(text: str) -> bool:
    """Whether a number's cell is so long that it is broken between words."""
    return len(text) > _WRAPS_FROM and "\n" not in text


def _lines(cells: Sequence[str]) -> Iterator[str]:
    """Give what stands on a line of a number's cell."""
    for cell in cells:
        if wraps(cell):
            yield from (word for word in cell.split(" "))
            yield "0" * (_WRAPS_FROM // 2)
        else:
            yield from cell.split("\n")


def _pieces(text: str) -> Iterator[str]:
    """Give what is never broken: the value of a setting, and pieces of long names."""
    for word in text.split():
        name, sign, value = word.partition("=")
        yield from sweep.wrap_name(name)
        if sign:
            yield value


def _text_pt(text: str) -> float:
    return sum(map(_letter_em, text)) * _TYPE_PT


def _letter_em(letter: str) -> float:
    if letter in _NARROW:
        return 0.32
    if letter in _WIDE:
        return 0.82
    return 0.63 if letter.isdigit() or letter.isupper() else 0.56


def row_groups(rows: Sequence[Row]) -> list[RowGroup]:
    """Return rows by group: one begins at a heading, and where a line is drawn; long ones are several."""
    starts = [0, *(place for place, row in enumerate(rows) if place and _begins(row, rows[place - 1]))]
    groups: list[RowGroup] = []
    for start, end in pairwise([*starts, len(rows)]):
        count = max(1, -(-(end - start) // _MOST_ROWS))
        sizes = [(end - start) // count + (place < (end - start) % count) for place in range(count)]
        cuts = accumulate(sizes, initial=start)
        groups += [_group(rows[cut_start:cut_end]) for cut_start, cut_end in pairwise(cuts)]
    return [group for group in groups if group.rows]


def _begins(row: Row, previous_row: Row) -> bool:
    """Whether a group begins with a row: not right below the heading of one."""
    return row.heading or (row.opens and not previous_row.heading)


def _group(rows: Sequence[Row]) -> RowGroup:
    lines = sum(
        1 + max((len(cell.text) for cell in row.cells), default=0) // _LINE_CHARACTERS for row in rows
    )
    return RowGroup(tuple(rows), keep_together=lines <= 2 * _MOST_ROWS)
