"""The report's typeface inside the HTML file, so that it looks the same where the typeface is not installed.

Only the characters that the page uses are kept (about 30 KiB). Print does not need it: it is drawn on the
machine that has the fonts.
"""

from __future__ import annotations

import base64
import io
import logging
from pathlib import Path

from fontTools.subset import Options, Subsetter  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from matplotlib import font_manager

from bench.report import style

_WEIGHTS = {"Regular": 400, "SemiBold": 600}


def faces(text: str) -> str:
    """CSS that brings the typeface along; empty where it is not installed (the page then names others)."""
    installed = {Path(path).stem: path for path in font_manager.findSystemFonts()}
    font_paths = {weight: installed.get(f"{style.SANS}-{name}") for name, weight in _WEIGHTS.items()}
    return "\n".join(_face(path, weight, text) for weight, path in font_paths.items() if path)


def _face(path: str, weight: int, text: str) -> str:
    encoded = base64.b64encode(_subset(path, text)).decode("ascii")
    return (
        f"@font-face {{ font-family: '{style.SANS}'; font-weight: {weight}; font-style: normal; "
        f"src: url(data:font/woff2;base64,{encoded}) format('woff2'); }}"
    )


def _subset(path: str, text: str) -> bytes:
    logging.getLogger("fontTools.subset").setLevel(logging.ERROR)
    options = Options(
        layout_features=["kern", "tnum", "ccmp", "mark", "mkmk"], hinting=False, desubroutinize=True
    )
    font = TTFont(path, lazy=True, recalcTimestamp=False)  # the same page again is the same file
    subsetter = Subsetter(options)
    subsetter.populate(text=text)
    subsetter.subset(font)
    font.flavor = "woff2"
    stream = io.BytesIO()
    font.save(stream)
    return stream.getvalue()
