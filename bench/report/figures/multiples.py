"""Small multiples: a block a system, a panel for each combination of settings, a line for each last value.

All panels of a figure share both axes. Lines are named at their right end, so there is no legend to look up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.report import style, sweep
from bench.report.figures.scale import DOWN_IN, Scale

_LEFT_IN, _TITLE_IN, _BLOCK_IN, _FOOT_IN, _GAP_IN = 0.6, 0.25, 0.34, 0.44, 0.1
_COLUMNS, _FLAT_IN, _TIGHT_IN = 3, 0.72, 0.1

Ends: TypeAlias = Mapping[str, tuple[float, float]]
"""Where each case's line ends, in the panel's coordinates."""


_LEAST_IN = 1.1
"""Narrower panels stand below each other."""
_LABEL_MOST = 40


@dataclass(frozen=True, slots=True)
class PanelAxes:
    """A panel with its axes; `colours` and `dashes` by case."""

    panel: sweep.Panel
    axes: Axes
    colours: Mapping[str, str]
    dashes: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Room:
    """How many panels stand side by side; in inches, how high each and its title are, and the place for names.

    `letters` have room in a line of a title.
    """

    columns: int
    height: float
    title: float
    right: float
    letters: int


def grid(
    blocks: Sequence[sweep.Panels], labels: tuple[str, str], y: Scale, *, flat: bool = False
) -> tuple[list[Figure], list[PanelAxes]]:
    """Lay the panels out, x and y labelled; the caller draws the lines and calls `name_lines`.

    Each block is a drawing of its own, so that a page may end between two of them. Panels of all drawings have one
    size; they get lower where a drawing would be higher than `style.HEIGHT_IN`, as low as can still be read. `flat`
    puts several blocks into one drawing, low and close, one below the other along one x axis. It is for time that
    goes far to the right: so a page has room beside them.
    """
    flat = flat and len(blocks) > 1
    room = _room(blocks, flat=flat)
    figures: list[Figure] = []
    cells: list[PanelAxes] = []
    for drawn in [list(blocks)] if flat else [[block] for block in blocks]:
        figure, figure_cells = _drawing(drawn, labels, y, room)
        figures.append(figure)
        cells += figure_cells
    return figures, cells


def _room(blocks: Sequence[sweep.Panels], *, flat: bool) -> _Room:
    """Return the sizes that panels of all blocks have."""
    longest = max(
        (len(_short_label(label)) for block in blocks for panel in block.shown for label in panel.lines),
        default=0,
    )
    right = longest * style.STRONG_IN + 0.12
    panels = min(_COLUMNS, max(len(block.shown) for block in blocks))
    columns = next((count for count in range(panels, 1, -1) if _width(count, right) >= _LEAST_IN), 1)
    letters = int((_width(columns, right) + right) / style.STRONG_IN)
    title = _title_in(blocks, letters)
    if flat:
        return _Room(columns, _FLAT_IN, title, right, letters)
    rows = max(-(-len(block.shown) // columns) for block in blocks)
    most = (style.HEIGHT_IN - _BLOCK_IN - _FOOT_IN) / rows - title
    height = max(_FLAT_IN, min({1: 1.9, 2: 1.4, 3: 1.02}[columns], most))
    return _Room(columns, height, title, right, letters)


def _drawing(
    blocks: Sequence[sweep.Panels], labels: tuple[str, str], y: Scale, room: _Room
) -> tuple[Figure, list[PanelAxes]]:
    """Lay out the panels of one drawing; only those of the last block have an x axis with numbers."""
    heights = [
        _BLOCK_IN
        + -(-len(block.shown) // room.columns) * (room.height + room.title)
        + (_FOOT_IN if block is blocks[-1] else _TIGHT_IN)
        for block in blocks
    ]
    top = sum(heights)
    figure = Figure(figsize=(style.WIDTH_IN, top))
    cells: list[PanelAxes] = []
    for block, height in zip(blocks, heights, strict=True):
        _block_heads(figure, block, top, y.label(labels[1]))
        for index, axes in enumerate(_block_axes(figure, block, room, top - _BLOCK_IN)):
            last = index + room.columns >= len(block.shown) and block is blocks[-1]
            _set_up(axes, y, labels[0] if last else "", left=index % room.columns == 0)
            title = _in_lines(block.shown[index].title, room.letters)
            axes.set_title(title, loc="left", color=style.INK, pad=3)
            cells.append(_cell(block.shown[index], axes))
        top -= height
    return figure, cells


def name_lines(cell: PanelAxes, ends: Ends) -> None:
    """Write each line's label at the right, pushed apart where they would touch; lead there from its end."""
    low, high = cell.axes.get_ylim()
    place = cell.axes.transScale + cell.axes.transLimits
    right = cell.axes.get_xlim()[1]
    labels = {case: label for label, case in cell.panel.lines.items() if case in ends}
    inside = {case: min(max(ends[case][1], low), high) for case in labels}
    positions = {case: float(place.transform((right, y))[1]) for case, y in inside.items()}
    for case, at in _apart(positions, 0.14 / height_in(cell.axes)).items():
        colour, (x, y) = cell.colours[case], ends[case]
        cell.axes.plot([x, right], [y, y], color=colour, linewidth=0.6, linestyle=(0, (1, 2)))
        cell.axes.annotate(
            _short_label(labels[case]),
            xy=(1, at),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=style.readable(colour),
            fontweight="semibold",
            annotation_clip=False,
        )


def height_in(axes: Axes) -> float:
    figure = axes.get_figure(root=True)
    return float(axes.get_position().height * figure.get_size_inches()[1]) if figure else 1.0


def width_in(axes: Axes) -> float:
    figure = axes.get_figure(root=True)
    return float(axes.get_position().width * figure.get_size_inches()[0]) if figure else 1.0


def _apart(positions: Mapping[str, float], gap: float) -> dict[str, float]:
    """Move positions up where they are closer than `gap`, then all down by half of what they rose."""
    placed: dict[str, float] = {}
    floor = -1.0
    for case in sorted(positions, key=positions.__getitem__):
        placed[case] = max(positions[case], floor)
        floor = placed[case] + gap
    rise = max((placed[case] - positions[case] for case in placed), default=0.0)
    return {case: at - rise / 2 for case, at in placed.items()}


def _cell(panel: sweep.Panel, axes: Axes) -> PanelAxes:
    cases = list(panel.lines.values())
    shades = style.look(panel.system).shades(len(cases))
    dashes = {case: style.LINES[index % len(style.LINES)] for index, case in enumerate(cases)}
    return PanelAxes(panel, axes, dict(zip(cases, shades, strict=True)), dashes)


def _block_heads(figure: Figure, block: sweep.Panels, top: float, y_label: str) -> None:
    across, down = figure.get_size_inches()
    look = style.look(block.part.system)
    y = 1 - (down - top + 0.14) / down
    figure.text(
        0, y, block.part.title, fontsize=style.HEAD_PT, fontweight="semibold", color=look.ink, va="center"
    )
    figure.text(
        (len(block.part.title) * 0.1 + 0.12) / across,
        y,
        _about(block, y_label),
        color=style.SOFT,
        va="center",
    )


def _about(block: sweep.Panels, y_label: str) -> str:
    return f"{y_label}; a line for each {block.line_setting}" if block.line_setting else y_label


def _block_axes(figure: Figure, block: sweep.Panels, room: _Room, top: float) -> Iterator[Axes]:
    across, down = figure.get_size_inches()
    width = _width(room.columns, room.right)
    for index in range(len(block.shown)):
        row, column = divmod(index, room.columns)
        x = _LEFT_IN + column * (width + room.right + _GAP_IN)
        y = top - (row + 1) * (room.height + room.title)
        yield figure.add_axes((x / across, y / down, width / across, room.height / down))


def _width(columns: int, right: float) -> float:
    """How wide each of so many panels side by side is, in inches, with room for names at the right of each."""
    return (style.WIDTH_IN - _LEFT_IN - columns * right - (columns - 1) * _GAP_IN) / columns


def _short_label(label: str) -> str:
    return style.shorten(label, _LABEL_MOST)


def _title_in(blocks: Sequence[sweep.Panels], letters: int) -> float:
    """Return how high the highest title of a panel is, in inches, in lines of so many letters."""
    titles = [_in_lines(panel.title, letters) for block in blocks for panel in block.shown]
    breaks = max((title.count("\n") for title in titles if title), default=None)
    return _TIGHT_IN if breaks is None else _TITLE_IN + breaks * style.LINE_IN


def _in_lines(title: str, most: int) -> str:
    """Break a title of settings between two of them, where its line would become longer than `most` characters."""
    lines: list[str] = []
    for setting in title.split(", "):
        if lines and len(lines[-1]) + len(setting) + 2 <= most:
            lines[-1] += f", {setting}"
        else:
            lines.append(setting)
    return ",\n".join(lines)


def _set_up(axes: Axes, y: Scale, x_label: str, *, left: bool) -> None:
    if y.log:
        axes.set_yscale("log")
    axes.set_ylim(y.low, y.high)
    y.apply(axes.yaxis, height_in(axes) / DOWN_IN)
    axes.grid(visible=True, axis="both")
    axes.tick_params(labelleft=left, labelbottom=bool(x_label))
    axes.set_xlabel(x_label, labelpad=2)
