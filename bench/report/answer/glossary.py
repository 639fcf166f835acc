"""The terms that a first page uses, each in one line."""

from __future__ import annotations

import re

from bench.report.answer.sentences import sentence
from bench.systems.description import GlossaryTerm
from bench.systems.registry import DESCRIPTIONS

MOST = 5


_TERMS = (
    *(term for system in reversed(tuple(DESCRIPTIONS.values())) for term in system.terms),
    GlossaryTerm("session", r"\bsession\b", "term-session"),
    GlossaryTerm("disturbed trial", r"\bdisturbed trial\b", "term-disturbed"),
    GlossaryTerm("invalid trial", r"\binvalid trial\b", "term-invalid"),
    GlossaryTerm("power cut of all nodes", r"\bpower cut\b", "term-power-cut"),
    GlossaryTerm("fsync", r"\bfsyncs?\b", "term-fsync"),
    GlossaryTerm("p99", r"\bp99\b", "term-p99"),
    GlossaryTerm("95 % interval", r"\b95 % interval\b", "term-interval"),
)
"""The most needed first."""


def glossary(page: str) -> tuple[tuple[str, str], ...]:
    """Return the terms that the text of a page uses, at most five."""
    used = [term for term in _TERMS if re.search(term.pattern, page)]
    return tuple((term.term, sentence(term.meaning)) for term in used[:MOST])
