"""Measured trials as observations of what work costs, by system, role and resource."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.guarantee import Guarantee, own_name
from bench.sizing.demand import Demand, Observation, fit
from bench.sizing.workload import Term, Workload

_RESOURCES = ("cpu_s", "disk_write_bytes", "net_in_bytes", "net_out_bytes", "flushes")
"""What has a cost: figures of the table `use` that grow with the work, each a second."""
_OWNERS = ("load", "topic")
_INPUTS = frozenset({"rate", "message_bytes", "consumers", "cluster"})
"""Swept settings that are inputs of the model on every system; variants named `cluster` differ in nodes only."""


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """A valid trial: its settings that are no inputs of the model, as text, its cluster start and its workload.

    `work` names what it was asked to do, as far as the model knows that. `nodes` are the servers of each role,
    `guarantee` is what its acknowledgements promise.
    """

    number: int
    system: str
    work: str
    configuration: str
    start: str
    workload: Workload
    nodes: Mapping[str, int]
    guarantee: Guarantee | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """What a role of a system takes of one resource, in one configuration."""

    system: str
    configuration: str
    role: str
    resource: str
    demand: Demand


@dataclass(frozen=True, slots=True)
class UnknownCost:
    """Of which resource it can't be told what a role takes, and why."""

    system: str
    configuration: str
    role: str
    resource: str
    reason: str


def configuration_of(settings: Mapping[str, str], inputs: Collection[str]) -> str:
    """Name what a case's swept settings choose beside the inputs of the model; empty where there is nothing else.

    That gives configurations with costs of their own. `inputs` are those that the system has beside the common ones.
    """
    return " ".join(
        f"{name}={value}"
        for name, value in settings.items()
        if (setting := own_name(name, _OWNERS)) not in _INPUTS and setting not in inputs
    )


def work_of(settings: Mapping[str, str], copy_settings: Collection[str], copies: int) -> str:
    """Name what a case was asked to do: one name for cases that differ in nothing that the model knows.

    Of the `copy_settings` it knows how many copies they make, not how many of them an acknowledgement waits for.
    """
    names = (
        f"{name}={value}" for name, value in settings.items() if own_name(name, _OWNERS) not in copy_settings
    )
    return " ".join((*names, f"copies={copies}"))


def costs(
    trials: Iterable[MeasuredTrial],
    use: Iterable[Mapping[str, Any]],
    work: Callable[[str], Mapping[str, Sequence[Term]]],
) -> tuple[list[Costs], list[UnknownCost]]:
    """Fit a model for each system, configuration, role and resource; tell of which too little differs.

    `use` are rows of the table `use` (docs/tables.md); `work` gives what each role of a system does. A
    resource without rows is in neither list.
    """
    by_number = {trial.number: trial for trial in trials}
    by_model: dict[tuple[str, str, str, str], list[Observation]] = {}
    for row in use:
        trial, role = by_number.get(row["trial"]), row["role"]
        if trial is None or role not in work(trial.system) or row["metric"] not in _RESOURCES:
            continue
        if row["nodes"] == trial.nodes.get(role):  # else some server was not looked at
            key = (trial.system, trial.configuration, role, row["metric"])
            observation = Observation(trial.work, trial.workload, row["nodes"], row["value"], trial.start)
            by_model.setdefault(key, []).append(observation)
    role_costs, refused = [], []
    for (system, configuration, role, resource), observations in by_model.items():
        try:
            demand = fit(observations, work(system)[role])
        except ValueError as error:
            refused.append(UnknownCost(system, configuration, role, resource, str(error)))
        else:
            role_costs.append(Costs(system, configuration, role, resource, demand))
    return role_costs, refused
