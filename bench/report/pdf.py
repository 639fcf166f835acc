"""The same report on paper: WeasyPrint, from the same HTML."""

from __future__ import annotations

from pathlib import Path

from bench.errors import ReportError


def write(html: str, path: Path) -> None:
    """Print the page to `path`. Raises ReportError where WeasyPrint's libraries are missing."""
    try:
        from weasyprint import HTML  # noqa: PLC0415 - needs Pango, which nothing but this function needs
    except OSError as error:
        raise ReportError(
            f"The PDF could not be written: a library that WeasyPrint needs is missing ({error}). "
            "Install the system packages: clusters/system-packages.sh"
        ) from error
    HTML(string=html).write_pdf(path, pdf_tags=True)
