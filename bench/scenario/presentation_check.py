"""A scenario's presentation, checked against its sweep: names of no case are refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bench.columns import BROKEN, OUTAGE
from bench.fault_kinds import FAULT_KINDS
from bench.guarantee import Guarantee
from bench.model import Case, Scalar, text, texts
from bench.scenario.expand import cases, has
from bench.scenario.presentation import CauseSpec, ComparisonSpec
from bench.scenario.schema import Scenario
from bench.scenario.yaml_source import KeyPath
from bench.systems.registry import describe

Mistake = tuple[KeyPath, str]
"""Where in the file, and what is wrong there."""


def mistakes(scenario: Scenario) -> Iterator[Mistake]:
    """Yield what labels, answer and causes name that the sweep of this scenario, without a profile, does not have."""
    if not (scenario.labels or scenario.answer or scenario.causes):
        return
    swept = cases(scenario, lambda _system: "")
    yield from _labels(scenario.labels, swept)
    for number, comparison in enumerate(scenario.answer):
        yield from _comparison(("answer", number), comparison, scenario, swept)
    for number, cause in enumerate(scenario.causes):
        yield from _cause(("causes", number), cause, scenario, swept)


def _labels(labels: Mapping[str, Mapping[str, str]], swept: Sequence[Case]) -> Iterator[Mistake]:
    for name, words in labels.items():
        swept_values = _values(swept, name)
        if not swept_values:
            yield ("labels", name), f"no system sweeps {name!r}{_sweep(swept)}"
            continue
        for value in words:
            if value not in swept_values:
                yield (
                    ("labels", name, value),
                    f"no case has {name}={value}; the values are {', '.join(swept_values)}",
                )


def _comparison(
    path: KeyPath, comparison: ComparisonSpec, scenario: Scenario, swept: Sequence[Case]
) -> Iterator[Mistake]:
    if comparison.system is not None:
        yield from _change(path, comparison, comparison.system, scenario, swept)
    else:
        yield from _guarantee(path, comparison, swept)
    breaks = any(_breaks(case) for case in swept)
    if breaks and comparison.metric != OUTAGE:
        yield (
            (*path, "metric"),
            f"where something breaks, an answer compares {OUTAGE}: write metric: {OUTAGE}",
        )
    if not breaks and comparison.metric == OUTAGE:
        yield (*path, "metric"), f"only faults set {OUTAGE}, and this scenario has none"


def _breaks(case: Case) -> bool:
    """Whether a step of a case does more than make something slower."""
    kinds = (FAULT_KINDS[key] for step in case.faults for key in step if key in FAULT_KINDS)
    return any(not kind.only_slows for kind in kinds)


def _change(
    path: KeyPath, comparison: ComparisonSpec, system: str, scenario: Scenario, swept: Sequence[Case]
) -> Iterator[Mistake]:
    if system not in scenario.systems.specs():
        yield (*path, "system"), _no_system(system, scenario)
        return
    system_cases = [case for case in swept if case.system == system]
    picked = []
    for side, settings in (("of", comparison.of), ("to", comparison.to)):
        unknown = list(_unknown((*path, side), system, settings, system_cases))
        yield from unknown
        case_names = [] if unknown else [case.name for case in system_cases if has(case, settings)]
        picked.append(case_names)
        if len(case_names) > 1 and comparison.metric != OUTAGE:
            left = [name for name in system_cases[0].swept if name not in settings]
            yield (*path, side), f"{len(case_names)} cases have these settings: name {', '.join(left)} too"
    if picked[0] and picked[0] == picked[1]:
        yield (*path, "to"), "`of` and `to` are the same case"
    elif comparison.of.keys() != comparison.to.keys() and max(map(len, picked)) > 1:
        yield (*path, "to"), "`of` and `to` that pick several cases name the same settings"


def _guarantee(path: KeyPath, comparison: ComparisonSpec, swept: Sequence[Case]) -> Iterator[Mistake]:
    systems = list(dict.fromkeys(case.system for case in swept))
    if len(systems) != 2:
        yield (
            (*path, "guarantee"),
            f"a guarantee compares two systems; this scenario has {', '.join(systems)}",
        )
        return
    wrong = [
        mistake
        for system in systems
        for mistake in _unknown(
            (*path, "at"), system, comparison.at, [case for case in swept if case.system == system]
        )
    ]
    yield from wrong
    shared = _shared_promises([case for case in swept if has(case, comparison.at)], systems)
    if not wrong and comparison.guarantee not in shared:
        shared_text = "; ".join(shared) or "none"
        yield (
            (*path, "guarantee"),
            f"the systems do not share the guarantee {comparison.guarantee!r}; shared: {shared_text}",
        )


def _shared_promises(swept: Sequence[Case], systems: Sequence[str]) -> list[str]:
    """Return what messages survive on both systems, in the words of each."""
    promises: dict[str, list[Guarantee]] = {system: [] for system in systems}
    for case in swept:
        if promise := _promise(case):
            promises[case.system].append(promise)
    left_promises, right_promises = promises.values()
    pairs = [(left, right) for left in left_promises for right in right_promises if left.same(right)]
    return list(dict.fromkeys(promise.survives for pair in pairs for promise in pair))


def _promise(case: Case) -> Guarantee | None:
    configuration: dict[str, Any] = {
        "nodes": case.cluster.nodes,
        "cluster_settings": case.cluster.settings,
        "topic": case.topic,
        "producer": case.producer,
        "consumer": case.consumer,
        "disk": case.disk,
    }
    return describe(case.system).guarantee(case.swept, configuration)


def _cause(path: KeyPath, cause: CauseSpec, scenario: Scenario, swept: Sequence[Case]) -> Iterator[Mistake]:
    if cause.system not in scenario.systems.specs():
        yield (*path, "system"), _no_system(cause.system, scenario)
        return
    system_cases = [case for case in swept if case.system == cause.system]
    yield from _unknown((*path, "where"), cause.system, cause.where, system_cases)
    if cause.when.metric in BROKEN and not any(case.faults for case in system_cases):
        yield (
            (*path, "when", "metric"),
            f"only faults set {cause.when.metric}, and {cause.system} has no faults",
        )


def _unknown(
    path: KeyPath, system: str, settings: Mapping[str, Scalar | list[Scalar]], system_cases: Sequence[Case]
) -> Iterator[Mistake]:
    """Yield the settings that a system does not sweep, and values that no case of it has."""
    for name, values in settings.items():
        swept_values = _values(system_cases, name)
        if not swept_values:
            yield (*path, name), f"{system} does not sweep {name!r}{_sweep(system_cases)}"
            continue
        absent = [value for value in texts(values) if value not in swept_values]
        if absent:
            yield (
                (*path, name),
                f"{system} has no case with {name}={', '.join(absent)}; the values are {', '.join(swept_values)}",
            )


def _values(swept: Sequence[Case], name: str) -> Collection[str]:
    return dict.fromkeys(text(case.swept[name]) for case in swept if name in case.swept)


def _sweep(swept: Sequence[Case]) -> str:
    names = dict.fromkeys(name for case in swept for name in case.swept)
    return f"; swept: {', '.join(names)}" if names else "; nothing is swept"


def _no_system(system: str, scenario: Scenario) -> str:
    return f"this scenario does not run {system}; it runs {', '.join(scenario.systems.specs())}"
