"""The answer of a run: what its first page, the terminal, `bench explain` and the index show."""

from __future__ import annotations

from bench.report.answer import faults, performance, retention
from bench.report.answer.model import Answer
from bench.report.presentation import Presentation
from bench.report.results import Results

__all__ = ["answer"]


def answer(results: Results, presentation: Presentation) -> Answer:
    """Return a run's answer, by today's presentation of its scenario. Raises ReportError."""
    if results.retention:
        return retention.answer(results, presentation)
    return (
        faults.answer(results, presentation)
        if results.is_fault_run
        else performance.answer(results, presentation)
    )
