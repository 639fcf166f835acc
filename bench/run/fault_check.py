"""A case's faults, and the disk it asks for, checked before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from bench.backends import cores, fsync_gate
from bench.backends.docker import DockerBackend
from bench.backends.external_backend import ExternalBackend
from bench.backends.process import ProcessBackend
from bench.errors import ScenarioError, SetupError, did_you_mean
from bench.faults import Step, read_steps, targets
from bench.faults.drain import Drain
from bench.faults.fault import Fault
from bench.faults.kinds.start import Start
from bench.faults.step import StepError
from bench.model import DOCKER, MEMBER, Case, Cluster, Node
from bench.pacing import sends
from bench.run import node_sizes, wiring
from bench.run.cluster import nodes
from bench.scenario import LoadedScenario
from bench.systems.draining import DRAIN
from bench.systems.processing import PROCESSOR
from bench.systems.protocols import Parts
from bench.systems.registry import describe


def equip_case(loaded: LoadedScenario, case: Case) -> Case:
    """Check a case's steps; return it with disks of their own, and gates before them, where it needs them.

    Raises ScenarioError naming the place in the file for what is wrong.
    """
    limits = {name for size in case.node_size.values() for name in size}
    if case.disk and node_sizes.FSYNC in limits:
        raise loaded.error(("disk",), f"{case.system} has node_size with fsync; give one or the other")
    own_disks, fsync_gates = node_sizes.DISK_WRITE in limits, bool(case.disk) or node_sizes.FSYNC in limits
    memory = node_sizes.MEMORY in limits
    case = replace(
        case,
        cluster=replace(case.cluster, own_disks=own_disks, fsync_gates=fsync_gates, memory_groups=memory),
    )
    if not case.faults:
        return case
    steps = steps_of(loaded, case)
    all_nodes = nodes(case.cluster, Path("/nodes"))
    _check_spare(loaded, case, steps, all_nodes)
    for step in steps:
        _check_targets(loaded, case, step, all_nodes)
        _check_drained(loaded, case, step, all_nodes)
        _check_state(loaded, case, step, wiring.system(case.system).states)
    _check_times(loaded, case, steps)
    faults = [step.fault for step in steps if step.fault is not None]
    if case.disk and any(fault.needs_fsync_gates for fault in faults):
        raise loaded.error(("disk",), f"{case.system} has a fault that slows disks; give one or the other")
    cluster = replace(
        case.cluster,
        own_disks=own_disks or any(fault.needs_disks for fault in faults),
        fsync_gates=case.cluster.fsync_gates or any(fault.needs_fsync_gates for fault in faults),
    )
    return replace(case, cluster=cluster)


def steps_of(loaded: LoadedScenario, case: Case) -> Sequence[Step]:
    """Return a case's steps. Raises ScenarioError naming the place in the file for what is none."""
    try:
        return read_steps(case.faults)
    except StepError as refusal:
        raise _error(loaded, case, refusal.path, str(refusal)) from None


def _check_spare(
    loaded: LoadedScenario, case: Case, steps: Sequence[Step], all_nodes: Sequence[Node]
) -> None:
    """Refuse to start what is no spare node, to strike one by chance or by its role, and to limit its size."""
    spare = {node.name for node in all_nodes} - {node.name for node in case.cluster.first(all_nodes)}
    for step in steps:
        for name in step.fault.names() if step.fault is not None else ():
            started = isinstance(step.fault, Start)
            if started and name not in spare:
                message = f"only spare nodes can be started: {', '.join(sorted(spare)) or 'there are none'}"
                raise _error(
                    loaded, case, (step.number,), f"{message}; give `spare` the number of {name}'s role"
                )
            if not started and any(f" {role}" in name for role in case.cluster.spare):
                message = f"{name!r} may be a node that is not there yet: name nodes where some are spare"
                raise _error(loaded, case, (step.number,), message)
    for role in case.cluster.spare.keys() & case.node_size.keys():
        raise loaded.error(
            ("systems", case.system, "node_size", role), f"{role} has spare nodes; give one or the other"
        )


def _check_targets(loaded: LoadedScenario, case: Case, step: Step, all_nodes: Sequence[Node]) -> None:
    if step.fault is None:
        return
    parts = wiring.system(case.system).parts(case)
    stored = [node for node in all_nodes if node.role not in {PROCESSOR, MEMBER}]
    allowed = targets.allowed_targets(stored if step.fault.needs_disks else all_nodes, parts.names)
    for name in step.fault.names():
        wrong = _wrong(name, allowed, parts, case.partitions)
        if wrong is not None:
            target_words = f"no target {name!r}{' with a disk of its own' if step.fault.needs_disks else ''}"
            raise _error(loaded, case, (step.number,), f"{case.system} has {target_words}{wrong}")


def _check_drained(loaded: LoadedScenario, case: Case, step: Step, all_nodes: Sequence[Node]) -> None:
    """Refuse to drain what keeps no messages."""
    if not isinstance(step.action, Drain):
        return
    storage_names = [node.name for node in all_nodes if node.role == describe(case.system).storage_role]
    if step.action.node not in storage_names:
        message = (
            f"{case.system} has no {step.action.node!r} to drain; one of {', '.join(storage_names) or 'none'}"
        )
        raise _error(loaded, case, (step.number, DRAIN), message)


def _check_times(loaded: LoadedScenario, case: Case, steps: Sequence[Step]) -> None:
    """Refuse a fault that cannot come before the load it is to meet is over; each counts from the step before it."""
    load, passed_s = case.load, 0.0
    whole_s = None if load.duration_s is None else load.warm_up_s + load.duration_s
    most = sends(load)
    for step in steps:
        if step.when.load is not None:
            return
        passed_s += (step.when.after or 0.0) - (step.when.jitter or 0.0)
        if step.fault is None:
            continue
        if whole_s is not None and passed_s >= whole_s:
            message = f"the load is over after {whole_s:g} s; this comes after {passed_s:g} s at the earliest"
            raise _error(loaded, case, (step.number, "when", "after"), message)
        if most is not None and (step.when.acks or 0) > most:
            message = f"this waits for {step.when.acks:,} acknowledged sends, and the load makes {most:,}"
            raise _error(loaded, case, (step.number, "when", "acks"), message)


def _wrong(target: str, allowed: Sequence[str], parts: Parts, partitions: int) -> str | None:
    """Return what is wrong with a target, None where nothing is."""
    if target in allowed or targets.earlier(target) is not None:
        return None
    part, partition = targets.of_partition(target) or (target, 0)
    if part in parts.of_partition:
        return None if partition < partitions else f": topic.partitions is {partitions}, counted from 0"
    if part in allowed:
        return f"; only {', '.join(parts.of_partition)} can be that of one partition"
    return f"{did_you_mean(target, allowed)}; one of {', '.join(allowed)}"


def _check_state(loaded: LoadedScenario, case: Case, step: Step, system_states: Sequence[str]) -> None:
    for name in step.when.states:
        if name not in system_states:
            message = f"{case.system} reports no such state; a step may wait for {', '.join(system_states) or 'none'}"
            raise _error(loaded, case, (step.number, "when", name), message)


def require(cases: Iterable[Case]) -> None:
    """Raise SetupError for the first fault or disk that the backend or this machine cannot do."""
    for case in cases:
        if case.disk and (reason := fsync_gate.why_not()) is not None:
            raise SetupError(f"disk.emulated_fsync is not possible on this machine: {reason}.")
        if case.node_size and (reason := node_sizes.why_not(case.node_size)) is not None:
            raise SetupError(f"node_size is not possible on this machine: {reason}.")
        if case.cluster.pinned and (reason := cores.why_not()) is not None:
            raise SetupError(f"pin is not possible on this machine: {reason}.")
        for step in read_steps(case.faults):
            if step.fault is not None and (reason := _why_not(step.fault, case.cluster)) is not None:
                raise SetupError(f"step {step.name!r} ({step.fault.key}) is not possible here: {reason}.")


def _why_not(fault: Fault, cluster: Cluster) -> str | None:
    kind: type = DockerBackend if cluster.backend == DOCKER else ProcessBackend
    if cluster.external:
        kind = ExternalBackend
    lacking = [ability.__name__ for ability in fault.needs if not issubclass(kind, ability)]
    return f"this backend cannot do that (missing: {', '.join(lacking)})" if lacking else fault.why_not()


def _error(loaded: LoadedScenario, case: Case, path: tuple[str | int, ...], message: str) -> ScenarioError:
    step_lists = loaded.scenario.systems.specs()[case.system].step_lists()
    place = next(place for place, steps in step_lists.items() if steps == list(case.faults))
    return loaded.error(("systems", case.system, *place, *path), message)
