from __future__ import annotations

import io
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from bench.report import style
from bench.report.figures.compact_svg import compact

_SVG = "{http://www.w3.org/2000/svg}"
HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">'
ROOT = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" id="f-svg" stroke-linejoin="round"><style>{}</style>'


def test_ticks_that_refer_to_one_stroke_share_a_path() -> None:
    ticks = "".join(
        f'<g><use xlink:href="#tick" x="{x}" y="5" style="fill: #123; stroke: #123; stroke-width: 0.6"/></g>'
        for x in (1, 2.5)
    )
    stroke = '<path id="tick" d="M 0 0 \nL 0 2.5 \n" style="stroke: #123; stroke-width: 0.6"/>'
    svg = f"{HEAD}<g><defs>{stroke}</defs>{ticks}</g></svg>"

    assert compact(svg, "f") == (
        ROOT.format("#f-svg .s0{stroke:#123;stroke-width:0.6}")
        + '<defs></defs><path class="s0" d="M1 5v2.5M2.5 5v2.5"/></svg>'
    )


def test_markers_stay_references_and_share_a_style_and_a_clip() -> None:
    marker = '<path id="dot" d="M 0 1 \nC 0.5 1 1 0.5 1 0 \nz\n"/>'
    uses = "".join(f'<use xlink:href="#dot" x="{x}" y="2" style="fill: #abc"/>' for x in (3.04, 4.06))
    clip = '<clipPath id="c"><rect x="0" y="0" width="9" height="9"/></clipPath>'
    svg = f'{HEAD}<defs>{marker}{clip}</defs><g clip-path="url(#c)">{uses}</g></svg>'

    assert compact(svg, "f") == (
        ROOT.format("#f-svg .s0{fill:#abc}") + '<defs><path id="f-0" style="" d="M0 1c.5 0 1-.5 1-1z"/>'
        '<clipPath id="f-1"><rect x="0" y="0" width="9" height="9"></rect></clipPath></defs>'
        '<g clip-path="url(#f-1)"><g class="s0">'
        '<use href="#f-0" x="3" y="2"/><use href="#f-0" x="4.1" y="2"/></g></g></svg>'
    )


def test_words_are_escaped_and_only_a_rotation_that_turns_is_kept() -> None:
    texts = (
        '<text style="fill: #111" x="1.26" y="2" transform="rotate(-0 1.26 2)">a &lt; b &amp; c</text>'
        '<text style="fill: #111" x="3" y="4" transform="rotate(-90 3 4)">up</text>'
    )

    assert compact(f"{HEAD}<g>{texts}</g></svg>", "f").endswith(
        '<g class="s0"><text x="1.3" y="2">a &lt; b &amp; c</text>'
        '<text x="3" y="4" transform="rotate(-90 3 4)">up</text></g></svg>'
    )


def test_strokes_that_shine_through_and_dots_without_length_are_not_lost() -> None:
    style = "fill: none; stroke: #111; stroke-opacity: 0.5"
    paths = f'<path d="M 1 1 \nL 1 1 \n" style="{style}"/><path d="M 2 1 \nL 3 2 \n" style="{style}"/>'

    assert compact(f"{HEAD}{paths}</svg>", "f").endswith('<path d="M1 1h0"/><path d="M2 1l1 1"/></g></svg>')


@given(st.lists(st.tuples(*[st.floats(0, 500, width=32)] * 2), min_size=2, max_size=120))
def test_no_point_moves_by_more_than_the_rounding(points: list[tuple[float, float]]) -> None:
    d = "M " + "L ".join(f"{x:.6f} {y:.6f} \n" for x, y in points)
    path = compact(f'{HEAD}<path d="{d}" style="fill: #111"/></svg>', "f")

    ends = absolute(re.findall(r' d="([^"]*)"', path)[0])
    nearest = iter(ends)
    at = next(nearest)
    for x, y in points:  # points that fall onto the one before them are left out
        while not close(at, (x, y)):
            at = next(nearest)


def close(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return max(abs(one[0] - other[0]), abs(one[1] - other[1])) <= 0.0501


def absolute(d: str) -> list[tuple[float, float]]:
    """The points of a path of M, l, h and v, as written by `compact`."""
    points: list[tuple[float, float]] = []
    x = y = 0.0
    for command, text in re.findall(r"([Mlhv])([^Mlhv]*)", d):
        numbers = [float(number) for number in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", text)]
        if command in "hv":
            pairs = [(number, 0.0) if command == "h" else (0.0, number) for number in numbers]
        else:
            pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        for dx, dy in pairs:
            x, y = (dx, dy) if command == "M" else (x + dx, y + dy)
            points.append((x, y))
    return points


@pytest.fixture
def figure() -> str:
    """A real figure: lines, an area, dots, a grid and a legend."""
    stream = io.StringIO()
    with style.typography():
        drawn = Figure(figsize=(4, 3))
        axes = drawn.add_subplot()
        axes.plot(range(60), [value % 7 for value in range(60)], label="line")
        axes.fill_between(range(60), 1, 5, alpha=0.2)
        axes.scatter(range(20), range(20), s=9, label="dots")
        axes.grid(visible=True)
        axes.legend()
        drawn.savefig(stream, format="svg")
    text = stream.getvalue()
    return text[text.index("<svg") :]


def test_a_figure_takes_less_than_half_and_keeps_its_marks(figure: str) -> None:
    short = compact(figure, "one")

    tree = ET.fromstring(short)  # noqa: S314 - our own SVG
    assert len(short) < len(figure) / 2
    assert len(tree.findall(f".//{_SVG}use")) == 21  # the dots, and the legend's
    assert "#1f77b4" in short


def test_figures_of_a_page_share_no_id_and_each_reference_has_its_target(figure: str) -> None:
    pages = compact(figure, "one"), compact(figure, "two")

    ids = [set(re.findall(r' id="([^"]+)"', page)) for page in pages]
    assert not ids[0] & ids[1]
    for page, known in zip(pages, ids, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', page)) <= known
