"""The answer of a run folder: from its results, and from what its scenario says of how they are presented."""

from __future__ import annotations

from bench.report.answer import answer
from bench.report.answer.model import Answer
from bench.report.presentation import presentation
from bench.report.results import Results


def run_answer(results: Results) -> Answer:
    """Return a run's answer. Raises ReportError where its scenario's presentation cannot be read."""
    return answer(results, presentation(results.run))
