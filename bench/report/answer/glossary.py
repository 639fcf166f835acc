"""The terms that a first page uses, each in one line."""

from __future__ import annotations

import re
from typing import NamedTuple

from bench.report.answer.sentences import sentence

MOST = 5


class _Term(NamedTuple):
    """A term, the pattern by which a page uses it, and the template with its meaning."""

    term: str
    pattern: str
    meaning: str


_TERMS = (
    _Term("bookie", r"\bbookies?\b", "term-bookie"),
    _Term("E-Qw-Qa", r"\b\d-\d-\d\b|\bquorums?\b", "term-quorums"),
    _Term("journalSyncData", r"\bjournalSyncData\b|\bsynced journal\b", "term-journal"),
    _Term("session", r"\bsession\b", "term-session"),
    _Term("trial left out", r"\btrial left out\b", "term-left-out"),
    _Term("acks", r"\backs=|\backs\b", "term-acks"),
    _Term("min.insync.replicas", r"\bmin\.insync\.replicas\b|\bin.sync\b", "term-in-sync"),
    _Term("power cut of all nodes", r"\bpower cut\b", "term-power-cut"),
    _Term("fsync", r"\bfsyncs?\b", "term-fsync"),
    _Term("p99", r"\bp99\b", "term-p99"),
    _Term("95 % interval", r"\b95 % interval\b", "term-interval"),
)
"""The most needed first."""


def glossary(page: str) -> tuple[tuple[str, str], ...]:
    """Return the terms that the text of a page uses, at most five."""
    used = [term for term in _TERMS if re.search(term.pattern, page)]
    return tuple((term.term, sentence(term.meaning)) for term in used[:MOST])
