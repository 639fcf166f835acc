"""The report's typeface inside the HTML file, so that it looks the same where the typeface is not installed.

Only common characters and those of the page are kept (about 30 KiB). Print does not need it: it is drawn on the
machine that has the fonts.
"""

from __future__ import annotations

import base64
import io
import logging
import string
from functools import lru_cache
from pathlib import Path

from fontTools.subset import Options, Subsetter  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from matplotlib import font_manager

from bench.report import style

_WEIGHTS = {"Regular": 400, "SemiBold": 600}
_COMMON = frozenset(string.printable) | frozenset(
    "\N{NO-BREAK SPACE}\N{EN DASH}\N{MINUS SIGN}\N{MULTIPLICATION SIGN}±µ·“”…←↑→↓✓✗"
)
"""What most pages are written with: they share one typeface, which takes half a second to make."""


def faces(text: str = "") -> str:
    """CSS that brings the typeface along, with the characters of a text beside the common ones.

    Empty where it is not installed; the page then names others.
    """
    return _faces("".join(sorted(_COMMON | frozenset(text))))


@lru_cache(maxsize=4)
def _faces(characters: str) -> str:
    installed = {Path(path).stem: path for path in font_manager.findSystemFonts()}
    font_paths = {weight: installed.get(f"{style.SANS}-{name}") for name, weight in _WEIGHTS.items()}
    return "\n".join(_face(path, weight, characters) for weight, path in font_paths.items() if path)


def _face(path: str, weight: int, characters: str) -> str:
    encoded = base64.b64encode(_subset(path, characters)).decode("ascii")
    return (
        f"@font-face {{ font-family: '{style.SANS}'; font-weight: {weight}; font-style: normal; "
        f"src: url(data:font/woff2;base64,{encoded}) format('woff2'); }}"
    )


def _subset(path: str, characters: str) -> bytes:
    logging.getLogger("fontTools.subset").setLevel(logging.ERROR)
    options = Options(
        layout_features=["kern", "tnum", "ccmp", "mark", "mkmk"], hinting=False, desubroutinize=True
    )
    font = TTFont(path, lazy=True, recalcTimestamp=False)  # the same page again is the same file
    subsetter = Subsetter(options)
    subsetter.populate(text=characters)
    subsetter.subset(font)
    font.flavor = "woff2"
    stream = io.BytesIO()
    font.save(stream)
    return stream.getvalue()
