"""What `bench help SCENARIO` prints: what a scenario asks, runs and expects, and how long that takes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from bench import numbers
from bench.faults import read_steps
from bench.model import Case, text
from bench.run import outside, table
from bench.run.plan import Plan
from bench.run.publishing import PUBLISHED
from bench.scenario import PROFILES
from bench.scenario.schema import Scenario
from bench.systems.registry import in_order, system_title

_INDENT, _WIDTH = " " * 4, 100


def manual(name: str) -> str:
    """Return the page of a scenario, by name or file. Raises ScenarioError."""
    plans = {profile: outside.prepare(name, profile, (), 1) for profile in PROFILES}
    plan = plans["standard"]
    scenario = plan.loaded.scenario
    sections = {
        "NAME": [f"{scenario.name} - {scenario.title}"],
        "QUESTION": [scenario.question],
        "SOURCE": [scenario.source or ""],
        "CONFIGURATIONS": list(_configurations(plan)),
        "EXPECTATIONS": list(_expectations(scenario)),
        "TIME AND MEMORY": [*map(table.plan_line, plans.values()), table.memory_line(plan)],
        "ANSWER": list(_answer(scenario.name)),
        "RUN": [
            f"bench run {name} --profile quick",
            f"bench run {name} --dry-run",
            f"File: {plan.loaded.file}",
        ],
    }
    return "\n\n".join(_section(title, lines) for title, lines in sections.items() if any(lines)) + "\n"


def _section(title: str, lines: Iterable[str]) -> str:
    wrapped = (
        textwrap.fill(
            line, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT + "  ", break_on_hyphens=False
        )
        for line in lines
    )
    return "\n".join((title, *wrapped))


def _configurations(plan: Plan) -> Iterator[str]:
    """Say what runs of each system: servers, what is swept over which values, and the steps that break something."""
    by_name = {trial.case.name: trial.case for trial in plan.trials}
    cases = [by_name[name] for name in plan.cases]
    for system in in_order(dict.fromkeys(case.system for case in cases)):
        of_system = [case for case in cases if case.system == system]
        servers = ", ".join(_count(of_system, role) for role in of_system[0].cluster.nodes)
        yield f"{system_title(system)}: {numbers.plural(len(of_system), 'configuration')}{servers and f'; {servers}'}"
        for setting in plan.swept.get(system, ()):
            values = dict.fromkeys(text(case.swept[setting]) for case in of_system if setting in case.swept)
            yield f"  {setting}: {', '.join(values)}"
        yield from _steps(of_system)


def _count(cases: Sequence[Case], role: str) -> str:
    """Return how many nodes of a role there are: 3 or 4 bookies where cases differ."""
    *fewer, most = sorted({case.cluster.nodes.get(role, 0) for case in cases})
    return " or ".join([*map(str, fewer), numbers.plural(most, role)])


def _steps(cases: Sequence[Case]) -> Iterator[str]:
    """Name the steps of a system's cases; where some have others, with the setting that tells them apart."""
    cases_by_steps: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        steps = (f"{step.when}: {step.entry or step.name}" for step in read_steps(case.faults))
        cases_by_steps.setdefault(tuple(dict.fromkeys(steps)), []).append(case)
    for lines, of_steps in cases_by_steps.items():
        if len(cases_by_steps) == 1:
            yield from (f"  {line}" for line in lines)
        else:
            yield f"  {_setting_of(of_steps, [case for case in cases if case not in of_steps])}"
            yield from (f"    {line}" for line in lines)


def _setting_of(cases: Sequence[Case], other_cases: Sequence[Case]) -> str:
    """Return the first setting, with its values, that tells these cases from the others."""
    for name in cases[0].swept:
        values = dict.fromkeys(text(case.swept[name]) for case in cases)
        if values.keys().isdisjoint(text(case.swept[name]) for case in other_cases if name in case.swept):
            return f"{name}={', '.join(values)}"
    return ", ".join(case.name for case in cases)


def _expectations(scenario: Scenario) -> Iterator[str]:
    for expectation in scenario.expectations:
        source = f" ({expectation.source})" if expectation.source else ""
        system = f"{system_title(expectation.system)}: " if expectation.system else ""
        yield f"{system}{expectation.claim}{source}"


def _answer(name: str) -> Iterator[str]:
    """Give the headline of the published run, where there is one, and where its report is."""
    from bench.report import results  # noqa: PLC0415 - loads only where there is a published run
    from bench.report.run_answer import run_answer  # noqa: PLC0415 - as above

    run = PUBLISHED / name
    if (run / "manifest.json").is_file():
        yield run_answer(results.read(run)).findings[0].text
        yield f"Report: {run / 'report.html'}"
