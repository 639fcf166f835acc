"""The same report on paper: WeasyPrint, from the same HTML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import ReportError
from bench.report import compact_pdf

if TYPE_CHECKING:
    from weasyprint.document import Document

POSTERS = ("A3", "A2", "A1", "A0")
_OPTIONS = {"pdf_tags": True}


def write(html: str, path: Path) -> None:
    """Print the page to `path`. Raises ReportError where WeasyPrint's libraries are missing."""
    _laid_out(html).write_pdf(path, finisher=compact_pdf.finish, **_OPTIONS)


def write_poster(page: Callable[[str], str], path: Path) -> str:
    """Print the `page` of a size of paper to `path`, on the smallest of POSTERS that takes it on one sheet.

    Returns the HTML of that page; where not even the largest takes it, that goes on to a second sheet. Raises
    ReportError where WeasyPrint's libraries are missing.
    """
    for paper in POSTERS:
        html = page(paper)
        document = _laid_out(html)
        if len(document.pages) == 1:
            break
    document.write_pdf(path, finisher=compact_pdf.finish, **_OPTIONS)
    return html


def _laid_out(html: str) -> Document:
    try:
        from weasyprint import HTML  # noqa: PLC0415 - needs Pango, which nothing but this function needs
    except OSError as error:
        raise ReportError(
            f"The PDF could not be written: a library that WeasyPrint needs is missing ({error}). "
            "Install the system packages: clusters/system-packages.sh"
        ) from error
    return HTML(string=html).render(**_OPTIONS)
