"""How many nodes of each role carry what a requirement asks, by the costs that a run measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from bench.analysis.folder import TrialRecord
from bench.analysis.resources.costs import measured_trials
from bench.errors import BenchError
from bench.report import results
from bench.report.pages.size import NAMES, ClusterSize, Sizing
from bench.scenario.requirement import read_requirement
from bench.sizing.cluster import LIMITED, NodeType, Requirement, RoleSize, SizeError, size
from bench.sizing.demand import Demand
from bench.sizing.measured import costs
from bench.sizing.workload import TERMS

_Demands: TypeAlias = Mapping[str, Mapping[str, Demand]]
"""Models by role and resource."""


def sizing(run: Path, file: Path, *, extrapolate: bool) -> Sizing:
    """Size a cluster of each system and configuration of a run.

    Raises ScenarioError where the file is wrong, and ReportError where the run has no results. Raises BenchError where
    the run does not tell all costs, or where no number of nodes is enough; unless `extrapolate`, also where the
    requirement lies far from what was measured.
    """
    requirement, nodes = read_requirement(file)
    measured = _measured(run)
    for system in dict.fromkeys(system for system, _ in measured):
        for role in [role for role in _roles(system) if role not in nodes]:
            raise BenchError(
                f"{file}: nodes.{role} is missing: {run.name} measured {system}, which has nodes of this role"
            )
    sized = Sizing(run.name, file, requirement, nodes, list(_clusters(file, measured, requirement, nodes)))
    if sized.warnings and not extrapolate:
        warnings = "\n  ".join(sized.warnings)
        raise BenchError(
            f"{file}: it lies beyond twice the range that {run.name} measured:\n  {warnings}\n"
            "Measure nearer to it, or take the risk with --extrapolate."
        )
    return sized


def _roles(system: str) -> list[str]:
    return [role for known, role in TERMS if known == system]


def _measured(run: Path) -> dict[tuple[str, str], dict[str, dict[str, Demand]]]:
    """Fit a run's costs again; return the models by system and configuration."""
    trials = [TrialRecord.model_validate(document) for document in results.trial_documents(run).values()]
    rows, use = (results.records(results.table(run, name)) for name in ("trials", "use"))
    measured = measured_trials(trials, rows, use)
    fitted, refused = costs(measured, use)
    demands = {(one.system, one.configuration, one.role, one.resource): one.demand for one in fitted}
    reasons = {(one.system, one.configuration, one.role, one.resource): one.reason for one in refused}
    needed = [
        (system, configuration, role, resource)
        for system, configuration in dict.fromkeys((one.system, one.configuration) for one in measured)
        for role in _roles(system)
        for resource in LIMITED
    ]
    untold = [
        f"what a {role} of {f'{system} {configuration}'.strip()} takes of {NAMES[resource]} "
        f"({reasons.get((system, configuration, role, resource), 'no trial measured it on all nodes')})"
        for system, configuration, role, resource in needed
        if (system, configuration, role, resource) not in demands
    ]
    if untold or not needed:
        raise BenchError(
            f"{run}: its trials do not tell {'; '.join(untold) or 'what messages, bytes and batches cost'}; "
            "run the scenario cost, or this one with more rates, sizes and copies"
        )
    models: dict[tuple[str, str], dict[str, dict[str, Demand]]] = {}
    for system, configuration, role, resource in needed:
        by_role = models.setdefault((system, configuration), {})
        by_role.setdefault(role, {})[resource] = demands[system, configuration, role, resource]
    return models


def _clusters(
    file: Path,
    measured: Mapping[tuple[str, str], _Demands],
    requirement: Requirement,
    nodes: Mapping[str, NodeType],
) -> Iterator[ClusterSize]:
    for (system, configuration), demands in measured.items():
        try:
            roles = [
                size(system, role, of_role, requirement, nodes[role]) for role, of_role in demands.items()
            ]
        except SizeError as error:
            raise BenchError(
                f"{file}: {system}: {error.nodes:,} nodes of the role {error.role} would still use "
                f"{error.share:.0%} of their {NAMES[error.resource]}"
            ) from error
        variations = {
            words: {role: _changed(system, role, demands, changed, nodes) for role in demands}
            for words, changed in requirement.variations()
        }
        used = [demand for of_role in demands.values() for demand in of_role.values() if demand.costs]
        errors = [error for demand in used for error in demand.errors]
        yield ClusterSize(system, configuration, roles, variations, errors)


def _changed(
    system: str, role: str, demands: _Demands, requirement: Requirement, nodes: Mapping[str, NodeType]
) -> RoleSize | None:
    try:
        return size(system, role, demands[role], requirement, nodes[role])
    except SizeError:
        return None
