"""Whether the machine ran at the same speed before each trial, and which rounds differ as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bench import numbers
from bench.report.results import Json, Results
from bench.report.sections.fact import Fact
from bench.systems.registry import system_title

PROBES = (
    ("machine_probe_ns", "a fixed piece of work", 1.25),
    ("machine_page_ns", "the first touch of a page of memory", 2.0),
    ("machine_wake_ns", "waking a process on another core", 2.0),
    ("machine_line_ns", "handing a cache line to another core and back", 2.0),
)
"""What was timed before each trial, and from which ratio on the first page says so."""


_IN_RATIOS = (
    "Ratios compare slices that alternate, so they have nothing of it; throughputs of different rounds have."
)
_IN_CAPACITIES = (
    "Searches run one system after the other, so ratios between capacities of both systems include it."
)


def facts(results: Results) -> Iterator[Fact]:
    """What was timed of it before the trials."""
    sentences = []
    for name, activity, _ in PROBES:
        probes = probe_times_ns(results.valid, name)
        if len(probes) > 1:
            low, middle, high = map(numbers.duration, (probes.min(), probes.median(), probes.max()))
            sentences.append(f"{activity} took {low} to {high}, {middle} in the middle")
    if sentences:
        yield Fact("The machine's own speed", f"before each trial {'; '.join(sentences)}.")


def unsteady(results: Results) -> str | None:
    """Return the warning that the machine itself changed its speed between trials, None where it didn't."""
    slowdowns = []
    for name, activity, most in PROBES:
        probes = probe_times_ns(results.valid, name)
        if len(probes) > 1 and probes.max() >= most * probes.min():
            slowdowns.append(f"{numbers.ratio(probes.max() / probes.min())} for {activity}")
    if not slowdowns:
        return None
    return (
        "The machine itself did not run evenly: before one trial it took up to that many times as long as before "
        f"another: {', '.join(slowdowns)}. {_consequence(results)}"
    )


def _consequence(results: Results) -> str:
    words = [_IN_RATIOS if results.has_slices else "Compare within rounds, not across."]
    if len(set(results.capacities["system"])) > 1:
        words.append(_IN_CAPACITIES)
    return " ".join(words)


def apart(results: Results) -> list[str]:
    """Return a warning for each round of a system that was off as a whole, and what the machine showed in it."""
    widened_intervals = (
        "the intervals of throughputs and times, not of ratios"
        if results.has_slices
        else "the intervals of all of them"
    )
    return [
        _apart(round_apart, _then(results, round_apart), widened_intervals)
        for round_apart in results.summary.get("rounds_apart") or ()
    ]


def _apart(round_apart: Json, then: str, widened: str) -> str:
    agree = (
        "in all"
        if round_apart["agree"] == round_apart["cases"]
        else f"the same way in {round_apart['agree']}"
    )
    return (
        f"Round {round_apart['round'] + 1} of {system_title(round_apart['system'])} was off as a whole: its sends took "
        f"{numbers.ratio(round_apart['ratio'])} as long as in a round in the middle, {agree} of its "
        f"{round_apart['cases']} cases. {then} It counts, and widens {widened}."
    )


def _then(results: Results, round_apart: Json) -> str:
    """Say how the machine itself differed, the same way, before a round's trials from before the system's others."""
    system_trials = results.valid[results.valid["system"] == round_apart["system"]]
    inside, outside = (
        system_trials[system_trials["round"] == round_apart["round"]],
        system_trials[system_trials["round"] != round_apart["round"]],
    )
    differences = []
    for name, activity, most in PROBES:
        took, usual = median(inside, name), median(outside, name)
        ratio = took / usual if took and usual else 1.0
        if ratio >= most if round_apart["ratio"] > 1 else ratio <= 1 / most:
            differences.append(f"{activity} took {numbers.ratio(ratio)}")
    if not differences:
        return "What was timed of the machine before its trials does not show why."
    direction = "slower" if round_apart["ratio"] > 1 else "faster"
    return (
        f"So was the machine, {direction} before its trials than before the others: "
        f"{', '.join(differences)} as long."
    )


def probe_times_ns(trials: pd.DataFrame, name: str) -> pd.Series[float]:
    """What one of PROBES took before each of some trials, in ns; empty where it was not timed."""
    if name not in trials.columns:
        return pd.Series(dtype=float)
    return pd.to_numeric(trials[name]).dropna().astype(float)


def median(trials: pd.DataFrame, name: str) -> float | None:
    """The middle of that; None where it was not timed."""
    took = probe_times_ns(trials, name)
    return None if took.empty else float(took.median())
