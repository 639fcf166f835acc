"""The templates of reports/templates, filled."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_eval_context
from jinja2.exceptions import TemplateError
from jinja2.nodes import EvalContext
from markupsafe import Markup, escape

from bench import places
from bench.errors import ReportError
from bench.report import fonts, sweep, table_width

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FOLDER = places.TEMPLATES
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[µmn]?s|min|h|[kKMGT]?i?B|[kMG]bit|%)(?!\.?\w))")


def page(template: str, context: Mapping[str, Any]) -> str:
    """Fill a template that is a page of its own, with the typeface that it needs. Raises ReportError."""
    text = render(template, context)
    return text.replace("/* typeface */", fonts.faces(text))


def render(template: str, context: Mapping[str, Any]) -> str:
    """Fill a template. Raises ReportError."""
    try:
        return _environment().get_template(template).render(context)
    except TemplateError as error:
        raise ReportError(
            f"{FOLDER}: the report's template could not be filled: {error}. Is the checkout whole?"
        ) from error


def fields(context: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass by name, as the context of a template."""
    return {field.name: getattr(context, field.name) for field in dataclasses.fields(context)}


def text(name: str) -> str:
    """Return a file that is no template, such as a style sheet. Raises ReportError."""
    return render(name, {})


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "breakable": _breakable,
        "prose": _prose,
        "fitted": table_width.fit_to_width,
        "linked": _link_addresses,
        "grouped": table_width.row_groups,
        "wraps": table_width.wraps,
    }
    return environment


@pass_eval_context
def _finalize(eval_context: EvalContext, value: object) -> object:
    """Prepare what a page shows, where it is HTML."""
    return _keep_units(value) if eval_context.autoescape and type(value) is str else value


def _keep_units(text: str) -> str:
    """Keep each number on one line with its unit."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


def _prose(text: str) -> Markup:
    """Text from a scenario: what stands between backticks is a name."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(_keep_units(text)))))  # noqa: S704 - escaped just here


def _link_addresses(text: str) -> Markup:
    """Make links of addresses of the web in a text, named by their host."""
    return Markup(  # noqa: S704 - escaped just here
        re.sub(
            r"https?://([^/\s&]+)[^\s<]*[^\s<.,;)]", r'<a href="\g<0>">\1</a>', str(escape(_keep_units(text)))
        )
    )


def _breakable(words: str) -> Markup:
    """Let long names break where their words end; what a setting is set to stays whole."""
    return Markup(" ").join(
        Markup("<wbr>").join(sweep.wrap_name(name)) + sign + value
        for name, sign, value in (word.partition("=") for word in _keep_units(words).split(" "))
    )
