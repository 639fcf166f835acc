"""A Matplotlib figure as inline SVG, with a title and a description for those who cannot see it."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from matplotlib.figure import Figure

from bench.report.figures.compact_svg import compact


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure of the report. `name` is unique in it; `alt` says in words what the figure shows.

    `legend` says in a few words what its marks are, where there is no room for the `caption`.

    `svg` has several drawings below each other where the figure is so high that a page may end within it.
    """

    name: str
    title: str
    alt: str
    caption: str
    svg: str
    legend: str = ""


def draw(figures: Figure | Sequence[Figure], *, name: str, title: str, alt: str, caption: str) -> Drawing:
    """Turn a figure, or its several drawings, into inline SVG."""
    drawings = [figures] if isinstance(figures, Figure) else figures
    svg = "".join(
        _inline(_svg(figure), f"{name}-{number}" if number else name, title, alt)
        for number, figure in enumerate(drawings)
    )
    return Drawing(name, title, alt, caption, svg)


def _svg(figure: Figure) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return stream.getvalue()


def _inline(text: str, name: str, title: str, alt: str) -> str:
    body = text[text.index("<svg") :]
    view = re.search(r'viewBox="([^"]+)"', body)
    box = view[1] if view else "0 0 1 1"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{box}" '
        f'role="img" aria-labelledby="{name}-title {name}-alt">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-alt">{escape(alt)}</desc>'
    )
    return compact(head + body[body.index(">") + 1 :], name)
