"""The table `predictions`: each capacity as the other configurations predict it, beside the measured one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.capacity.judgement import HoldVerdict
from bench.records.trial import TrialRecord
from bench.sizing.busy_share import weighted_shares
from bench.sizing.capacity_prediction import HeldRate, predicted_capacities
from bench.sizing.cost_observations import configuration_of
from bench.sizing.workload import Workload
from bench.systems.registry import describe

Row = Mapping[str, Any]


def prediction_rows(
    trials: Sequence[TrialRecord], valid: Iterable[int], holds: Sequence[Row], capacities: Iterable[Row]
) -> Iterator[dict[str, object]]:
    """Give the rows of the table; `holds` and `capacities` are rows of these tables.

    A configuration (what is swept beside the workload and the nodes) is predicted from its own cases only.
    """
    valid = set(valid)
    groups: dict[tuple[str, str], list[TrialRecord]] = {}
    for trial in trials:
        if trial.trial in valid and trial.holds:
            groups.setdefault(_configuration(trial), []).append(trial)
    measured = {row["case"]: _middle(row) for row in capacities}
    for (system, configuration), own_trials in groups.items():
        names = dict.fromkeys(trial.case.name for trial in own_trials)
        rates = {name: rate for name in names if (rate := measured.get(name))}
        for capacity in predicted_capacities(
            list(_held_rates(own_trials, holds)), rates, describe(system).work
        ):
            yield {
                "system": system,
                "case": capacity.case,
                "configuration": configuration,
                "role": capacity.role,
                "cpu_share": capacity.cpu_share,
                "measured": capacity.measured,
                "predicted": capacity.predicted,
            }


def _configuration(trial: TrialRecord) -> tuple[str, str]:
    case = trial.case
    return case.system, configuration_of(trial.settings, case.description.model_inputs)


def _middle(capacity: Row) -> float | None:
    """Return the geometric mean of both ends of a capacity; None where it lacks one."""
    product = capacity["passed_rate"] * capacity["failed_rate"]
    return math.sqrt(product) if 0 < product < math.inf else None


def _held_rates(trials: Iterable[TrialRecord], holds: Iterable[Row]) -> Iterator[HeldRate]:
    by_trial = {trial.trial: trial for trial in trials}
    same: dict[tuple[int, float, bool], list[Row]] = {}
    for hold in holds:
        same.setdefault((hold["trial"], hold["rate"], bool(hold["confirms"])), []).append(hold)
    for (number, _, _), repeated in same.items():
        if number in by_trial and repeated[-1]["verdict"] == HoldVerdict.PASSED:
            yield _held_rate(by_trial[number], repeated)


def _held_rate(trial: TrialRecord, repeated: Sequence[Row]) -> HeldRate:
    """Return a rate that passed, of all holds at it: the last one's verdict is of them together."""
    case, cores, hold = trial.case, _cores(trial), repeated[-1]
    shares = weighted_shares(repeated, case.description.work)
    return HeldRate(
        case=case.name,
        start=trial.logs or f"trial {trial.trial}",
        workload=Workload(
            messages_per_s=hold["rate"],
            message_bytes=trial.load.message_bytes or 0,
            copies=case.copies,
            groups=trial.load.consumers or 0,
        ),
        nodes=case.nodes,
        cores=cores,
        cpu_shares={role: share for role, share in shares.items() if role in cores},
        confirms=bool(hold["confirms"]),
    )


def _cores(trial: TrialRecord) -> dict[str, float]:
    """Return how many cores all nodes of a role got together, by role that does messages' work and has a quota."""
    cores: dict[str, float] = {}
    for node, got in (trial.node_size.cores if trial.node_size else {}).items():
        role = node.rpartition("-")[0]
        if role in trial.case.description.work:
            cores[role] = cores.get(role, 0.0) + got
    return cores
