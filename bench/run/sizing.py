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
from bench.sizing.cluster import NodeType, Requirement, SizeError, size
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
    fitted, refused = costs(measured_trials(trials, rows, use), use)
    untold = [
        f"what a {unfitted.role} of {unfitted.system} takes of {NAMES[unfitted.resource]} ({unfitted.reason})"
        for unfitted in refused
        if unfitted.resource in NAMES
    ]
    untold += [
        f"what a {role} of {system} takes"
        for system in dict.fromkeys(model.system for model in fitted)
        for role in _roles(system)
        if not any((model.system, model.role) == (system, role) for model in fitted)
    ]
    if untold or not fitted:
        raise BenchError(
            f"{run}: its trials do not tell {'; '.join(untold) or 'what a message and a byte cost'}; "
            "run the scenario cost, or this one with more rates, sizes and copies"
        )
    models: dict[tuple[str, str], dict[str, dict[str, Demand]]] = {}
    for model in fitted:
        by_role = models.setdefault((model.system, model.configuration), {})
        by_role.setdefault(model.role, {})[model.resource] = model.demand
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
            raise BenchError(f"{file}: {system}: {error}") from error
        variations = {
            words: {role: _nodes(system, role, demands, changed, nodes) for role in demands}
            for words, changed in requirement.variations()
        }
        yield ClusterSize(system, configuration, roles, variations)


def _nodes(
    system: str, role: str, demands: _Demands, requirement: Requirement, nodes: Mapping[str, NodeType]
) -> int | None:
    try:
        return size(system, role, demands[role], requirement, nodes[role]).nodes
    except SizeError:
        return None
