"""The conditions of a run in one line: versions, machine, load, how often, what an fsync takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench import numbers
from bench.model import ENOUGH_TRIALS
from bench.report.answer.sentences import sentence
from bench.report.results import Json, Results
from bench.report.sections import method
from bench.systems.registry import describe, in_order, system_title

_LEVEL = 0.95


def conditions(found: Results) -> str:
    """Return the conditions of a run as one line."""
    here = found.manifest.get("backend") != "external"
    cost = (found.manifest.get("fsync_ns") if here else None) or {}
    slots = {
        "versions": _versions(found),
        "machine": _machine(found),
        "load": _load(found),
        "rounds": _rounds(found),
        "fsync": numbers.duration(cost["p50"]) if cost.get("p50") else "",
    }
    return sentence("conditions", slots)


def _versions(found: Results) -> str:
    known = found.manifest.get("versions") or {}
    systems = in_order(found.cases["system"])
    return " and ".join(
        f"{system_title(system)} {known.get(system, '')}".strip() + _servers(found, system)
        for system in systems
    )


def _servers(found: Results, system: str) -> str:
    """Name how many servers carry messages, where all of a system's trials have as many."""
    cases = [file["case"] for file in found.trial_files.values() if file["case"]["system"] == system]
    counts = [(case.get("configuration") or {}).get("nodes") or {} for case in cases]
    carrying = [
        numbers.plural(int(counts[0][role]), role)
        for role in (one.name for one in describe(system).roles if one.work)
        if counts and counts[0].get(role) and all(count.get(role) == counts[0][role] for count in counts)
    ]
    return f" ({', '.join(carrying)})" if carrying else ""


def _machine(found: Results) -> str:
    if found.manifest.get("backend") == "external":
        return f"servers of their own, load from one machine with {method.cores(found)}"
    return f"one machine with {method.cores(found)} for servers and load"


def _load(found: Results) -> str:
    """Name what all trials have in common of the load; what is swept stands in the labels."""
    loads = [file["load"] for file in found.trial_files.values() if file.get("load")]
    named = (
        _common(loads, lambda load: numbers.plural(load["producers"], "producer")),
        _common(loads, _pace),
        _common(loads, lambda load: f"messages of {load['message_bytes']:,} bytes"),
    )
    return ", ".join(filter(None, named)) or "load unknown"


def _common(loads: Sequence[Json], words: Callable[[Json], Any]) -> str:
    try:
        said = {str(words(load)) for load in loads}
    except (KeyError, TypeError):  # a run that was read in from elsewhere leaves them empty
        return ""
    return said.pop() if len(said) == 1 else ""


def _pace(load: Json) -> str:
    pacing = load["pacing"]
    if pacing is None:
        return ""
    if pacing == "closed":
        window = load.get("window") or 1
        each = "" if load["producers"] == 1 else " each"
        return "one send open at a time" + each if window == 1 else f"{window:,} sends open at a time{each}"
    rates = method.rates(load)
    return f"{numbers.rate(rates[0])} messages/s" if len(rates) == 1 else "several rates in turn"


def _rounds(found: Results) -> str:
    """State how often each case was measured, and what an interval without a confidence is."""
    rounds = numbers.plural(found.rounds, "round")
    if found.broken or found.rounds < 2:
        return rounds
    if found.over_rounds:
        return f"{rounds}, whose ratios are averaged"
    if found.rounds < ENOUGH_TRIALS:
        return f"{rounds}, too few for an interval of a median"
    most = 1 - 2.0 ** (1 - found.rounds)
    sure = f"at most {most * 100:.0f} %" if most < _LEVEL else "95 %"
    return f"{rounds}; intervals without a percentage: bootstrap ({sure})"
