"""Where the names of a panel's vertical lines stand, so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from bench.report import style
from bench.report.figures.multiples import height_in, width_in

_GAP_PT, _DOWN_PT, _POINTS_PER_IN = 3, 2, 72
PLATE: dict[str, Any] = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.6}
"""What lies behind words over lines."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name at a line: in which row below the panel's top, and whether at the line's left."""

    text: str
    at: float
    row: int
    left: bool


def spread(lines: Sequence[tuple[str, float]], width: float, rows: int) -> list[Name]:
    """Give each line's name the first place in which it fits: at the right in the upper rows first, else at the left.

    Lines are given by name and place; places and `width`, the panel's, are in inches. A name that fits nowhere is left
    out.
    """
    occupied_spans: list[tuple[int, float, float]] = []
    names = []
    for text, at in lines:
        length = len(text) * style.CHARACTER_IN + 2 * _GAP_PT / _POINTS_PER_IN
        for left, row in ((left, row) for left in (False, True) for row in range(rows)):
            begin = at - length if left else at
            free = not any(
                row == occupied_row and begin < end and start < begin + length
                for occupied_row, start, end in occupied_spans
            )
            if free and begin >= 0 and begin + length <= width:
                occupied_spans.append((row, begin, begin + length))
                names.append(Name(text, at, row, left))
                break
    return names


def write(axes: Axes, lines: Sequence[tuple[str, float]]) -> None:
    """Write the names of lines, given by name and place on the axis, at the panel's top."""
    begin, end = axes.get_xlim()
    width, rows = width_in(axes), max(1, int(height_in(axes) / style.LINE_IN))
    scale = width / (end - begin)
    for name in spread([(text, (at - begin) * scale) for text, at in lines], width, rows):
        axes.annotate(
            name.text,
            (name.at / scale + begin, 1),
            xycoords=axes.get_xaxis_transform(),
            xytext=(
                -_GAP_PT if name.left else _GAP_PT,
                -_DOWN_PT - name.row * style.LINE_IN * _POINTS_PER_IN,
            ),
            textcoords="offset points",
            ha="right" if name.left else "left",
            va="top",
            color=style.INK,
            bbox=PLATE,
            zorder=6,
        )
