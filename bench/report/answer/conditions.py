"""The conditions of a run in one line: versions, machine, load, how often, what an fsync takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench import numbers
from bench.model import ENOUGH_TRIALS
from bench.records.trial import LoadRecord, TrialRecord
from bench.report.answer.sentences import sentence
from bench.report.results import Results
from bench.report.sections import method
from bench.statistics.interval import most_unseen
from bench.systems.registry import describe, in_order, system_title

_LEVEL = 0.95
_LIMITS = {"cpu": " cores", "memory": " of memory", "disk_write": " to disk", "fsync": " more an fsync"}
"""What follows the value of a limit; the rate of a link says itself what it is."""


def conditions(results: Results, unlost: int = 0) -> str:
    """Return the conditions of a run as one line.

    `unlost` is how many trials a configuration had of which none lost a message; 0 says nothing about it.
    """
    local_backend = results.manifest.get("backend") != "external"
    cost = (results.manifest.get("fsync_ns") if local_backend else None) or {}
    slots = {
        "versions": _versions(results),
        "machine": _machine(results),
        "load": _load(results),
        "rounds": _rounds(results),
        "unlost": numbers.plural(unlost, "trial") if unlost else "",
        "may_lose": f"{most_unseen(unlost) * 100:.0f} %" if unlost else "",
        "fsync": numbers.duration(cost["p50"]) if cost.get("p50") else "",
    }
    return sentence("conditions", slots)


def _versions(results: Results) -> str:
    versions = results.manifest.get("versions") or {}
    systems = in_order(results.cases["system"])
    return " and ".join(
        f"{system_title(system)} {versions.get(system, '')}".strip() + _servers(results, system)
        for system in systems
    )


def _servers(results: Results, system: str) -> str:
    """Name how many servers carry messages, and their emulated size, where all of a system's trials have as many."""
    trials = [trial for trial in results.trial_records.values() if trial.case.system == system]
    counts = [trial.case.nodes for trial in trials]
    sizes = {
        numbers.plural(counts[0][role], role): _size(trials, role)
        for role in (server_role.name for server_role in describe(system).roles if server_role.work)
        if counts and counts[0].get(role) and all(count.get(role) == counts[0][role] for count in counts)
    }
    emulated = "emulated size: " if any(sizes.values()) else ""
    carrying = ", ".join(f"{nodes}{size}" for nodes, size in sizes.items())
    return f" ({emulated}{carrying})" if carrying else ""


def _size(trials: Sequence[TrialRecord], role: str) -> str:
    """Name the limits of a role's nodes, where all trials have the same; empty without any."""
    sizes = [
        trial.node_size.limits.get(role, {}) if trial.node_size else {}
        for trial in trials
        if trial.state == "finished"
    ]
    if not sizes or not sizes[0] or any(size != sizes[0] for size in sizes):
        return ""
    limits = (f"{value}{_LIMITS.get(name, '')}" for name, value in sizes[0].items())
    return f" of {' and '.join(limits)}"


def _machine(results: Results) -> str:
    if results.manifest.get("backend") == "external":
        machines = (results.manifest.get("load") or {}).get("machines")
        if machines:
            return f"servers of their own, load from {numbers.plural(machines, 'machine')} of their own"
        return f"servers of their own, load from one machine with {method.cores(results)}"
    return f"one machine with {method.cores(results)}{_core_split(results)}"


def _core_split(results: Results) -> str:
    """Say how cores are divided; where the trials have them in common, servers and load share them."""
    splits = [trial.case.configuration.get("cores") for trial in results.trial_records.values()]
    if not splits or not splits[0] or any(split != splits[0] for split in splits):
        return " for servers and load"
    return f", {len(splits[0]['servers'])} for servers and {len(splits[0]['load'])} for load"


def _load(results: Results) -> str:
    """Name what all trials have in common of the load; what is swept stands in the labels."""
    loads = [trial.load for trial in results.trial_records.values()]
    named = (
        _common(loads, lambda load: numbers.plural(load.producers, "producer") if load.producers else ""),
        _common(loads, _pace),
        _common(
            loads, lambda load: f"messages of {load.message_bytes:,} bytes" if load.message_bytes else ""
        ),
    )
    return ", ".join(filter(None, named)) or "load unknown"


def _common(loads: Sequence[LoadRecord], words: Callable[[LoadRecord], str]) -> str:
    texts = {words(load) for load in loads}
    return texts.pop() if len(texts) == 1 else ""


def _pace(load: LoadRecord) -> str:
    if load.pacing is None:
        return ""
    if load.pacing == "closed":
        window = load.window or 1
        suffix = "" if load.producers == 1 else " each"
        return (
            "one send open at a time" + suffix if window == 1 else f"{window:,} sends open at a time{suffix}"
        )
    rates = method.rates(load)
    return f"{numbers.rate(rates[0])} messages/s" if len(rates) == 1 else "several rates in turn"


def _rounds(results: Results) -> str:
    """State how often each case was measured, and what an interval without a confidence is."""
    rounds = numbers.plural(results.rounds, "round")
    if results.is_fault_run or results.rounds < 2:
        return rounds
    if results.over_rounds:
        counts = [int(count) for count in results.cases["rounds"] if count > 0]
        fewer = sum(count < results.rounds for count in counts)
        words = f"; {fewer} of {len(counts)} configurations in fewer, at least {min(counts)}" if fewer else ""
        return f"{rounds}, whose ratios are averaged{words}"
    if results.rounds < ENOUGH_TRIALS:
        return f"{rounds}, too few for an interval of a median"
    most = 1 - 2.0 ** (1 - results.rounds)
    sure = f"at most {most * 100:.0f} %" if most < _LEVEL else "95 %"
    return f"{rounds}; intervals without a percentage: bootstrap ({sure})"
