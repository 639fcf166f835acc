"""Whether what broke in a trial is within what its configuration promises, by the rule of docs/method/guarantees.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from bench.fault_kinds import fault_kind
from bench.guarantee import Guarantee
from bench.model import Verdict
from bench.records.steps import StrikeRecord, healed_ns
from bench.records.trial import TrialRecord
from bench.report import sweep
from bench.report.results import Results, has_only_waits
from bench.systems.registry import system_title


class Coverage(StrEnum):
    """What a promise says of what broke."""

    WITHIN = "within the promise"
    BEYOND = "beyond it"
    OPEN = "not judged"


@dataclass(frozen=True)
class PromiseTrials:
    """What a case promises, its trials, and those of them that are valid."""

    promise: Guarantee | None
    trials: Sequence[TrialRecord]
    valid: Sequence[TrialRecord]

    @cached_property
    def put_to_test(self) -> bool:
        """Whether in any trial a node that keeps messages was away, cut off, or without power."""
        return self.promise is not None and any(
            _absences(self.promise, step, trial) for trial in self.trials for step in faults(trial)
        )

    @cached_property
    def most_away(self) -> int:
        """The most nodes that keep messages that were away, cut off or without power at one time, in a valid trial."""
        if self.promise is None:
            return 0
        return max(
            (
                _at_once(
                    [absence for step in faults(trial) for absence in _absences(self.promise, step, trial)]
                )
                for trial in self.valid
            ),
            default=0,
        )

    @cached_property
    def lost_nodes(self) -> int:
        """In how many valid trials a node that keeps messages never came back, or came back without its last ones."""
        return self._in_trials(lambda promise, step, trial: bool(_losses(promise, step, trial)))

    @cached_property
    def cut_power(self) -> int:
        """In how many valid trials the power of all nodes that keep messages was cut at once."""
        return self._in_trials(_all_without_power)

    @cached_property
    def reads_wait(self) -> bool:
        """Whether the promise allows what a full read could not reach: in each valid trial a node is still away."""
        promise = self.promise
        if promise is None or not promise.reads_wait:
            return False
        return all(
            any(
                absence.to_ns == math.inf
                for step in faults(trial)
                for absence in _absences(promise, step, trial)
            )
            for trial in self.valid
        )

    def _in_trials(self, met: Callable[[Guarantee, StrikeRecord, TrialRecord], bool]) -> int:
        promise = self.promise
        if promise is None:
            return 0
        return sum(any(met(promise, step, trial) for step in faults(trial)) for trial in self.valid)

    @cached_property
    def coverage(self) -> Coverage:
        """Whether what broke is within the promise; where nothing is known of one, a loss is one of a kept message.

        No promise speaks of what servers delete as they were told: open where steps only waited and read.
        """
        if has_only_waits(self.trials):
            return Coverage.OPEN
        return Coverage.WITHIN if self.promise is None else judge_coverage(self.promise, self.valid)


class _Absence(NamedTuple):
    """A node that does not serve what it kept, and from when to when."""

    node: str
    from_ns: int
    to_ns: float


def promises(results: Results, parts: Iterable[sweep.Part]) -> dict[str, list[Guarantee]]:
    """Return what the configurations of each system promise, each promise once, in the scenario's order."""
    trials = {trial.case.name: trial for trial in results.trial_records.values()}
    promises_by_system = {}
    for part in parts:
        case_promises = [trials[name].case.guarantee for name in part.cases["case"] if name in trials]
        promises_by_system[part.system] = list(
            {case_promise.survives: case_promise for case_promise in case_promises if case_promise}.values()
        )
    return promises_by_system


def unlike(results: Results) -> str | None:
    """Warn where no configuration of one system promises what one of the other does; None where any do."""
    promises_by_system = [
        (system, system_promises)
        for system, system_promises in promises(results, sweep.parts(results)).items()
        if system_promises
    ]
    if len(promises_by_system) != 2 or any(
        first_promise.same(second_promise)
        for first_promise in promises_by_system[0][1]
        for second_promise in promises_by_system[1][1]
    ):
        return None
    if any(len(system_promises) > 1 for _, system_promises in promises_by_system):
        return (
            "No configuration of the one system promises of an acknowledged message what one of the other does: each "
            "one's promise stands under Guarantees."
        )
    survival_words = "; ".join(
        f"{system_title(system)}: {system_promises[0].survives}"
        for system, system_promises in promises_by_system
    )
    return f"The two do not promise the same of an acknowledged message. It survives, on {survival_words}."


def of_case(records: Iterable[TrialRecord], case: str) -> PromiseTrials:
    """Return a case's part of a run's trials."""
    trials = [trial for trial in records if trial.case.name == case]
    valid = [trial for trial in trials if trial.verdict == Verdict.VALID]
    return PromiseTrials(trials[0].case.guarantee if trials else None, trials, valid)


def breaks_promise(results: Results, case: str, *, unread: bool = False) -> bool:
    """Whether a case that loses a message breaks its promise by that; with `unread`, one whose full read broke off.

    What an application between two topics loses, it loses by when it settles, of which no promise speaks.
    """
    tried = of_case(results.trial_records.values(), case)
    if unread and tried.reads_wait:
        return False
    return tried.coverage is Coverage.WITHIN and not any(settles(trial) for trial in tried.trials)


def settles(trial: TrialRecord) -> bool:
    """Whether an application lies between the topic that is written to and the one that is read in full."""
    return bool(trial.case.configuration.get("processor"))


def faults(trial: TrialRecord) -> list[StrikeRecord]:
    """Return the faults of a trial that are seen to have struck; its other steps break nothing."""
    return [fault for fault in trial.strikes.values() if fault.proven]


def judge_coverage(promise: Guarantee, trials: Iterable[TrialRecord]) -> Coverage:
    """Judge what broke in the trials of a case; open where they differ, and without any."""
    verdicts = {_judge_trial(promise, trial) for trial in trials}
    return verdicts.pop() if len(verdicts) == 1 else Coverage.OPEN


def _judge_trial(promise: Guarantee, trial: TrialRecord) -> Coverage:
    if promise.nodes is None:
        return Coverage.BEYOND
    struck = [step for step in faults(trial) if _keepers(promise, step)]
    if promise.condition:
        failed = any(_fails(promise, step) for step in struck)
        return Coverage.BEYOND if failed else Coverage.OPEN if struck else Coverage.WITHIN
    lost = [loss for step in struck for loss in _losses(promise, step, trial)]
    if _at_once(lost) > promise.nodes:
        return Coverage.BEYOND
    misled = any(absence.to_ns < math.inf for absence in lost)  # by one that is back, and has forgotten
    few = len({absence.node for absence in lost}) <= promise.nodes
    return Coverage.WITHIN if few and not misled else Coverage.OPEN


def _keepers(promise: Guarantee, step: StrikeRecord) -> list[str]:
    """Name the nodes that a fault struck of those that keep messages."""
    return [node for node in step.nodes if node.rpartition("-")[0] == promise.keeper]


def _fails(promise: Guarantee, step: StrikeRecord) -> bool:
    """Whether nodes failed, so that another copy had to be there; after a power cut their disks may have it."""
    kind = fault_kind(step.kind)
    powered = kind.cuts_power and promise.power
    return not powered and (step.away or kind.cuts_off)


def _absences(promise: Guarantee, step: StrikeRecord, trial: TrialRecord) -> list[_Absence]:
    """Return the nodes that keep messages that a fault left away, cut off or without power, whatever they still had."""
    kind = fault_kind(step.kind)
    if not (step.away or kind.cuts_power or kind.cuts_off):
        return []
    return [_Absence(node, step.asked_ns, _back_ns(node, step, trial)) for node in _keepers(promise, step)]


def _losses(promise: Guarantee, step: StrikeRecord, trial: TrialRecord) -> list[_Absence]:
    """Return the nodes that lost what they kept: they stayed away, or had not written it when their power went."""
    forgot = fault_kind(step.kind).cuts_power and not promise.power
    absences = _absences(promise, step, trial)
    return [absence for absence in absences if forgot or (step.away and absence.to_ns == math.inf)]


def _all_without_power(promise: Guarantee, step: StrikeRecord, trial: TrialRecord) -> bool:
    nodes = trial.case.nodes
    return fault_kind(step.kind).cuts_power and len(_keepers(promise, step)) == nodes.get(promise.keeper)


def _back_ns(node: str, step: StrikeRecord, trial: TrialRecord) -> float:
    """When a node was healed, with all that a fault struck or by a step that undid it for some; infinity for never."""
    back_ns = healed_ns(node, step, trial.faults)
    return math.inf if back_ns is None else back_ns


def _at_once(absent: Sequence[_Absence]) -> int:
    """Count the most nodes that were absent at one time."""
    return max(
        (
            len(
                {
                    other_absence.node
                    for other_absence in absent
                    if other_absence.from_ns <= absence.from_ns < other_absence.to_ns
                }
            )
            for absence in absent
        ),
        default=0,
    )
