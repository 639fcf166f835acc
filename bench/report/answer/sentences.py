"""Sentences of an answer, from the templates of reports/templates/sentences: one file a kind, named slots."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.exceptions import TemplateError

from bench import numbers
from bench.errors import ReportError
from bench.report import templates

FOLDER = templates.FOLDER / "sentences"


def sentence(kind: str, slots: Mapping[str, Any] | None = None) -> str:
    """Fill the template of a kind of finding: one line of plain text that begins with a capital. Raises ReportError."""
    try:
        filled = _environment().get_template(f"{kind}.txt.j2").render(slots or {})
    except TemplateError as error:
        raise ReportError(
            f"{FOLDER}: {kind}.txt.j2 could not be filled: {error}. Is the checkout whole?"
        ) from error
    words = " ".join(filled.split())
    for mark in (".", ",", ":", ";", ")"):
        words = words.replace(f" {mark}", mark)
    return numbers.sentence(words.replace("( ", "("))


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=False,  # noqa: S701 - plain text; what shows it as HTML escapes it
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
