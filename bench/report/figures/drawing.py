"""A Matplotlib figure as inline SVG, with a title and a description for those who cannot see it."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from html import escape

from matplotlib.figure import Figure

from bench.report.figures.compact_svg import compact


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure of the report. `name` is unique in it; `alt` says in words what the figure shows."""

    name: str
    title: str
    alt: str
    caption: str
    svg: str


def draw(figure: Figure, *, name: str, title: str, alt: str, caption: str) -> Drawing:
    """Turn a figure into inline SVG."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return Drawing(name, title, alt, caption, _inline(stream.getvalue(), name, title, alt))


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
