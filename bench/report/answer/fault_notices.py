"""The notices of a run with faults (what changes its conclusion), and its alarms (broken promises)."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from bench import numbers
from bench.model import ENOUGH_TRIALS, NANOS
from bench.report import fault_words as words
from bench.report import other_runs
from bench.report.answer import guarantees
from bench.report.answer.fault_findings import FEW, FaultRun
from bench.report.answer.notices import most_important, uncounted_trials
from bench.report.answer.sentences import sentence
from bench.report.loss import LossPosition
from bench.report.sections import promise_coverage
from bench.report.sections.fault_outcome import FaultOutcome
from bench.systems.registry import describe

_LEAST_CARRIED = 0.9
"""A configuration that acknowledged a smaller share of what was due, before anything broke, did not carry its load."""


def notices(run: FaultRun, note: str) -> tuple[str, ...]:
    """Return what changes the conclusion, at most three, then how many more there are.

    A scenario's own `note` takes the place of what the script decides.
    """
    first = [note] if note else [*_few_trials(run), *_scripted_losses(run)]
    return most_important([*first, *_all_notices(run)])


def _all_notices(run: FaultRun) -> Iterator[str]:
    results = run.results
    yield from _overload(run)
    yield from _without_idempotence(run)
    yield from _unequal(run)
    if changes := other_runs.changes(results.manifest):
        yield sentence("notice-changed", {"changes": changes})
    yield from uncounted_trials(results)
    if other_runs.is_quick(results.manifest):
        yield sentence("notice-quick", {"has_slices": results.has_slices})


def _overload(run: FaultRun) -> Iterator[str]:
    """Where a configuration acknowledged far less than was due already before the first fault: the worst of these."""
    shares = _acked_shares(run)
    slow = [
        (share, outcome)
        for outcome in run.case_outcomes
        if (share := _median_share(shares, outcome)) < _LEAST_CARRIED
    ]
    if slow:
        share, outcome = min(slow, key=lambda pair: pair[0])
        slots = {"system": outcome.title, "label": outcome.label, "share": numbers.percent(share)}
        yield sentence("fault-overloaded", slots | {"several": len(slow) > 1})


def _acked_shares(run: FaultRun) -> dict[str, list[float]]:
    """Return by case which share of what was due its trials acknowledged before the first fault.

    Without trials of which nobody knows that, and those of a closed loop.
    """
    first_faults = run.results.faults.sort_values("asked_ns").drop_duplicates("trial")
    shares: dict[str, list[float]] = {}
    for _, fault in first_faults.iterrows():
        trial = run.results.trial_records[int(fault["trial"])]
        schedule = trial.load.schedule
        due = schedule.due_before(int(fault["asked_ns"])) if schedule else 0
        if due and not numbers.absent(fault["rate_before"]):
            share = float(fault["rate_before"]) * float(fault["asked_ns"]) / NANOS / due
            shares.setdefault(trial.case.name, []).append(share)
    return shares


def _median_share(shares: Mapping[str, Sequence[float]], outcome: FaultOutcome) -> float:
    """Return the median over an outcome's trials; 1 where none is known."""
    return statistics.median([share for case in outcome.cases for share in shares.get(case, ())] or [1.0])


def _without_idempotence(run: FaultRun) -> Iterator[str]:
    """Where a system has repeats that its shipped producer prevents, unless the run has that producer, too."""
    for system in dict.fromkeys(outcome.system for outcome in run.case_outcomes):
        system_outcomes = [outcome for outcome in run.case_outcomes if outcome.system == system]
        if any(outcome.resends and outcome.has_repeats for outcome in system_outcomes) and not any(
            outcome.once for outcome in system_outcomes
        ):
            yield describe(system).resends_remark


def _few_trials(run: FaultRun) -> Iterator[str]:
    fewest = min((outcome.valid for outcome in run.case_outcomes), default=ENOUGH_TRIALS)
    if 0 < fewest <= FEW:
        slots = {"trials": numbers.plural(fewest, "trial"), "length": run.length}
        yield sentence("fault-few-trials", slots)


def _scripted_losses(run: FaultRun) -> Iterator[str]:
    """Where all that had been sent was lost: a longer load would have lost more."""
    losses = [
        outcome
        for outcome in run.case_outcomes
        if outcome.loss and outcome.loss.scripted and outcome.loss.position is LossPosition.BEFORE_FAULT
    ]
    if losses:
        slots = {
            "systems": " and ".join(dict.fromkeys(loss.title for loss in losses)),
            "event": run.event,
            "time": words.time(max(outcome.loss.high_ns for outcome in losses if outcome.loss)),
        }
        yield sentence("fault-loss-scripted", slots)


def _unequal(run: FaultRun) -> Iterator[str]:
    """Where messages are gone, and no configuration of one system promises what one of the other does."""
    if all(outcome.fate == "none lost" for outcome in run.case_outcomes):
        return
    promises = list(promise_coverage.promises(run.results, run.parts).values())
    if len(promises) != 2 or not all(promises):
        return
    first, second = promises
    if any(first_promise.same(second_promise) for first_promise in first for second_promise in second):
        return
    first_guarantee, second_guarantee = (
        guarantees.short(system[0].survives) if len(system) == 1 else "" for system in promises
    )
    slots = {
        "first": run.parts[0].title,
        "second": run.parts[1].title,
        "first_guarantee": first_guarantee,
        "second_guarantee": second_guarantee,
    }
    yield sentence("fault-unequal", slots)


def alarms(run: FaultRun) -> Iterator[str]:
    """Give each loss, and each duplicate, that a promise of the configuration covers."""
    for outcome in run.case_outcomes:
        slots = {"case": {"system": outcome.title, "label": outcome.label}, "survives": outcome.survives}
        if outcome.broken_promise:
            lost = outcome.most_lost_messages
            fate, count = ("lost", lost) if lost else ("unread", sum(outcome.unread))
            yield sentence("fault-alarm", slots | {"kind": fate, "count": _messages(count)})
        if outcome.repeated_promise:
            repeats = numbers.plural(max(outcome.duplicates), "duplicate")
            yield sentence("fault-alarm", slots | {"kind": "duplicated", "count": repeats})


def _messages(count: int) -> str:
    return numbers.plural(count, "acknowledged message")
