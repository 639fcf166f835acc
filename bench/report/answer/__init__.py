"""The answer of a run: what its first page, the terminal, `bench explain` and the index show."""

from __future__ import annotations

from bench.report.answer import faults, performance, retention
from bench.report.answer.model import Answer
from bench.report.presentation import Presentation
from bench.report.results import Results

__all__ = ["answer"]


def answer(found: Results, presentation: Presentation) -> Answer:
    """Return a run's answer, by today's presentation of its scenario. Raises ReportError."""
    if found.retention:
        return retention.answer(found, presentation)
    return faults.answer(found, presentation) if found.broken else performance.answer(found, presentation)
