"""How many nodes of each role carry what a requirement asks, by the costs that a run measured."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from bench import numbers
from bench.analysis.resources.costs import measured_trials
from bench.errors import BenchError
from bench.guarantee import LEVELS, Guarantee
from bench.report import results
from bench.report.pages.size_answer import NAMES, ClusterSize, Sizing
from bench.report.sections.predictions import PredictionError, prediction_errors
from bench.run.busy_nodes import held_starts
from bench.scenario.requirement import RequirementFile, read_requirement
from bench.sizing.busy_share import BusyShare, BusyShareError, HeldStart, busy_share
from bench.sizing.cluster import RoleSize, SizeError, size
from bench.sizing.cost_observations import MeasuredTrial, costs
from bench.sizing.demand import Demand
from bench.sizing.guarantee_choice import choices, measured_guarantees
from bench.sizing.requirement import LIMITED, Requirement
from bench.systems.registry import describe, system_title

_Demands: TypeAlias = Mapping[str, Mapping[str, Demand]]
"""Models by role and resource."""
_Key: TypeAlias = tuple[str, str]
"""A system and a configuration."""

_FSYNCS = "flushes"
_COST_RUN = "bench run cost"


@dataclass(frozen=True, slots=True)
class _Costs:
    """What a run measured: its trials, and by configuration the models of what is limited and of fsyncs."""

    run: Path
    trials: Sequence[MeasuredTrial]
    models: Mapping[_Key, _Demands]
    fsyncs: Mapping[_Key, Demand]


@dataclass(frozen=True, slots=True)
class _Task:
    """A configuration to size a cluster for, with what is asked of it."""

    key: _Key
    requirement: Requirement
    guarantee: Guarantee | None = None
    busy: BusyShare | None = None


def sizing(run: Path, file: Path, *, extrapolate: bool, capacity: Path | None = None) -> Sizing:
    """Size a cluster of each system and configuration of a run, or of those that give the guarantee asked for.

    `capacity` is a run that searched for capacities: it says how busy nodes may be where the file asks for a p99.

    Raises ScenarioError where the file is wrong, and ReportError where a run has no results. Raises BenchError
    where the runs do not tell what is asked on any system, or where no number of nodes is enough. Unless
    `extrapolate`, raises it also where the requirement lies far from what was measured.
    """
    requirement_file = read_requirement(file)
    starts = _read_held_starts(requirement_file, run, capacity)
    measured = _fit_costs(run)
    _check_roles(requirement_file, measured)
    tasks, refused = _tasks(requirement_file, measured, starts, capacity)
    if not tasks:
        raise BenchError("\n".join(refused))
    clusters = [_cluster(task, requirement_file, measured) for task in tasks]
    sized = Sizing(
        run.name,
        requirement_file,
        clusters,
        capacity.name if capacity else None,
        refused,
        _capacity_errors(capacity, [cluster.system for cluster in clusters]),
    )
    if sized.warnings and not extrapolate:
        warnings = "\n  ".join(sized.warnings)
        raise BenchError(
            f"{file}: it lies beyond twice the range that {run.name} measured:\n  {warnings}\n"
            "Measure nearer to it, or take the risk with --extrapolate."
        )
    return sized


def _capacity_errors(capacity: Path | None, systems: Collection[str]) -> dict[str, PredictionError]:
    """Return how far capacities of these systems are off that were predicted from a run's other configurations."""
    if capacity is None:
        return {}
    errors = prediction_errors(*(results.table(capacity, name) for name in ("predictions", "capacities")))
    return {system: error for system, error in errors.items() if system in systems}


def _read_held_starts(
    requirement_file: RequirementFile, run: Path, capacity: Path | None
) -> Sequence[HeldStart]:
    """Return the searches of the run that says how busy nodes may be; none where no p99 is asked."""
    if requirement_file.p99_s is None:
        if capacity is not None:
            raise BenchError(
                f"{requirement_file.file}: p99 is missing: --capacity is for it. Add p99: 50ms, or leave it out"
            )
        return []
    if capacity is None:
        raise BenchError(
            f"{requirement_file.file}: p99: which CPU use keeps it takes a run that searched for capacities. "
            f"Make one with `{_capacity_run(requirement_file.p99_s)}`, "
            f"then `bench size {run.name} {requirement_file.file} --capacity RUN`"
        )
    return held_starts(capacity)


def _capacity_run(p99_s: float) -> str:
    return f"bench run capacity --set capacity.response_p99={p99_s * 1_000:g}ms"


def _check_roles(requirement_file: RequirementFile, measured: _Costs) -> None:
    for system in dict.fromkeys(system for system, _ in measured.models):
        for role in [role for role in _roles(system) if role not in requirement_file.nodes]:
            raise BenchError(
                f"{requirement_file.file}: nodes.{role} is missing: {measured.run.name} measured {system}, which has "
                "nodes of this role"
            )


def _roles(system: str) -> list[str]:
    return list(describe(system).work)


def _fit_costs(run: Path) -> _Costs:
    """Fit a run's costs again. Raises BenchError where a role's use of some resource is not known."""
    trials = [*results.trial_records(run).values()]
    rows, use = (results.records(results.table(run, name)) for name in ("trials", "use"))
    measured = measured_trials(trials, rows, use)
    fitted, refused = costs(measured, use, lambda system: describe(system).work)
    demands = {(fit.system, fit.configuration, fit.role, fit.resource): fit.demand for fit in fitted}
    reasons = {
        (refusal.system, refusal.configuration, refusal.role, refusal.resource): refusal.reason
        for refusal in refused
    }
    needed = [
        (system, configuration, role, resource)
        for system, configuration in dict.fromkeys((trial.system, trial.configuration) for trial in measured)
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
    models: dict[_Key, dict[str, dict[str, Demand]]] = {}
    for system, configuration, role, resource in needed:
        by_role = models.setdefault((system, configuration), {})
        by_role.setdefault(role, {})[resource] = demands[system, configuration, role, resource]
    fsyncs = {
        (system, configuration): demand
        for (system, configuration, role, resource), demand in demands.items()
        if (role, resource) == (describe(system).storage_role, _FSYNCS)
    }
    return _Costs(run, measured, models, fsyncs)


def _tasks(
    requirement_file: RequirementFile, measured: _Costs, starts: Sequence[HeldStart], capacity: Path | None
) -> tuple[list[_Task], list[str]]:
    """Return what is to be sized, and a sentence for each system that cannot be."""
    guarantee = requirement_file.guarantee
    if guarantee is None:
        return [_Task(key, requirement_file.requirement) for key in measured.models], []
    tasks: list[_Task] = []
    refused: list[str] = []
    guarantee_choices = choices(measured.trials, guarantee)
    for system in dict.fromkeys(system for system, _ in measured.models):
        of_system = [choice for choice in guarantee_choices if choice.system == system]
        if not of_system:
            refused.append(_unmeasured_message(requirement_file, measured, system, guarantee))
            continue
        try:
            busy = _busy(requirement_file, starts, system)
        except BusyShareError as error:
            refused.append(_not_held(requirement_file, capacity, system, error))
            continue
        for choice in of_system:
            if requirement_file.copies not in {None, choice.copies}:
                refused.append(
                    f"{requirement_file.file}: copies: {system_title(system)} gives the guarantee with {choice.copies} "
                    f"copies in {measured.run.name}, not with {requirement_file.copies}. Leave copies out, or measure "
                    "such a configuration"
                )
                continue
            requirement = requirement_file.requirement
            mean = replace(requirement.mean, copies=choice.copies)
            limited = replace(requirement, mean=mean, cpu_limit=busy.limit if busy else None)
            tasks.append(_Task((system, choice.configuration), limited, choice.guarantee, busy))
    return tasks, refused


def _busy(requirement_file: RequirementFile, starts: Sequence[HeldStart], system: str) -> BusyShare | None:
    if requirement_file.p99_s is None or requirement_file.guarantee is None:
        return None
    return busy_share(
        starts,
        system,
        requirement_file.guarantee,
        requirement_file.p99_s,
        int(requirement_file.requirement.mean.message_bytes),
    )


def _unmeasured_message(
    requirement_file: RequirementFile, measured: _Costs, system: str, guarantee: Guarantee
) -> str:
    guarantee_words = (
        "; ".join(measured_guarantees(measured.trials, system)) or "nothing that the suite knows of"
    )
    suite_level = any(level.same(guarantee) for level in LEVELS.values())
    command = _cost_run(measured, guarantee, suite_level=suite_level)
    return (
        f"{requirement_file.file}: guarantee: {measured.run.name} measured no configuration of {system_title(system)} "
        f"that survives {guarantee.in_nodes}. It measured what survives: {guarantee_words}. Ask for one of these, or "
        f"measure such a configuration with `{command}`"
    )


def _cost_run(measured: _Costs, guarantee: Guarantee, *, suite_level: bool) -> str:
    """Return the command that measures a guarantee; of one that is none of the suite's own, what is to be filled in."""
    systems = [describe(system) for system in dict.fromkeys(system for system, _ in measured.models)]
    if not suite_level:
        keys = [f"{system.name}.topic=…" for system in systems]
    else:
        keys = [f"{system.name}.{system.fsync_setting}" for system in systems if guarantee.power]
    return " ".join([_COST_RUN, *(f"--set systems.{key}" for key in keys)])


def _not_held(
    requirement_file: RequirementFile, capacity: Path | None, system: str, error: BusyShareError
) -> str:
    return (
        f"{requirement_file.file}: p99: {capacity and capacity.name} does not say how busy nodes of "
        f"{system_title(system)} may be: {error}. Measure it with `{_capacity_run(requirement_file.p99_s or 0)}`"
    )


def _cluster(task: _Task, requirement_file: RequirementFile, measured: _Costs) -> ClusterSize:
    system, configuration = task.key
    demands = measured.models[task.key]
    try:
        roles = [
            _size(system, role, of_role, task.requirement, requirement_file)
            for role, of_role in demands.items()
        ]
    except SizeError as error:
        raise BenchError(
            f"{requirement_file.file}: {system}: {error.nodes:,} nodes of the role {error.role} would still use "
            f"{numbers.percent(error.share)} of their {NAMES[error.resource]}"
        ) from error
    used = [demand for of_role in demands.values() for demand in of_role.values() if demand.costs]
    return ClusterSize(
        system=system,
        configuration=configuration,
        requirement=task.requirement,
        roles=roles,
        variations={
            words: {
                role: _variation_size(system, role, demands, changed, requirement_file) for role in demands
            }
            for words, changed in task.requirement.variations()
        },
        errors=[error for demand in used for error in demand.errors if math.isfinite(error)],
        guarantee=task.guarantee,
        fsyncs_per_message=_fsyncs(task, measured, roles),
        busy=task.busy,
    )


def _fsyncs(task: _Task, measured: _Costs, roles: Sequence[RoleSize]) -> float | None:
    """Return how many fsyncs the nodes that keep messages make for each message at the peak; None where not known."""
    demand = measured.fsyncs.get(task.key)
    if demand is None:
        return None
    keeper, peak = describe(task.key[0]).storage_role, task.requirement.peak
    nodes = next(role.nodes for role in roles if role.role == keeper)
    return demand.predict(peak, nodes).use / peak.messages_per_s


def _variation_size(
    system: str, role: str, demands: _Demands, requirement: Requirement, requirement_file: RequirementFile
) -> RoleSize | None:
    try:
        return _size(system, role, demands[role], requirement, requirement_file)
    except SizeError:
        return None


def _size(
    system: str,
    role: str,
    demands: Mapping[str, Demand],
    requirement: Requirement,
    requirement_file: RequirementFile,
) -> RoleSize:
    stores = role == describe(system).storage_role
    return size(role, demands, requirement, requirement_file.nodes[role], stores=stores)
