"""What faults did to configurations: outages, losses, duplicates, and which of these their promises cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bench.guarantee import all_settings
from bench.records.trial import TrialRecord
from bench.report import case_groups, loss, outage, sweep
from bench.report.loss import Loss
from bench.report.outage import Outage
from bench.report.presentation import Labels
from bench.report.results import Results, column_total
from bench.report.sections import promise_coverage
from bench.report.sections.promise_coverage import Coverage
from bench.systems.registry import system_title

_MANY_UNANSWERED = 0.01


@dataclass(frozen=True, slots=True)
class FaultOutcome:
    """The outcome of `cases` of a system, called `label` among all of its cases (empty for all of them).

    `trials` and `valid` count trials. `unread` has the acknowledged messages of each valid trial, `acked` in all of
    them, that a full read which broke off did not reach; with `reads_wait` the promise allows that. `unfinished_reads`
    is how many trials are not valid for that reason. `duplicates` and `out_of_order` hold the counts of each valid
    trial, `unanswered` those of the sends that failed or of which nobody knows. `coverage` states whether what broke is
    within what the configuration promises, which is to survive `survives`. `once` states whether it promises that each
    message is there once. `resends` states whether its producer may store a message again that Kafka's Java producer,
    idempotent by default, would store once.
    """

    system: str
    label: str
    cases: tuple[str, ...]
    trials: int
    valid: int
    writes: Outage | None
    reads: Outage | None
    loss: Loss | None
    unread: tuple[int, ...]
    unfinished_reads: int
    reads_wait: bool
    acked: int
    duplicates: tuple[int, ...]
    out_of_order: tuple[int, ...]
    unanswered: tuple[int, ...]
    coverage: Coverage
    survives: str
    once: bool
    resends: bool
    kinds: tuple[str, ...]

    @property
    def title(self) -> str:
        """The system's name."""
        return system_title(self.system)

    @property
    def most_lost_messages(self) -> int:
        """The most messages that a trial is known to have lost."""
        return self.loss.most if self.loss else 0

    @property
    def fate(self) -> str:
        """What happened to acknowledged messages: lost, unread, none lost, or unknown."""
        if any(self.unread):
            return "unread"
        if self.most_lost_messages:
            return "lost"
        return "unknown" if self.loss is None or self.unfinished_reads else "none lost"

    @property
    def broken_promise(self) -> bool:
        """Whether messages are lost, or cannot be read, that the configuration promises to keep."""
        unread = any(self.unread) and not self.reads_wait
        return (self.most_lost_messages > 0 or unread) and self.coverage is Coverage.WITHIN

    @property
    def has_repeats(self) -> bool:
        """Whether in any trial a message is there more than once, or out of order."""
        return max((*self.duplicates, *self.out_of_order), default=0) > 0

    @property
    def many_unanswered(self) -> bool:
        """Whether so many sends of a trial were not acknowledged that who sends has to deal with them: one in 100."""
        return max(self.unanswered, default=0) * max(1, self.valid) >= _MANY_UNANSWERED * max(1, self.acked)

    @property
    def repeated_promise(self) -> bool:
        """Whether messages are there more than once though the configuration promises that they are not."""
        return self.once and max(self.duplicates, default=0) > 0


def outcome(results: Results, part: sweep.Part, labels: Labels, cases: Sequence[str]) -> FaultOutcome:
    """Return the outcome of some of a system's cases, over all of their trials."""
    trials = part.trials[part.trials["case"].isin(set(cases))]
    valid = trials[trials["verdict"] == "valid"]
    tried = [promise_coverage.of_case(results.trial_records.values(), case) for case in cases]
    coverages = {tried_case.coverage for tried_case in tried}
    settles = any(promise_coverage.settles(trial) for tried_case in tried for trial in tried_case.trials)
    promised = dict.fromkeys(tried_case.promise.survives for tried_case in tried if tried_case.promise)
    return FaultOutcome(
        system=part.system,
        label=case_groups.name(labels, part, cases),
        cases=tuple(cases),
        trials=len(trials),
        valid=len(valid),
        writes=outage.writes(results, trials),
        reads=outage.reads(results, trials),
        loss=loss.loss(results, trials),
        unread=tuple(map(int, pd.to_numeric(valid["unread"]).fillna(0))),
        unfinished_reads=len(unfinished_reads(trials)),
        reads_wait=bool(tried) and all(tried_case.reads_wait for tried_case in tried),
        acked=column_total(valid, "acked"),
        duplicates=tuple(map(int, valid["duplicates"].dropna())),
        out_of_order=tuple(map(int, valid["out_of_order"].dropna())),
        unanswered=tuple(map(int, valid[["failed", "unknown"]].sum(axis=1))),
        coverage=coverages.pop() if len(coverages) == 1 and not settles else Coverage.OPEN,
        survives=" or ".join(promised),
        once=bool(tried) and not settles and all(_once(tried_case.trials) for tried_case in tried),
        resends=bool(tried) and not settles and all(_resends(tried_case.trials) for tried_case in tried),
        kinds=tuple(outage.kinds(results, trials)),
    )


def outcomes(results: Results, part: sweep.Part, labels: Labels) -> list[FaultOutcome]:
    """Return the outcome of each case of a system that has a valid trial, in the scenario's order."""
    cases = part.cases[part.cases["rounds"] > 0]["case"]
    return [outcome(results, part, labels, [str(case)]) for case in cases]


def unfinished_reads(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials that do not count as their full read never reached the end: messages may be lost, or not."""
    return trials[(trials["verdict"] == "unknown") & (pd.to_numeric(trials["unread"]) > 0)]


def same_fate(first: FaultOutcome, second: FaultOutcome) -> bool:
    """Whether the same became of the messages of two configurations, and of what they promise of them."""
    promises = {(outcome.coverage, outcome.reads_wait) for outcome in (first, second)}
    return first.fate == second.fate and (first.fate == "none lost" or len(promises) == 1)


def merge_outcomes(
    results: Results, part: sweep.Part, labels: Labels, groups: Sequence[Sequence[FaultOutcome]]
) -> list[FaultOutcome]:
    """Return one outcome for each group of outcomes of a system."""
    return [
        group[0]
        if len(group) == 1
        else outcome(results, part, labels, [case for case_outcome in group for case in case_outcome.cases])
        for group in groups
    ]


def _once(trials: Sequence[TrialRecord]) -> bool:
    """Whether a case's producer is idempotent, or its brokers drop what they have had."""
    return bool(trials) and all(
        trial.case.description.deduplicates(all_settings({}, trial.case.configuration), trial.producer)
        for trial in trials
    )


def _resends(trials: Sequence[TrialRecord]) -> bool:
    """Whether a case's producer may write a message twice where its system's shipped one would not."""
    return bool(trials) and all(trial.case.description.resends(trial.producer) for trial in trials)
