"""The table `costs`: what an idle node, a message, a byte and a batch take of each resource, by role."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bench.records.trial import TrialRecord
from bench.sizing.cost_observations import MeasuredTrial, configuration_of, costs, work_of
from bench.sizing.workload import Workload
from bench.systems.registry import describe

Row = Mapping[str, Any]

_UNBATCHED = 1.1
"""Up to so many messages a request, on average, each goes alone: requests are counted in a few slices only."""


def cost_rows(
    trials: Sequence[TrialRecord], rows: Iterable[Row], use: Sequence[Row]
) -> Iterator[dict[str, object]]:
    """Give the rows of the table; `rows` are those of `trials`, `use` those of `use`.

    There are none of runs in which something breaks.
    """
    models, _ = costs(measured_trials(trials, rows, use), use, lambda system: describe(system).work)
    for fitted in models:
        residuals = fitted.demand.residuals
        sizes = np.abs(fitted.demand.errors)
        for cost in fitted.demand.costs:
            yield {
                "system": fitted.system,
                "configuration": fitted.configuration,
                "role": fitted.role,
                "resource": fitted.resource,
                "work": cost.work,
                "unit": cost.unit,
                "value": cost.use,
                "low": cost.interval.low,
                "high": cost.interval.high,
                "observations": len(residuals),
                "residual_low": min(residuals),
                "residual_high": max(residuals),
                "error_median": float(np.median(sizes)),
                "error_p90": float(np.quantile(sizes, 0.9, method="higher")),
            }


def measured_trials(
    trials: Sequence[TrialRecord], rows: Iterable[Row], use: Iterable[Row]
) -> list[MeasuredTrial]:
    """Return what costs are fitted to: the valid trials with a rate of their own; none where something breaks.

    Without one (a closed loop) it is the servers' speed that sets the rate, and what a message costs decides both.

    `rows` are those of the table `trials`, `use` those of `use`.
    """
    valid = {
        row["trial"]: row["throughput_msgs_per_s"]
        for row in rows
        if row["verdict"] == "valid" and row["throughput_msgs_per_s"]
    }
    if any(trial.is_fault_trial for trial in trials):
        return []
    requests = {(row["trial"], row["role"]): row for row in use if row["metric"] == "requests"}
    return [
        measured
        for trial in trials
        if trial.trial in valid and trial.open_loop
        if (
            measured := _measured_trial(
                trial, valid[trial.trial], requests.get((trial.trial, trial.case.description.front_role))
            )
        )
    ]


def _measured_trial(trial: TrialRecord, messages_per_s: float, requests: Row | None) -> MeasuredTrial | None:
    """Describe a trial; None where it can't be told how many messages went in a batch.

    Producers send a batch as one request, and servers count these. With one send open at a time each goes alone.
    """
    case = trial.case
    nodes = case.nodes
    if requests and requests["value"] and requests["nodes"] == nodes.get(case.description.front_role):
        batch = _batch(messages_per_s / requests["value"])
    elif trial.load.window == 1:
        batch = 1.0
    else:
        return None
    return MeasuredTrial(
        number=trial.trial,
        system=case.system,
        work=work_of(trial.settings, case.description.copy_settings, case.copies),
        configuration=configuration_of(trial.settings, case.description.model_inputs),
        start=f"round {trial.round}",
        workload=Workload(
            messages_per_s=messages_per_s,
            message_bytes=trial.load.message_bytes or 0,
            copies=case.copies,
            groups=trial.load.consumers or 0,
            batch=batch,
        ),
        nodes=nodes,
        guarantee=case.guarantee,
    )


def _batch(messages: float) -> float:
    return 1.0 if messages < _UNBATCHED else messages
