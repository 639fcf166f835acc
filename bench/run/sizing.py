"""How many nodes of each role carry what a requirement asks, by the costs that a run measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bench.analysis.folder import TrialRecord
from bench.analysis.resources.costs import measured_trials
from bench.errors import BenchError
from bench.report import results
from bench.report.pages.size import NAMES, ClusterSize, Sizing
from bench.scenario.requirement import requirement
from bench.sizing.cluster import NodeType, Requirement, SizeError, size
from bench.sizing.demand import Demand
from bench.sizing.measured import costs
from bench.sizing.workload import TERMS

_Demands: TypeAlias = Mapping[str, Mapping[str, Demand]]
"""Models by role and resource."""


def sizing(run: Path, file: Path, *, extrapolate: bool) -> Sizing:
    """Size a cluster of each system and configuration of a run.

    Raises ScenarioError where the file is wrong, ReportError where the run has no results, and BenchError where the run
    does not tell all costs, where no number of nodes is enough, or, unless `extrapolate`, where the requirement lies
    far from what was measured.
    """
    wanted, nodes = requirement(file)
    measured = _measured(run, nodes)
    for system in dict.fromkeys(system for system, _ in measured):
        for role in [role for role in _roles(system) if role not in nodes]:
            raise BenchError(
                f"{file}: nodes.{role} is missing: {run.name} measured {system}, which has nodes of this role"
            )
    found = Sizing(run.name, file, wanted, nodes, list(_clusters(file, measured, wanted, nodes)))
    if found.warnings and not extrapolate:
        told = "\n  ".join(found.warnings)
        raise BenchError(
            f"{file}: it lies beyond twice the range that {run.name} measured:\n  {told}\n"
            "Measure nearer to it, or take the risk with --extrapolate."
        )
    return found


def _roles(system: str) -> list[str]:
    return [role for known, role in TERMS if known == system]


def _measured(
    run: Path, nodes: Mapping[str, NodeType]
) -> dict[tuple[str, str], dict[str, dict[str, Demand]]]:
    """Fit a run's costs again; return the models by system and configuration."""
    trials = [TrialRecord.model_validate(document) for document in results.trial_documents(run).values()]
    rows, use = (_rows(run, name) for name in ("trials", "use"))
    found, refused = costs(measured_trials(trials, rows, use), use)
    limited = {name for node in nodes.values() for name in node.has}
    untold = [
        f"what a {one.role} of {one.system} takes of {NAMES[one.resource]} ({one.reason})"
        for one in refused
        if one.resource in limited
    ]
    untold += [
        f"what a {role} of {system} takes"
        for system in dict.fromkeys(one.system for one in found)
        for role in _roles(system)
        if not any((one.system, one.role) == (system, role) for one in found)
    ]
    if untold or not found:
        raise BenchError(
            f"{run}: its trials do not tell {'; '.join(untold) or 'what a message and a byte cost'}; "
            "run the scenario cost, or this one with more rates, sizes and copies"
        )
    models: dict[tuple[str, str], dict[str, dict[str, Demand]]] = {}
    for one in found:
        by_role = models.setdefault((one.system, one.configuration), {})
        by_role.setdefault(one.role, {})[one.resource] = one.demand
    return models


def _rows(run: Path, name: str) -> list[dict[str, Any]]:
    table = results.table(run, name)
    return [dict(zip(table.columns, row, strict=True)) for row in table.itertuples(index=False)]


def _clusters(
    file: Path,
    measured: Mapping[tuple[str, str], _Demands],
    wanted: Requirement,
    nodes: Mapping[str, NodeType],
) -> Iterator[ClusterSize]:
    for (system, configuration), demands in measured.items():
        try:
            roles = [size(system, role, of_role, wanted, nodes[role]) for role, of_role in demands.items()]
        except SizeError as error:
            raise BenchError(f"{file}: {system}: {error}") from error
        variations = {
            words: {role: _nodes(system, role, demands, changed, nodes) for role in demands}
            for words, changed in wanted.variations()
        }
        yield ClusterSize(system, configuration, roles, variations)


def _nodes(
    system: str, role: str, demands: _Demands, wanted: Requirement, nodes: Mapping[str, NodeType]
) -> int | None:
    try:
        return size(system, role, demands[role], wanted, nodes[role]).nodes
    except SizeError:
        return None
