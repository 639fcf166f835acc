"""Intervals, what is undecided and how much longer that takes, and flagged trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from bench import numbers
from bench.model import ENOUGH_TRIALS
from bench.report import sweep
from bench.report.results import Json, Results
from bench.report.sections import effects
from bench.report.table import Cell, Column, Table, trial_table

_NOMINAL = 0.95

_FLAGS = {
    "trend": "the mean service time rose or fell over the measured window: not warm, or drifting",
    "outlier": "far from the other trials of its case",
}


_MOST_MINUTES = 480
"""A longer time is no estimate that anybody could use."""


def interval(results: Results) -> str:
    """What stands behind every range and interval of the run."""
    counts = [int(rounds) for rounds in results.cases["rounds"] if rounds > 0]
    if not counts:
        return "No trial is valid: there are no numbers."
    if results.over_rounds:
        return _interval_over_rounds(results, max(counts))
    if max(counts) < ENOUGH_TRIALS:
        return (
            f"{numbers.plural(max(counts), 'round')}: there is no interval, for that takes at least "
            f"{ENOUGH_TRIALS}; ranges are simply the lowest and the highest trial."
        )
    fewest = min(count for count in counts if count >= ENOUGH_TRIALS)
    best = 1 - 2.0 ** (1 - fewest)
    short = (
        f" (of {fewest} trials no interval can hold it in more than {numbers.percent(best, 1)} of cases)"
        if best < _NOMINAL
        else ""
    )
    sentence = f"{max(counts)} rounds: medians with their 95 % bootstrap intervals (BCa) over trials{short}."
    few = numbers.plural(sum(count < ENOUGH_TRIALS for count in counts), "case")
    return (
        sentence if few.startswith("0 ") else f"{sentence} {few} with fewer valid trials: no interval there."
    )


def _interval_over_rounds(results: Results, most: int) -> str:
    rounds = numbers.plural(most, "round")
    ratios = results.ratios["low"].notna().any()
    levels = results.cases["throughput_msgs_per_s_ci_low"].notna().any()
    if not ratios and not levels:
        return f"{rounds}: there is no interval; ranges are the lowest and the highest trial."
    if not levels:
        return (
            f"{rounds}: ratios have 95 % intervals over rounds; means have the lowest and the highest trial."
        )
    subject = "means and ratios have" if ratios else "means have"
    return f"{rounds}: {subject} 95 % intervals over rounds."


def spans(results: Results) -> str:
    """What stands behind the spans on the first page of a run in which something broke."""
    return (
        f"{numbers.plural(results.rounds, 'round')}: spans are the least and the most of a case's valid trials, "
        "without those that other work disturbed"
    )


def width(results: Results) -> str:
    """How wide the intervals of throughputs and of ratios are; empty where there is none."""
    name, cases = "throughput_msgs_per_s", results.cases
    halves = ((cases[f"{name}_ci_high"] - cases[f"{name}_ci_low"]) / 2 / cases[name]).dropna()
    sentences = [
        f"Half of the throughputs' intervals reach at most {numbers.percent(halves.median(), 1)} of the "
        f"{results.middle} to either side, the widest {numbers.percent(halves.max(), 1)}."
        if len(halves)
        else "",
        *(
            f"Half of the intervals of ratios of {effects.words(metric)} reach at most {numbers.percent(half, 1)} "
            "to either side."
            for metric, half in (_undecided_summary(results).get("half_widths") or {}).items()
            if half is not None
        ),
    ]
    return " ".join(filter(None, sentences))


def undecided_expectations(results: Results) -> str:
    """How many expectations are undecided, and how many more minutes would decide them; empty where none was stated."""
    if not results.over_rounds or not results.expectations:
        return ""
    count = len(_undecided_summary(results).get("expectations") or ())
    if not count:
        return "Every expectation is decided."
    expectations = numbers.plural(len(results.expectations), "expectation")
    return f"{count} of {expectations} {'is' if count == 1 else 'are'} undecided. {_time_left(results)}"


def _time_left(results: Results) -> str:
    minutes = _undecided_summary(results).get("minutes_left")
    if minutes is None:
        return "How many more minutes would decide the rest cannot be estimated from this run's rounds."
    if minutes > _MOST_MINUTES:
        return "More rounds would hardly decide the rest: a ratio lies next to its bound, or varies too much."
    more = max(1, math.ceil(minutes))
    run = results.manifest.get("run", results.run.name)
    return (
        f"About {numbers.plural(more, 'more minute')} of measuring would decide the rest: "
        f"`bench run --resume {run} --budget {more}m`."
    )


def looks(results: Results) -> str:
    """How often the run was evaluated while it ran; empty where its number of rounds was fixed before."""
    count = int(results.manifest.get("looks") or 0)
    if not count:
        return ""
    return (
        f"The run was evaluated {'once' if count == 1 else f'{count} times'} while it ran, to decide whether to go "
        "on; its verdicts need the wider intervals that keep false ones at 5 % over all evaluations."
    )


def _undecided_summary(results: Results) -> Json:
    return results.summary.get("undecided") or {}


def flagged_trials(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """The valid trials that are flagged, and why; None where there is none."""
    if results.valid["flags"].isna().all():
        return None
    marked = results.valid[results.valid["flags"].notna()]
    columns = (Column("messages/s"), Column("drift"), Column("flagged as", "text"))
    return trial_table("Flagged trials", parts, marked, columns, _flag)


def _flag(trial: pd.Series[Any]) -> tuple[Cell, ...]:
    drift = numbers.NOTHING if pd.isna(trial["drift"]) else f"{trial['drift'] * 100:+.0f} %"
    return Cell(numbers.rate(trial["throughput_msgs_per_s"])), Cell(drift), Cell(str(trial["flags"]))


def flag_counts(results: Results) -> str:
    """The warning that trials are flagged; empty where none is."""
    trial_flags = results.valid["flags"].dropna().astype(str)
    flag_words = [
        f"{count} as {flag}" for flag in _FLAGS if (count := int(trial_flags.str.contains(flag).sum()))
    ]
    if not flag_words:
        return ""
    trials = numbers.plural(len(results.valid), "valid trial")
    return f"{len(trial_flags)} of {trials} flagged ({', '.join(flag_words)}): see Repeatability."


def flags(results: Results) -> list[tuple[str, str]]:
    """The flags that occur, with what they mean."""
    occurring_flags = {flag for flags in results.valid["flags"].dropna() for flag in str(flags).split(", ")}
    return [(flag, words) for flag, words in _FLAGS.items() if flag in occurring_flags]
