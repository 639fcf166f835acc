"""Which of the measured configurations give a guarantee, and with how many copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.guarantee import Guarantee
from bench.sizing.cost_observations import MeasuredTrial


@dataclass(frozen=True, slots=True)
class Choice:
    """A measured configuration of a system, how many copies it makes, and what it promises with these."""

    system: str
    configuration: str
    copies: int
    guarantee: Guarantee


def choices(trials: Iterable[MeasuredTrial], guarantee: Guarantee) -> list[Choice]:
    """Return of each configuration the case that gives the guarantee with the fewest copies, of several the first."""
    choice_by_configuration: dict[tuple[str, str], Choice] = {}
    for choice in _choices(trials):
        key = (choice.system, choice.configuration)
        if choice.guarantee.same(guarantee) and (
            key not in choice_by_configuration or choice.copies < choice_by_configuration[key].copies
        ):
            choice_by_configuration[key] = choice
    return list(choice_by_configuration.values())


def measured_guarantees(trials: Iterable[MeasuredTrial], system: str) -> Sequence[str]:
    """Return what an acknowledgement survives in the measured cases of a system, in words, each once."""
    promised = (choice.guarantee for choice in _choices(trials) if choice.system == system)
    return list(dict.fromkeys(guarantee.in_nodes for guarantee in promised))


def _choices(trials: Iterable[MeasuredTrial]) -> list[Choice]:
    return [
        Choice(trial.system, trial.configuration, trial.workload.copies, trial.guarantee)
        for trial in trials
        if trial.guarantee is not None
    ]
