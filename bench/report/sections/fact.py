"""A line of a report: a term and its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """One line: what it is about, and what is so."""

    term: str
    text: str
