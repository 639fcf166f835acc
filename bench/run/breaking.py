"""A case's faults, checked before anything starts."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.backends.disks import why_no_power_cut
from bench.backends.process import ProcessBackend
from bench.errors import ScenarioError, SetupError
from bench.faults import Step, read_steps, targets
from bench.faults.step import StepError
from bench.model import Case
from bench.run import wiring
from bench.scenario import Loaded


def checked(loaded: Loaded, case: Case) -> Case:
    """Check a case's steps; return it with disks of their own for its nodes where a step needs them.

    Raises ScenarioError naming the place in the file for what is wrong, SetupError for what this machine or the
    backend cannot do.
    """
    if not case.faults:
        return case
    try:
        steps = read_steps(case.faults)
    except StepError as refusal:
        raise _error(loaded, case, refusal.path, str(refusal)) from None
    system = wiring.system(case.system)
    allowed = targets.allowed(system.nodes(case.cluster, Path("nodes")), system.parts)
    for number, step in enumerate(steps):
        _check_targets(loaded, case, number, step, allowed)
        _check_ability(step)
    own_disks = any(step.fault is not None and step.fault.needs_disks for step in steps)
    return replace(case, cluster=replace(case.cluster, own_disks=own_disks))


def _check_targets(loaded: Loaded, case: Case, number: int, step: Step, allowed: Sequence[str]) -> None:
    for name in step.fault.names() if step.fault is not None else ():
        if targets.base(name) not in allowed:
            near = difflib.get_close_matches(name, allowed, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            message = f"{case.system} has no target {name!r}{hint}; one of {', '.join(allowed)}"
            raise _error(loaded, case, (number,), message)


def _check_ability(step: Step) -> None:
    if step.fault is None:
        return
    for ability in step.fault.needs:
        if not issubclass(ProcessBackend, ability):
            raise SetupError(
                f"step {step.name!r}: {step.fault.key} needs a backend that is {ability.__name__}."
            )
    reason = why_no_power_cut() if step.fault.needs_disks else None
    if reason is not None:
        raise SetupError(f"step {step.name!r} ({step.fault.key}) can't be done here: {reason}.")


def _error(loaded: Loaded, case: Case, path: tuple[str | int, ...], message: str) -> ScenarioError:
    return loaded.error(("systems", case.system, "faults", *path), message)
