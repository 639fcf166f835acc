"""The report as one HTML file: styles, figures and typeface inside, no script, nothing from the network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.exceptions import TemplateError
from markupsafe import Markup, escape

from bench.errors import ReportError
from bench.report import (
    certainty,
    delivery,
    effective,
    expectations,
    faults,
    fonts,
    front,
    manifest,
    method,
    omissions,
    resources,
    results,
    style,
    sweep,
    tables,
    worth,
)
from bench.report.figures import Drawing, gallery

TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"


def render(run: Path) -> str:
    """Render a run's report. Raises ReportError where results or templates are missing or garbled."""
    found = results.read(run)
    parts = sweep.parts(found)
    return page("report.html.j2", _context(found, parts, gallery(found, parts)))


def page(template: str, context: Mapping[str, Any]) -> str:
    """Fill a template of reports/templates, with the typeface that it needs. Raises ReportError."""
    filled = _filled(template, context)
    return filled.replace("/* typeface */", fonts.faces(filled))


def _filled(template: str, context: Mapping[str, Any]) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"breakable": _breakable, "prose": _prose}
    try:
        return environment.get_template(template).render(context)
    except TemplateError as error:
        raise ReportError(
            f"{TEMPLATES}: the report's template could not be filled: {error}. Is the checkout whole?"
        ) from error


def _context(
    found: results.Results, parts: Sequence[sweep.Part], drawings: Mapping[str, Drawing]
) -> dict[str, Any]:
    first = front.front(found, drawings)
    return {
        "run": found.manifest.get("run", found.run.name),
        "manifest": found.manifest,
        "front": first,
        "lead": first.figure.name if first.figure else "",
        "figures": {name: (drawing, Markup(drawing.svg)) for name, drawing in drawings.items()},  # noqa: S704 - our own SVG
        "looks": {part.system: style.look(part.system) for part in parts},
        "interval": certainty.interval(found),
        "worth": worth.tables(found),
        "measured": [tables.measured(found, part) for part in parts],
        "taken": [table for part in parts if (table := resources.taken(found, part))],
        "limited": resources.told(found),
        "expectations": (every := expectations.expectations(found)),
        "tally": expectations.tally(every),
        "statements": delivery.statements(found),
        "accounts": [delivery.account(part) for part in parts],
        "counters": delivery.counters(found),
        "offending": delivery.offending(found, parts),
        "errors": delivery.errors(found, parts),
        "listed": delivery.LISTED,
        "messages": len(found.messages),
        "broken": faults.broken(found, parts),
        "evidence": faults.evidence(found),
        "history": faults.history(found),
        "guarantees": [tables.guarantees(part) for part in parts],
        "left_out": omissions.left_out(found),
        "not_counted": omissions.not_counted(found, parts),
        "flagged": certainty.flagged(found, parts),
        "flags": certainty.flags(found),
        "never_run": omissions.never_run(found),
        "facts": method.facts(found, parts),
        "effective": effective.effective(found, parts),
        "manifest_lines": manifest.lines(found),
        "trials": len(found.trials),
        "valid": len(found.valid),
        "systems": [part.title for part in parts],
    }


def _prose(text: str) -> Markup:
    """Text from a scenario: what stands between backticks is a name."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped just here


def _breakable(name: str) -> Markup:
    """Let a long setting's name break where its words end."""
    return Markup("<wbr>").join(sweep.wrapped(name))
