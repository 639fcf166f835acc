"""Sends without a latency: failed, timed out, or scheduled and never sent."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from bench import numbers
from bench.report.results import Results

_LARGE_SHARE = 0.02
"""From this share of what was due on, the first page says that it was never sent."""


def share(case: pd.Series[Any]) -> float | None:
    """The share of a case's sends, those included that were due and never made, that were not acknowledged."""
    if numbers.absent(case["sent"]):
        return None
    never = _never(case)
    due = case["sent"] + never
    return float((case["failed"] + case["unknown"] + never) / due) if due else None


def endless(row: pd.Series[Any], name: str) -> bool:
    """Whether a time of a row has no value since it falls among what was never sent or never received."""
    return name.partition("_")[2].startswith(("p", "max")) and numbers.endless(row, name)


def some(results: Results) -> bool:
    """Whether any case has such sends."""
    return any(share(case) for _, case in results.cases.iterrows())


class WorstCase(NamedTuple):
    """The case that sent the least of what was due; of how many (`all_cases`) so many (`cases`) left out much of it."""

    case: str
    share: float
    cases: int
    all_cases: int


def worst(results: Results) -> WorstCase | None:
    """Return which case did not send the largest share of what was due; None where no case left out much of it."""
    shares = {
        str(case["case"]): _never(case) / due
        for _, case in results.cases.iterrows()
        if not numbers.absent(case["sent"]) and (due := case["sent"] + _never(case))
    }
    large_shares = {
        case: unsent_share for case, unsent_share in shares.items() if unsent_share >= _LARGE_SHARE
    }
    if not large_shares:
        return None
    case = max(large_shares, key=lambda name: large_shares[name])
    return WorstCase(case, large_shares[case], len(large_shares), len(shares))


def warning(results: Results) -> str | None:
    """Say on the first page that much of what was due was never sent, which throughput alone does not show."""
    worst_case = worst(results)
    if worst_case is None:
        return None
    return (
        f"The rate asked for was not reached in {worst_case.cases} of "
        f"{numbers.plural(worst_case.all_cases, 'configuration')}: {'up to ' if worst_case.cases > 1 else ''}"
        f"{numbers.share(worst_case.share)} of the sends that were due were never made"
        f" ({worst_case.case}), as so many were open already. Response times count them as the longest."
    )


def _never(case: pd.Series[Any]) -> float:
    return 0.0 if numbers.absent(case["due_unsent"]) else float(case["due_unsent"])
