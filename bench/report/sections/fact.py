"""A line of a report: what it is about, and what is so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """One line: what it is about, and what is so."""

    term: str
    text: str
