"""How long a run takes, more or less, as far as that is known before it starts."""

from __future__ import annotations

from bench.faults import Step, read_steps
from bench.faults.step import Strike
from bench.model import NANOS, Case, Load, Settings
from bench.pacing import Schedule, sends
from bench.systems.registry import describe

_WARM_UP_SHARE = 0.8
"""A warm-up takes about so much of the time that the scenario gives it at most (cluster_warm_up.warm_up)."""
_TRIAL_BESIDES_S = 2.7
_SETTLING_SLICES = 3
"""So many slices of a trial count for nothing, more or less."""
_SLICE_BESIDES_S = 0.03
"""A slice takes so much longer than its load: looking at everybody, handing it over, waiting for its last sends."""
_SEARCH_HOLDS, _CONFIRM_HOLDS = 10, 13
"""So many holds, more or less, are made until a search for capacity is over: most long ones are repeated."""
_MESSAGES_PER_S = 15_000.0
"""So fast is a load at most that is a number of messages: sent and read."""
ANALYSIS_S = 45.0


def start_s(system: str, warm_up_s: float) -> float:
    """Seconds until a cluster is there and warm."""
    return describe(system).start_s + _WARM_UP_SHARE * warm_up_s


def trial_s(case: Case) -> float:
    """Seconds that a trial takes: its load, or what its faults' steps wait for by the clock where that is longer.

    What nobody knows beforehand is not in it: how long copies take, or a reader to whom nothing comes.
    """
    sending_s = _sending_s(case.load) + _search_s(case.capacity)
    return max(sending_s, _steps_s(case, sending_s)) + _TRIAL_BESIDES_S


def _sending_s(load: Load) -> float:
    if load.messages is None:
        once_s = load.warm_up_s + (load.duration_s or 0.0)
        if load.slices is None:
            return once_s
        return (load.slices + _SETTLING_SLICES) * (once_s + _SLICE_BESIDES_S)
    fastest_s = load.warm_up_s + load.messages / _MESSAGES_PER_S
    if (most := sends(load)) is None:
        return fastest_s
    due = Schedule(load.pacing, load.producers, load.warm_up_s)
    return max(fastest_s, due.due_ns(0, most // load.producers) / NANOS)


def _search_s(capacity: Settings) -> float:
    if not capacity:
        return 0.0
    settle_s, search_s, confirm_s = (float(capacity[f"{name}_s"]) for name in ("settle", "search", "confirm"))
    return _SEARCH_HOLDS * (settle_s + search_s) + _CONFIRM_HOLDS * (settle_s + confirm_s)


def _steps_s(case: Case, sending_s: float) -> float:
    """When the last step is done, or undone; a step counts from the one before it."""
    at_s = last_s = 0.0
    for step in read_steps(case.faults):
        if step.always:
            break
        at_s = max(at_s + (step.when.after or 0.0), _met_s(case.load, step, sending_s))
        at_s += step.when.reader.blocked if step.when.reader else 0.0
        healing_s = step.action.heal_after_s if isinstance(step.action, Strike) else None
        last_s = max(last_s, at_s + (healing_s or 0.0))
    return last_s


def _met_s(load: Load, step: Step, sending_s: float) -> float:
    """When the load has come as far as a step waits for."""
    if step.when.load is not None:
        return sending_s
    share = (step.when.acks or 0) / load.messages if load.messages else 0.0
    return min(share, 1.0) * sending_s
