"""What a run has decided so far, and how much longer the rest would take."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.analysis.statistics.baseline_ratios import METRICS, half_widths
from bench.analysis.verdicts.claim_forms import UNDECIDED
from bench.model import NANOS
from bench.records.trial import TrialRecord

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outlook:
    """How many expectations are decided, and what is open.

    `undecided` has the id of each other expectation with what is known of it. `half_width` is the median over all
    ratios to a baseline of how far their intervals reach, as a share (0.05: 5 %), in the first metric that has
    intervals; None where none has. `more_rounds` estimates how many rounds are missing, `minutes_left` how long they
    take; 0 where nothing is, None where the variance is not known yet or more rounds would not help.
    """

    decided: int
    undecided: tuple[tuple[str, str], ...]
    half_width: float | None
    more_rounds: int | None
    minutes_left: float | None


def outlook(
    judged: Sequence[Row],
    ratios: Sequence[Row],
    precision: float | None,
    rounds: int,
    seconds_per_round: float | None,
) -> Outlook:
    """Say what is decided after so many rounds, and how many more would decide the rest.

    `judged` are expectations as `judge` returns them, `ratios` the rows of the table `ratios`; `precision` is the
    half-width asked for, as a share (0.05: 5 %), None for no such wish. The estimate takes ratios and variances to stay
    as they are, so it is rough after few rounds.
    """
    undecided = [expectation for expectation in judged if expectation["verdict"] == UNDECIDED]
    half_width = _half_width(ratios)
    missing = [_missing_rounds(expectation) for expectation in undecided]
    if precision is not None and ratios:
        missing.append(_missing_for(half_width, precision, rounds))
    counts = [count for count in missing if count is not None]
    more_rounds = max(counts, default=0) if len(counts) == len(missing) else None
    return Outlook(
        decided=len(judged) - len(undecided),
        undecided=tuple((expectation["id"], expectation["summary"]) for expectation in undecided),
        half_width=half_width,
        more_rounds=more_rounds,
        minutes_left=_minutes(more_rounds, seconds_per_round),
    )


def _minutes(rounds: int | None, seconds: float | None) -> float | None:
    return None if rounds is None or seconds is None else rounds * seconds / 60


def _half_width(ratios: Sequence[Row]) -> float | None:
    widths = half_widths(ratios)
    return next((widths[metric] for metric in METRICS if metric in widths), None)


def _missing_rounds(expectation: Row) -> int | None:
    """Return how many rounds an undecided expectation lacks; None where one of its comparisons allows no estimate."""
    undecided = [
        comparison for comparison in expectation["comparisons"] if comparison["verdict"] == UNDECIDED
    ]
    if not expectation["comparisons"] or any(comparison["rounds_needed"] is None for comparison in undecided):
        return None
    missing: list[int] = [comparison["rounds_needed"] - comparison["rounds"] for comparison in undecided]
    return max(*missing, 1) if missing else 1


def _missing_for(half_width: float | None, precision: float, rounds: int) -> int | None:
    """Return how many rounds a half-width lacks: it shrinks with the root of their number."""
    if half_width is None:
        return None
    needed = rounds * (math.log1p(half_width) / math.log1p(precision)) ** 2
    return max(0, math.ceil(needed - 1e-9) - rounds)


def seconds_per_round(trials: Iterable[TrialRecord]) -> float | None:
    """Return how long a round takes: from its first window's start to the next round's, in the middle of all.

    Where there is no next one, to its own last window's end; None without a window.
    """
    spans: dict[int, tuple[int, int]] = {}
    for trial in trials:
        if trial.window is not None:
            start_ns, end_ns = spans.get(trial.round, (trial.window.start_ns, trial.window.end_ns))
            spans[trial.round] = min(start_ns, trial.window.start_ns), max(end_ns, trial.window.end_ns)
    starts = [spans[number][0] for number in sorted(spans)]
    lengths = [next_start - start for start, next_start in pairwise(starts) if next_start > start]
    lengths = lengths or [end_ns - start_ns for start_ns, end_ns in spans.values()]
    return statistics.median(lengths) / NANOS if lengths else None
