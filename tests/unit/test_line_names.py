"""Names of vertical lines never cover each other."""

from __future__ import annotations

from bench.report import style
from bench.report.figures.line_names import Name, spread

_FOUR = 4 * style.CHARACTER_IN
"""What "kill" takes, without its gaps."""


def test_names_far_apart_stand_at_the_right_in_the_first_row() -> None:
    assert spread([("kill", 1.0), ("undo", 3.0)], width=6.0, rows=2) == [
        Name("kill", 1.0, 0, left=False),
        Name("undo", 3.0, 0, left=False),
    ]


def test_a_name_that_would_cover_another_goes_down_a_row() -> None:
    found = spread([("kill", 1.0), ("undo", 1.0 + _FOUR / 2)], width=6.0, rows=2)

    assert [name.row for name in found] == [0, 1]


def test_in_a_single_row_it_goes_to_the_left_where_there_is_room() -> None:
    found = spread([("undo", 2.0), ("kill", 1.9)], width=6.0, rows=1)

    assert found[1] == Name("kill", 1.9, 0, left=True)


def test_at_the_right_edge_a_name_stands_at_the_left() -> None:
    assert spread([("kill", 5.9)], width=6.0, rows=1) == [Name("kill", 5.9, 0, left=True)]


def test_without_room_a_name_is_left_out() -> None:
    assert [name.text for name in spread([("kill", 0.1), ("undo", 0.2)], width=0.6, rows=1)] == ["kill"]
