"""A scenario's expectations held against its systems and cases: what can't be decided is refused before it starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

from bench.columns import BROKEN, CONSUMER_COUNTERS
from bench.faults.drain import Drain
from bench.faults.step import AsGroup, Read, Rebalance, Step, read_steps
from bench.model import Case, text, texts
from bench.scenario import LoadedScenario, Scenario
from bench.scenario.expand import has
from bench.scenario.expectation import Expectation

_NEEDS_OPEN_LOOP = ("response_", "queue_")
_NEEDS_CONSUMERS = ("e2e_", "live_", "first_received_", *CONSUMER_COUNTERS)
_NEEDS_READER = ("reader_",)


def check(loaded: LoadedScenario, cases: Sequence[Case], *, narrowed: bool) -> None:
    """Raise ScenarioError for the first expectation that speaks of what this scenario does not have.

    What was `narrowed`, by `--set` or by an external cluster, may leave an expectation without its cases: then it stays
    undecided, and the report says so.
    """
    for number, expectation in enumerate(loaded.scenario.expectations):
        of_cases = () if narrowed else _wrong(expectation, cases)
        for message in chain(_name_errors(expectation, loaded.scenario), of_cases):
            raise loaded.error(("expectations", number), f"{expectation.id!r} {message}")
    if loaded.profile == "standard" and not narrowed:
        for path, message in _no_case(loaded.scenario, cases):
            raise loaded.error(path, message)
    for system, settings in loaded.scenario.baseline.items():
        of_baseline = () if narrowed else _side(system, settings, "", cases)
        for message in of_baseline:
            raise loaded.error(("baseline", system), message)


def _no_case(scenario: Scenario, cases: Sequence[Case]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the sides of the answer's comparisons that are points of the sweep which cannot exist."""
    for number, comparison in enumerate(scenario.answer):
        for side, settings in (("of", comparison.of), ("to", comparison.to)):
            system_cases = [case for case in cases if case.system == comparison.system]
            if settings and not any(has(case, settings) for case in system_cases):
                point = ", ".join(f"{name}={text(value)}" for name, value in settings.items())
                yield ("answer", number, side), f"{comparison.system} cannot have a case with {point}"


def _name_errors(expectation: Expectation, scenario: Scenario) -> Iterator[str]:
    """Say which system or step is not there, and which step cannot be what is asked of it."""
    if [scenario_expectation.id for scenario_expectation in scenario.expectations].count(expectation.id) > 1:
        yield "is the id of two expectations: give each its own"
    systems = scenario.systems.specs()
    for system in sorted(expectation.systems - systems.keys()):
        yield f"speaks of {system}, which this scenario does not run: add it below `systems`, or take the claim out"
    for system in sorted(expectation.systems & systems.keys()) if expectation.steps else ():
        steps = {
            name: list(entry_steps)
            for step_list in systems[system].step_lists().values()
            for name, entry_steps in _by_name(read_steps(step_list))
        }
        several = {expectation.fault, expectation.reading, expectation.transfer}
        for name in expectation.steps:
            if name not in steps:
                yield f"speaks of a step {name!r}, which {system} does not have; one of {', '.join(steps)}"
            elif name == expectation.fault and steps[name][0].fault is None:
                strikes = [
                    step_name for step_name, entry_steps in steps.items() if entry_steps[0].fault is not None
                ]
                yield f"speaks of the fault {name!r}, a step that strikes nothing; one of {', '.join(strikes)}"
            elif name == expectation.reading and not _reads(steps[name][0]):
                reading = [step_name for step_name, entry_steps in steps.items() if _reads(entry_steps[0])]
                yield f"speaks of the reading {name!r}, a step that does not read; one of {', '.join(reading)}"
            elif name == expectation.transfer and not _moves(steps[name][0]):
                moving = [step_name for step_name, entry_steps in steps.items() if _moves(entry_steps[0])]
                yield f"speaks of the transfer {name!r}, a step that moves nothing; one of {', '.join(moving)}"
            elif name not in several and (len(steps[name]) > 1 or steps[name][0].always):
                yield f"counts from or to the step {name!r}, which comes several times: give it steps of their own"


def _by_name(steps: Iterable[Step]) -> Iterator[tuple[str, Iterable[Step]]]:
    """Put those together that one entry of a scenario gives, by its name."""
    return groupby(steps, lambda step: step.entry or step.name)


def _wrong(expectation: Expectation, cases: Sequence[Case]) -> Iterator[str]:
    if expectation.ratio is not None:
        for side in (expectation.ratio.of, expectation.ratio.to):
            yield from _side(side.system, side.where, side.metric or expectation.metric, cases)
        return
    yield from _side(str(expectation.system), expectation.where, expectation.metric, cases)
    along = expectation.decreasing or expectation.increasing or expectation.steady or {}
    for name, values in along.items():
        yield from _along(str(expectation.system), name, values, cases)


def _side(system: str, settings: Mapping[str, Any], metric: str, cases: Sequence[Case]) -> Iterator[str]:
    system_cases = [case for case in cases if case.system == system]
    for name, values in settings.items():
        swept_values = _values(system_cases, name)
        if not swept_values:
            yield f"speaks of {name!r}, which {system} does not sweep{_sweep_note(system_cases)}"
        elif swept_values.isdisjoint(texts(values)):
            yield f"speaks of {name}={', '.join(texts(values))}, and {system} has {', '.join(sorted(swept_values))}"
    if metric.startswith(_NEEDS_OPEN_LOOP) and all(case.load.pacing.is_closed_loop for case in system_cases):
        yield f"speaks of {metric}, which a closed loop does not have: give load.rate"
    if metric.startswith(_NEEDS_CONSUMERS) and not any(case.load.consumers for case in system_cases):
        yield f"speaks of {metric}, and there are no consumers"
    if metric in BROKEN and not any(case.faults for case in system_cases):
        yield f"speaks of {metric}, and {system} has no faults"
    elif metric.startswith(_NEEDS_READER) and not any(_has_reader(case) for case in system_cases):
        yield f"speaks of {metric}, and no step of {system} reads: give one `read: earliest`"


def _reads(step: Step) -> bool:
    return isinstance(step.action, Read) or (isinstance(step.action, AsGroup) and step.action.reads)


def _moves(step: Step) -> bool:
    return isinstance(step.action, Drain | Rebalance)


def _has_reader(case: Case) -> bool:
    return any(isinstance(step.action, Read) for step in read_steps(case.faults))


def _along(system: str, name: str, values: Sequence[Any], cases: Sequence[Case]) -> Iterator[str]:
    system_cases = [case for case in cases if case.system == system]
    swept_values = _values(system_cases, name)
    if not swept_values:
        yield f"goes along {name!r}, which {system} does not sweep{_sweep_note(system_cases)}"
    elif len(swept_values.intersection(texts(values))) < 2:
        yield f"goes along {name}={', '.join(texts(values))}, and {system} has {', '.join(sorted(swept_values))}"


def _values(cases: Sequence[Case], name: str) -> set[str]:
    return {text(case.swept[name]) for case in cases if name in case.swept}


def _sweep_note(cases: Sequence[Case]) -> str:
    names = dict.fromkeys(name for case in cases for name in case.swept)
    return f"; it sweeps {', '.join(names)}" if names else ""
