"""The terms that a first page uses, each in one line."""

from __future__ import annotations

import re

from bench.systems.description import GlossaryTerm
from bench.systems.registry import DESCRIPTIONS

MOST = 5


_TERMS = (
    *(term for system in reversed(tuple(DESCRIPTIONS.values())) for term in system.terms),
    GlossaryTerm(
        "session",
        r"\bsession\b",
        "After so long without a sign of life a server counts as dead, and another takes over.",
    ),
    GlossaryTerm(
        "disturbed trial",
        r"\bdisturbed trial\b",
        "Other work took half a core or more of the machine: its times are not in the ranges, its losses are.",
    ),
    GlossaryTerm(
        "invalid trial", r"\binvalid trial\b", "It does not count, for a reason that the report lists."
    ),
    GlossaryTerm(
        "power cut of all nodes", r"\bpower cut\b", "All servers lose what they have not written to disk."
    ),
    GlossaryTerm(
        "fsync",
        r"\bfsyncs?\b",
        "The call that returns once data is on the disk, so that a power cut does not take it.",
    ),
    GlossaryTerm("p99", r"\bp99\b", "99 of 100 messages take no longer."),
    GlossaryTerm(
        "95 % interval", r"\b95 % interval\b", "The range that holds the true ratio with 95 % confidence."
    ),
)
"""The most needed first."""


def glossary(page: str) -> tuple[tuple[str, str], ...]:
    """Return the terms that the text of a page uses, at most five."""
    used = [term for term in _TERMS if re.search(term.pattern, page)]
    return tuple((term.term, term.meaning) for term in used[:MOST])
