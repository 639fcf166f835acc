"""The same report on paper: WeasyPrint, from the same HTML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import ReportError
from bench.report import compact_pdf

if TYPE_CHECKING:
    from weasyprint.document import Document

_OPTIONS = {"pdf_tags": True}


def write(html: str, path: Path) -> None:
    """Print the page to `path`. Raises ReportError where WeasyPrint's libraries are missing."""
    save(laid_out(html), path)


def save(document: Document, path: Path) -> None:
    """Print what is laid out to `path`."""
    content = document.write_pdf(finisher=compact_pdf.finish, **_OPTIONS)
    path.write_bytes(compact_pdf.with_short_references(content))


def laid_out(html: str) -> Document:
    """Lay the page out on paper. Raises ReportError where WeasyPrint's libraries are missing."""
    try:
        from weasyprint import HTML  # noqa: PLC0415 - needs Pango, which nothing but this function needs
    except OSError as error:
        raise ReportError(
            f"The PDF could not be written: a library that WeasyPrint needs is missing ({error}). "
            "Install the system packages: clusters/system-packages.sh"
        ) from error
    return HTML(string=html).render(**_OPTIONS)
