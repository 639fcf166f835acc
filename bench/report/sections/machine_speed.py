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


def facts(results: Results) -> Iterator[Fact]:
    """What was timed of it before the trials."""
    said = []
    for name, what, _ in PROBES:
        probes = probed(results.valid, name)
        if len(probes) > 1:
            low, middle, high = map(numbers.duration, (probes.min(), probes.median(), probes.max()))
            said.append(f"{what} took {low} to {high}, {middle} in the middle")
    if said:
        yield Fact("The machine's own speed", f"before each trial {'; '.join(said)}.")


def unsteady(results: Results) -> str | None:
    """Return the warning that the machine itself changed its speed between trials, None where it didn't."""
    found = []
    for name, what, most in PROBES:
        probes = probed(results.valid, name)
        if len(probes) > 1 and probes.max() >= most * probes.min():
            found.append(f"{numbers.ratio(probes.max() / probes.min())} for {what}")
    if not found:
        return None
    return (
        "The machine itself did not run evenly: before one trial it took up to that many times as long as before "
        f"another: {', '.join(found)}. {_IN_RATIOS if results.sliced else 'Compare within rounds, not across.'}"
    )


def apart(results: Results) -> list[str]:
    """Return a warning for each round of a system that was off as a whole, and what the machine showed in it."""
    what = (
        "the intervals of throughputs and times, not of ratios"
        if results.sliced
        else "the intervals of all of them"
    )
    return [_apart(one, _then(results, one), what) for one in results.summary.get("rounds_apart") or ()]


def _apart(one: Json, then: str, widened: str) -> str:
    agree = "in all" if one["agree"] == one["cases"] else f"the same way in {one['agree']}"
    return (
        f"Round {one['round'] + 1} of {system_title(one['system'])} was off as a whole: its sends took "
        f"{numbers.ratio(one['ratio'])} as long as in a round in the middle, {agree} of its {one['cases']} cases. "
        f"{then} It counts, and widens {widened}."
    )


def _then(results: Results, one: Json) -> str:
    """Say how the machine itself differed, the same way, before a round's trials from before the system's others."""
    its = results.valid[results.valid["system"] == one["system"]]
    inside, outside = its[its["round"] == one["round"]], its[its["round"] != one["round"]]
    seen = []
    for name, what, most in PROBES:
        took, usual = median(inside, name), median(outside, name)
        ratio = took / usual if took and usual else 1.0
        if ratio >= most if one["ratio"] > 1 else ratio <= 1 / most:
            seen.append(f"{what} took {numbers.ratio(ratio)}")
    if not seen:
        return "What was timed of the machine before its trials does not show why."
    how = "slower" if one["ratio"] > 1 else "faster"
    return f"So was the machine, {how} before its trials than before the others: {', '.join(seen)} as long."


def probed(trials: pd.DataFrame, name: str) -> pd.Series[float]:
    """What one of PROBES took before each of some trials, in ns; empty where it was not timed."""
    if name not in trials.columns:
        return pd.Series(dtype=float)
    return pd.to_numeric(trials[name]).dropna().astype(float)


def median(trials: pd.DataFrame, name: str) -> float | None:
    """The middle of that; None where it was not timed."""
    took = probed(trials, name)
    return None if took.empty else float(took.median())
