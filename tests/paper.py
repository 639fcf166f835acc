"""A printed report as a reader has it in hand: how large its letters are, and how much of each page is white."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pypdf import PdfReader

_DPI = 20
_FOOT = 17 / 297
"""The share of an A4 page's height below its text, where the run's name and the page's number stand."""
_HEAD = 15 / 297


def type_sizes(pdf: Path) -> dict[float, str]:
    """Return the sizes of all text of a PDF in points, each with the first words of it, the smallest first."""
    found: dict[float, str] = {}

    def seen(text: str, cm: Any, tm: Any, _: Any, size: float) -> None:
        if text.strip():
            scale = math.hypot(tm[2], tm[3]) * math.hypot(cm[2], cm[3])
            found.setdefault(round(size * scale, 2), text.strip()[:60])

    for page in PdfReader(pdf).pages:
        page.extract_text(visitor_text=seen)
    return dict(sorted(found.items()))


def blank_shares(pdf: Path, folder: Path) -> list[float]:
    """Return of each page which share of its text height is white below the last ink. Images go to `folder`."""
    subprocess.run(
        ["pdftoppm", "-r", str(_DPI), "-gray", "-png", str(pdf), str(folder / "page")],
        check=True,
        capture_output=True,
    )
    return [_blank_share(image) for image in sorted(folder.glob("page-*.png"))]


def _blank_share(image: Path) -> float:
    with Image.open(image) as opened:
        pixels = np.asarray(opened.convert("L"))
    height = len(pixels)
    top, bottom = round(height * _HEAD), round(height * (1 - _FOOT))
    inked = np.flatnonzero((pixels[top:bottom] < 245).any(axis=1))
    return 1.0 if not len(inked) else 1 - (int(inked[-1]) + 1) / (bottom - top)
