"""What the command prints about plans and machines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table

from bench import numbers
from bench.model import text
from bench.run import preflight
from bench.run.plan import Plan
from bench.run.preflight import PreflightFinding
from bench.run.shared_clusters import side_by_side


def plan_line(plan: Plan) -> str:
    """Say in one line how much there is to do."""
    left_out = (
        f"; {numbers.plural(len(plan.left_out), 'point')} of the sweep left out" if plan.left_out else ""
    )
    return (
        f"{plan.loaded.scenario.name} ({plan.loaded.profile}): {numbers.plural(len(plan.trials), 'trial')} on "
        f"{numbers.plural(len(plan.clusters()), 'cluster start')}, about {plan.seconds() / 60:.0f} min"
        f"{_budget(plan)}{left_out}"
    )


def _budget(plan: Plan) -> str:
    """Say for how long rounds are added to these; empty where they are all."""
    budget_s = plan.loaded.scenario.budget
    if budget_s is None:
        return ""
    most = "" if budget_s == math.inf else f", for {budget_s / 60:.0f} min at most"
    return f" a round; {plan.loaded.scenario.repeats} rounds or more, until all is decided{most}"


def plan_table(plan: Plan) -> RenderableType:
    """Show trials in their order, what was left out, time and memory."""
    shown = Table("trial", "round", "case")
    for trial in plan.trials:
        shown.add_row(str(trial.number), str(trial.round), trial.case.name)
    parts: list[RenderableType] = [shown]
    if plan.left_out:
        parts.append(_left_out(plan))
    return Group(
        *parts,
        memory_line(plan),
        plan_line(plan),
    )


def reasons(plan: Plan) -> Counter[str]:
    """Count the points that were left out, by the reason why."""
    return Counter(point.reason for point in plan.left_out)


def _left_out(plan: Plan) -> Table:
    shown = Table("left out", "why")
    for point in plan.left_out:
        words = " ".join(f"{name}={text(value)}" for name, value in point.settings.items())
        shown.add_row(f"{point.system} {words}", point.reason)
    return shown


def memory_line(plan: Plan) -> str:
    """Say how much memory the servers that run at the same time take, with their load."""
    groups = side_by_side([trial.case for trial in plan.trials])
    most = max(preflight.memory_bytes(preflight.servers(clusters)) for clusters in groups)
    return f"memory: {most / 2**30:.1f} GiB for the servers and their load"


def findings_table(findings: Iterable[PreflightFinding]) -> Table:
    """Show what `bench doctor` found; a problem with what it costs and what to do."""
    shown = Table("", "what", "found", "what to do")
    for finding in findings:
        shown.add_row(
            "ok" if finding.problem is None else "[red]!![/red]",
            finding.subject,
            finding.observation,
            finding.problem,
        )
    return shown
