"""Which servers and clients were measured: nodes, JVMs, and what of their settings the scenario chose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench import numbers
from bench.model import text
from bench.records.trial import TrialRecord
from bench.report import sweep
from bench.report.results import Json, Results
from bench.report.sections.fact import Fact
from bench.systems.registry import describe, in_order, system_title

_JITS = {
    "default": "the servers' own default JIT compilers",
    "c1": "C1 only (fast start): slower than the servers' default, so not for sizing",
}


def facts(results: Results, parts: Sequence[sweep.Part]) -> Iterator[Fact]:
    """Nodes with their memory, JVMs, clients, and what the scenario chose, system by system."""
    for part in parts:
        yield Fact(part.title, _words(_cluster, _trials(results, part.system)) or numbers.NOTHING)
    if jit(results):
        yield Fact("JVM", "; ".join([jit(results), *jvms(results)]))
    for part in parts:
        if words := _words(_client, _trials(results, part.system)):
            yield Fact(f"{part.title}'s client", f"{_library(results, part.system)}{words}")
    for part in parts:
        if words := _shared_settings(_trials(results, part.system)):
            yield Fact(f"{part.title}, set by the scenario", words)


def jit(results: Results) -> str:
    """How the servers' JVMs compiled; empty where there was no server."""
    if results.manifest.get("backend") == "external":
        return ""
    configurations = [trial.case.configuration for trial in results.trial_records.values()]
    modes = distinct(
        str(case_configuration.get("jit", "default"))
        for case_configuration in configurations
        if case_configuration.get("nodes")
    )
    return "; ".join(_JITS.get(mode, mode) for mode in modes)


def jvms(results: Results) -> list[str]:
    """Which collectors the servers' JVMs had, and heaps of which sizes; nothing where it was not written down."""
    jvm_flags = [flags for trial in results.trial_records.values() for flags in _flags(trial).values()]
    collectors = {name.removeprefix("Use") for flags in jvm_flags for name in flags if name.endswith("GC")}
    heaps = sorted({int(str(flags["Xmx"]).removesuffix("m")) for flags in jvm_flags if "Xmx" in flags})
    if not heaps:
        return []
    size = f"{heaps[0]} to {heaps[-1]}" if len(heaps) > 1 else f"{heaps[0]}"
    return [*sorted(collectors), f"heaps of {size} MiB"]


def memory(results: Results) -> str:
    """The JVMs in few words for the first page; empty where there was none."""
    compilers = jit(results)
    short = "servers' default JIT" if compilers == _JITS["default"] else compilers
    return ", ".join(filter(None, [short, *jvms(results)]))


def patience(results: Results) -> str:
    """After how long without a word servers are taken for dead, in few words; empty where none told.

    By system, where they are not alike.
    """
    timeouts_ms: dict[str, list[int]] = {}
    for trial in results.trial_records.values():
        roles = (trial.effective or {}).get("roles") or {}
        system = trial.case.system
        names = describe(system).session_timeouts(roles)
        timeouts_ms.setdefault(system, []).extend(
            int(settings[name]) for settings in roles.values() for name in names if settings.get(name)
        )
    timeout_words = {
        system: " and ".join(numbers.seconds(ms / 1000) for ms in sorted(set(times)))
        for system, times in sorted(timeouts_ms.items())
        if times
    }
    distinct = set(timeout_words.values())
    if len(timeout_words) > 1 and len(distinct) == 1:
        words = distinct.pop()
    else:
        words = ", ".join(f"{times} ({system_title(system)})" for system, times in timeout_words.items())
    return f"a server is taken for dead after {words}" if timeout_words else ""


def delivery_remark(results: Results) -> str:
    """Say what servers' settings add to end-to-end times; empty where that is not told, or nothing."""
    remarks = (describe(system).delivery_remark(_effective(results, system)) for system in _systems(results))
    return " ".join(filter(None, remarks))


def duplicates_remark(results: Results) -> str:
    """Name the producers that may send a message twice by themselves; empty where there are none."""
    remarks = (
        describe(system).duplicates_remark(_effective(results, system)) for system in _systems(results)
    )
    return ", ".join(filter(None, remarks))


def _systems(results: Results) -> list[str]:
    return in_order(trial.case.system for trial in results.trial_records.values())


def _effective(results: Results, system: str) -> list[Mapping[str, Any]]:
    return [trial.effective or {} for trial in _trials(results, system)]


def distinct(texts: Iterable[str]) -> list[str]:
    """Return each text once, in order."""
    return list(dict.fromkeys(texts))


def _trials(results: Results, system: str) -> list[TrialRecord]:
    return [trial for trial in results.trial_records.values() if trial.case.system == system]


def _words(say: Any, trials: Iterable[TrialRecord]) -> str:  # noqa: ANN401 - a function of a trial
    return "; ".join(distinct(filter(None, map(say, trials))))


def _flags(trial: TrialRecord) -> Mapping[str, Json]:
    """The JVM flags of a trial's servers by role."""
    return (trial.effective or {}).get("jvm") or {}


def _cluster(trial: TrialRecord) -> str:
    case_configuration = trial.case.configuration
    nodes = ", ".join(
        numbers.plural(count, role) for role, count in case_configuration.get("nodes", {}).items()
    )
    heaps = ", ".join(_memory(role, flags) for role, flags in _flags(trial).items())
    partitions = case_configuration.get("partitions")
    words = [
        f"version {case_configuration.get('version') or 'unknown'}",
        nodes,
        f"heap: {heaps}" if heaps else "",
        numbers.plural(int(partitions), "partition") if partitions else "",
    ]
    return ", ".join(word for word in words if word)


def _memory(role: str, flags: Json) -> str:
    heap, direct = (str(flags.get(name, "")).removesuffix("m") for name in ("Xmx", "MaxDirectMemorySize"))
    return f"{role} {heap} MiB{f' and {direct} MiB direct' if direct else ''}"


def _library(results: Results, system: str) -> str:
    versions = results.manifest.get("versions") or {}
    libraries = [f"{name} {versions[name]}" for name in describe(system).libraries if name in versions]
    return f"{', '.join(libraries)}: " if libraries else ""


def _client(trial: TrialRecord) -> str:
    names = trial.case.description.producer_settings
    return ", ".join(f"{name}={text(trial.producer[name])}" for name in names if name in trial.producer)


def _shared_settings(trials: Sequence[TrialRecord]) -> str:
    """What the scenario gave all cases of a system alike; what differs is in their names."""
    setting_values: dict[str, dict[str, set[str]]] = {}
    for trial in trials:
        case_configuration = trial.case.configuration
        owners = {
            **{owner: case_configuration.get(owner) or {} for owner in ("topic", "producer", "consumer")},
            **(case_configuration.get("cluster_settings") or {}),
        }
        for owner, settings in owners.items():
            for name, value in settings.items():
                setting_values.setdefault(owner, {}).setdefault(name, set()).add(text(value))
    shared_settings = {
        owner: [f"{name}={values.pop()}" for name, values in settings.items() if len(values) == 1]
        for owner, settings in setting_values.items()
    }
    return "; ".join(
        f"{owner} {', '.join(assignments)}" for owner, assignments in shared_settings.items() if assignments
    )
