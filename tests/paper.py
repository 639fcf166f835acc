"""A printed report as a reader has it in hand: how large its letters are, and how much of each page is white."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from PIL import Image
from pypdf import PdfReader

_DPI = 20
Box: TypeAlias = Any
"""A box of WeasyPrint's layout, with the element of the page that it draws."""
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


def split_rows(document: Any) -> list[str]:
    """Return the text of each row of a table that begins on one page and ends on another."""
    pages: dict[Any, set[int]] = {}
    for number, table in _tables(document):
        for row in _rows(table, header=False):
            pages.setdefault(row.element, set()).add(number)
    return [_text(row) for row, seen in pages.items() if len(seen) > 1]


def heads_alone(document: Any) -> list[str]:
    """Return the text of each table's head below which its page has no row."""
    return [
        "; ".join(_text(row.element) for row in head)
        for _, table in _tables(document)
        if (head := _rows(table, header=True)) and not _rows(table, header=False)
    ]


def _tables(document: Any) -> Iterator[tuple[int, Box]]:
    """Give each page's tables, or their parts, with the number of the page."""
    for number, page in enumerate(document.pages, start=1):
        boxes = page._page_box.descendants()
        yield from ((number, box) for box in boxes if type(box).__name__ == "TableBox")


def _rows(table: Box, *, header: bool) -> list[Box]:
    return [row for group in table.children if group.is_header == header for row in group.children]


def _text(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())[:60]


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
