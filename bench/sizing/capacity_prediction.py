"""The capacity of a configuration, predicted from what messages cost on the others: how far a sizing can be trusted."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.sizing.demand import Observation, Usage, usage
from bench.sizing.workload import Term, Workload


@dataclass(frozen=True, slots=True)
class HeldRate:
    """A rate that passed: the workload, and how much of its CPU quota each role used.

    `cores` are those of all nodes of a role together, `nodes` how many there are. `confirms`: held for long, so that
    the capacity rests on it. `start` names the cluster start.
    """

    case: str
    start: str
    workload: Workload
    nodes: Mapping[str, int]
    cores: Mapping[str, float]
    cpu_shares: Mapping[str, float]
    confirms: bool


@dataclass(frozen=True, slots=True)
class PredictedCapacity:
    """The capacity of a case in messages/s, as predicted by the other cases of its system, beside the measured one.

    `role` has the least left; its nodes may use `cpu_share` of their quota.
    """

    case: str
    role: str
    cpu_share: float
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        """By which share the prediction is off."""
        return self.predicted / self.measured - 1


def predicted_capacities(
    held: Sequence[HeldRate], measured: Mapping[str, float], work: Mapping[str, Sequence[Term]]
) -> list[PredictedCapacity]:
    """Predict the capacity of each case that `measured` has, in messages/s, from the held rates of all other cases.

    All are of one system; `work` says what each role does with messages.

    What a role uses is linear in the work (demand.py). It may use as much of its quota as the busiest role did at the
    highest confirmed rate of the other cases, in the median. The role that comes to that first sets the capacity.
    A case is left out where the others can't tell what its roles use.
    """
    predictions = (_predict_capacity(case, held, measured, work) for case in measured)
    return [prediction for prediction in predictions if prediction is not None]


def _predict_capacity(
    case: str, held: Sequence[HeldRate], measured: Mapping[str, float], work: Mapping[str, Sequence[Term]]
) -> PredictedCapacity | None:
    own_rate = next((rate for rate in held if rate.case == case), None)
    other_rates = [rate for rate in held if rate.case != case and rate.case in measured]
    if own_rate is None or not (busiest := _busiest(other_rates)):
        return None
    allowed = statistics.median(busiest)
    rates: dict[str, float] = {}
    for role in own_rate.cores:
        used = _usage(role, other_rates, work[role])
        if used is None or (rate := _rate(used, own_rate, role, allowed)) is None:
            return None
        rates[role] = rate
    role = min(rates, key=lambda name: rates[name])
    return PredictedCapacity(case, role, allowed, measured[case], rates[role])


def _busiest(held: Iterable[HeldRate]) -> list[float]:
    """Return by case how busy its busiest role was at the highest confirmed rate, in the median over starts."""
    highest: dict[tuple[str, str], HeldRate] = {}
    for rate in held:
        place = rate.case, rate.start
        if rate.confirms and rate.cpu_shares:
            highest[place] = max(
                rate, highest.get(place, rate), key=lambda held_rate: held_rate.workload.messages_per_s
            )
    by_case: dict[str, list[float]] = {}
    for (case, _), rate in highest.items():
        by_case.setdefault(case, []).append(max(rate.cpu_shares.values()))
    return [statistics.median(shares) for shares in by_case.values()]


def _usage(role: str, held: Iterable[HeldRate], terms: Sequence[Term]) -> Usage | None:
    """Fit what a role uses, in cores; None where the held rates can't tell."""
    try:
        return usage(list(_observations(role, held)), terms)
    except ValueError:
        return None


def _observations(role: str, held: Iterable[HeldRate]) -> Iterator[Observation]:
    for rate in held:
        if role in rate.cpu_shares:
            used = rate.cpu_shares[role] * rate.cores[role]
            yield Observation(rate.case, rate.workload, rate.nodes[role], used, rate.start)


def _rate(used: Usage, own_rate: HeldRate, role: str, allowed: float) -> float | None:
    """Return at which rate the nodes of a role use the allowed share; None where messages cost nothing."""
    nodes = own_rate.nodes[role]
    idle = used(replace(own_rate.workload, messages_per_s=0.0), nodes)
    message = used(replace(own_rate.workload, messages_per_s=1.0), nodes) - idle
    if message <= 0:
        return None
    return max(0.0, allowed * own_rate.cores[role] - idle) / message
