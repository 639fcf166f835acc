"""How far the numbers carry: intervals, the rounds that a small difference would take, trials that are flagged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bench import numbers
from bench.model import ENOUGH_TRIALS
from bench.report import sweep
from bench.report.results import Results
from bench.report.table import Cell, Column, Table, trial_table

_NOMINAL = 0.95

_FLAGS = {
    "trend": "the mean service time rose or fell over the measured window: not warm, or drifting",
    "outlier": "far from the other trials of its case",
}


def interval(results: Results) -> str:
    """What stands behind every range and interval of the run."""
    counts = [int(rounds) for rounds in results.cases["rounds"] if rounds > 0]
    if not counts:
        return "No trial is valid: there are no numbers."
    if max(counts) < ENOUGH_TRIALS:
        return (
            f"{numbers.plural(max(counts), 'round')}: there is no interval, for that takes at least "
            f"{ENOUGH_TRIALS}; ranges are simply the lowest and the highest trial."
        )
    fewest = min(count for count in counts if count >= ENOUGH_TRIALS)
    best = 1 - 2.0 ** (1 - fewest)
    short = (
        f" (of {fewest} trials no interval can hold it in more than {best:.1%} of cases)"
        if best < _NOMINAL
        else ""
    )
    said = f"{max(counts)} rounds: medians with their 95 % bootstrap intervals (BCa) over trials{short}."
    few = numbers.plural(sum(count < ENOUGH_TRIALS for count in counts), "case")
    return said if few.startswith("0 ") else f"{said} {few} with fewer valid trials: no interval there."


def spans(results: Results) -> str:
    """What stands behind the spans on the first page of a run in which something broke."""
    return f"{numbers.plural(results.rounds, 'round')}: spans are the least and the most of a case's valid trials"


def width(results: Results) -> str:
    """How wide the throughputs' intervals are, the middle one and the widest; empty where there is none."""
    name, cases = "throughput_msgs_per_s", results.cases
    halves = ((cases[f"{name}_ci_high"] - cases[f"{name}_ci_low"]) / 2 / cases[name]).dropna()
    if halves.empty:
        return ""
    return (
        f"Half of the throughputs' intervals reach at most {halves.median():.1%} of the median to either side, the "
        f"widest {halves.max():.1%}."
    )


def needed(results: Results) -> str:
    """How many rounds a difference of 5 % would take; empty where something broke on purpose."""
    found = results.summary.get("rounds_needed")
    if results.broken or "rounds_needed" not in results.summary:
        return ""
    if not found:
        return (
            "How many rounds it would take to see a difference of 5 % this run cannot tell: that takes two "
            f"configurations with {ENOUGH_TRIALS} valid rounds in common."
        )
    half, most = (numbers.count(found[name]) for name in ("half", "most"))
    return (
        f"For a paired test to see a difference of {found['difference']:.0%} between two configurations in four of "
        f"five runs, half of the pairs would need up to {half} rounds like these, nine in ten up to {most}."
    )


def flagged(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """The valid trials that are flagged, and why; None where there is none."""
    if results.valid["flags"].isna().all():
        return None
    marked = results.valid[results.valid["flags"].notna()]
    columns = (Column("messages/s"), Column("drift"), Column("flagged as", "text"))
    return trial_table("Flagged trials", parts, marked, columns, _flag)


def _flag(trial: pd.Series[Any]) -> tuple[Cell, ...]:
    drift = numbers.NOTHING if pd.isna(trial["drift"]) else f"{trial['drift']:+.0%}"
    return Cell(numbers.rate(trial["throughput_msgs_per_s"])), Cell(drift), Cell(str(trial["flags"]))


def flag_counts(results: Results) -> str:
    """The warning that trials are flagged; empty where none is."""
    every = results.valid["flags"].dropna().astype(str)
    said = [f"{count} as {flag}" for flag in _FLAGS if (count := int(every.str.contains(flag).sum()))]
    if not said:
        return ""
    trials = numbers.plural(len(results.valid), "valid trial")
    return f"{len(every)} of {trials} flagged ({', '.join(said)}): see Repeatability."


def flags(results: Results) -> list[tuple[str, str]]:
    """The flags that occur, with what they mean."""
    seen = {flag for flags in results.valid["flags"].dropna() for flag in str(flags).split(", ")}
    return [(flag, words) for flag, words in _FLAGS.items() if flag in seen]
