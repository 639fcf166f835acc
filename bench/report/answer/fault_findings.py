"""The findings on faults: what was lost or duplicated, and how long nobody could write or read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench import numbers
from bench.fault_kinds import fault_kind
from bench.model import ENOUGH_TRIALS
from bench.report import case_groups, sweep
from bench.report import fault_words as words
from bench.report.answer.model import Finding
from bench.report.answer.sentences import sentence
from bench.report.loss import Loss, LossPosition
from bench.report.outage import Outage
from bench.report.presentation import Labels
from bench.report.results import Results, column_total
from bench.report.sections import fault_outcome
from bench.report.sections.fault_outcome import FaultOutcome

MOST_FINDINGS, _MOST_WORDS = 4, 132
FEW = 2
"""So few trials of a configuration only leave findings undecided; the page says so."""
_OUTLIER = 3.0
"""An outage so many times as long as the next one is given apart from the others."""
_FAR = 2.0
"""A longest outage so many times the median one is not what most trials saw."""
_NEAR_NS = 5e8
_SAME_NS, _SAME_RATIO = 1e9, 1.25
"""Outages of writes and reads that differ by no more than this are given as one."""


@dataclass(frozen=True)
class FaultRun:
    """A run in which something broke: the outcome of each case, system by system."""

    results: Results
    labels: Labels
    parts: Sequence[sweep.Part]
    outcomes: Sequence[Sequence[FaultOutcome]]

    @property
    def case_outcomes(self) -> list[FaultOutcome]:
        """All outcomes."""
        return [outcome for outcomes in self.outcomes for outcome in outcomes]

    @property
    def event(self) -> str:
        """What the first fault did, as a noun."""
        kinds = [kind for outcome in self.case_outcomes for kind in outcome.kinds]
        return fault_kind(kinds[0]).event if kinds else "fault"

    @property
    def reads_like_writes(self) -> bool:
        """Whether reads stopped for about as long as writes, in every configuration of which they are known."""
        return all(_same_reads(outcome) for outcome in self.case_outcomes) and any(
            outcome.reads for outcome in self.case_outcomes
        )

    def several(self, kind: str = "") -> bool:
        """Whether more than one fault struck a trial, of all kinds or of one."""
        faults = self.results.faults
        kind_faults = faults[faults["kind"] == kind] if kind else faults
        return bool((kind_faults.groupby("trial").size() > 1).any())

    @property
    def has_enough_trials(self) -> bool:
        """Whether each case has as many valid trials as a verdict takes."""
        return self.fewest_trials >= ENOUGH_TRIALS

    @property
    def fewest_trials(self) -> int:
        """How many valid trials the case has that has the fewest; ENOUGH_TRIALS where there is no case."""
        return min((outcome.valid for outcome in self.case_outcomes), default=ENOUGH_TRIALS)

    @property
    def unlost(self) -> int:
        """The fewest valid trials of a configuration that lost nothing; 0 where there is none, or only one or two."""
        counts = [outcome.valid for outcome in self.case_outcomes if outcome.fate == "none lost"]
        fewest = min(counts, default=0)
        return fewest if fewest > FEW else 0

    @property
    def length(self) -> str:
        """How long a trial lasted."""
        return numbers.seconds(float(self.results.valid["window_s"].astype(float).median()))

    def group_outcomes(self, same: Callable[[FaultOutcome, FaultOutcome], bool]) -> list[FaultOutcome]:
        """Return one outcome for those of a system that are the same."""
        return [outcome for outcomes in self.group_by_system(same) for outcome in outcomes]

    def group_by_system(self, same: Callable[[FaultOutcome, FaultOutcome], bool]) -> list[list[FaultOutcome]]:
        """Return `group_outcomes` system by system."""
        return [
            fault_outcome.merge_outcomes(
                self.results, part, self.labels, case_groups.group_items(outcomes, same)
            )
            for part, outcomes in zip(self.parts, self.outcomes, strict=True)
        ]


def fault_run(results: Results, labels: Labels) -> FaultRun:
    """Return the outcomes of a run."""
    parts = sweep.parts(results)
    return FaultRun(results, labels, parts, [fault_outcome.outcomes(results, part, labels) for part in parts])


def findings(run: FaultRun, changes: Sequence[Finding] = ()) -> tuple[Finding, ...]:
    """Return the findings, the most important first: at most four, of at most 132 words together.

    `changes` are those of outage_changes: they say how long writes stopped.
    """
    if not run.case_outcomes:
        return (Finding(sentence("no-valid-trial"), decided=False, anchor="left-out"),)
    shown: list[Finding] = []
    count = 0
    for finding in _all_findings(run, changes):
        count += len(finding.full_text.split())
        if len(shown) == MOST_FINDINGS or (shown and count > _MOST_WORDS):
            break
        shown.append(finding)
    return tuple(shown)


def _all_findings(run: FaultRun, changes: Sequence[Finding]) -> Iterator[Finding]:
    fates = run.group_outcomes(lambda first, second: first.fate == second.fate)
    survivors = [_subject(fate) for fate in fates if fate.fate == "none lost"]
    lost, unread = (
        [outcome for outcome in fates if outcome.fate == "lost"],
        [outcome for outcome in run.case_outcomes if any(outcome.unread)],
    )
    if lost:
        yield _losses(run, lost, [] if unread else survivors)
    if unread:
        slots = {
            "unread": [_unread(outcome) for outcome in unread if not outcome.reads_wait],
            "waiting": [_unread(outcome) for outcome in unread if outcome.reads_wait],
            "survivors": survivors,
        }
        yield _finding(run, "fault-unread", slots, "delivery")
    if unfinished_reads := list(_unfinished_reads(run)):
        yield _finding(run, "fault-unfinished-reads", {"unfinished_reads": unfinished_reads}, "left-out")
    safe = not lost and not unread and not unfinished_reads
    if changes:
        first, *later_changes = changes
        yield replace(first, text=f"{sentence('nothing-lost')} {first.text}") if safe else first
        yield from later_changes
    else:
        yield from _outages(run, safe=safe)
    if unanswered := [
        _unanswered_sends(outcome)
        for outcome in run.group_outcomes(_same_unanswered)
        if outcome.many_unanswered
    ]:
        yield _finding(run, "fault-unanswered", {"unanswered": unanswered}, "delivery")
    if repeats := [_repeats(outcome) for outcome in run.group_outcomes(_same_repeats) if outcome.has_repeats]:
        single = all(outcome.trials == 1 for outcome in run.case_outcomes)
        ordered = all(
            len(outcome.out_of_order) == outcome.valid and not any(outcome.out_of_order)
            for outcome in run.case_outcomes
        )
        repeat_slots = {"repeats": repeats, "single": single, "ordered": ordered}
        yield _finding(run, "fault-repeats", repeat_slots, "delivery")


def _losses(run: FaultRun, lost: Sequence[FaultOutcome], survivors: Sequence[dict[str, Any]]) -> Finding:
    """State who lost messages and who did not, then how many; in one sentence where all did alike.

    `lost` has one outcome a system: that of all of its configurations that lost any.
    """
    losses = [_loss(run, outcome) for outcome in lost]
    if len(lost) == 1 and not survivors:
        return _finding(run, "fault-loss", {"losses": losses}, "delivery")
    headline = _finding(run, "fault-loss-who", {"losses": losses, "survivors": survivors}, "delivery")
    by_system = [loss | {"label": ""} for loss in losses]
    return replace(headline, detail=sentence("fault-loss", {"losses": by_system}))


def _finding(run: FaultRun, kind: str, slots: dict[str, Any], anchor: str) -> Finding:
    return Finding(sentence(kind, slots), decided=run.has_enough_trials, anchor=anchor)


def _subject(outcome: FaultOutcome) -> dict[str, Any]:
    return {"system": outcome.title, "label": outcome.label}


def _loss(run: FaultRun, outcome: FaultOutcome) -> dict[str, Any]:
    loss = outcome.loss
    if loss is None:  # an outcome without a known loss is no one that lost messages
        raise ValueError(outcome.cases)
    script_ns = outcome.writes.script_ns if outcome.writes else None
    reads_ns = outcome.reads.script_ns if outcome.reads else None
    left_ns = script_ns if script_ns is not None else reads_ns
    return _subject(outcome) | {
        "span": str(loss.position),
        "time": words.times(loss.low_ns, loss.high_ns, brief=True),
        "count": words.counts(loss.losing_counts),
        "losing": len(loss.losing_counts),
        "trials": len(loss.counts),
        "event": fault_kind(loss.kind).event if loss.kind else run.event,
        "several": run.several(loss.kind),
        "scripted": loss.scripted and (loss.position is LossPosition.BEFORE_FAULT or left_ns is not None),
        "script": words.time(left_ns) if left_ns is not None else "",
        "start": words.time(-loss.low_ns) if _begins_before(loss) else "",
        "end": words.time(loss.high_ns) if loss.high_ns else "",
    }


def _begins_before(loss: Loss) -> bool:
    return loss.position is LossPosition.SOME and loss.low_ns < -_NEAR_NS


def _unread(outcome: FaultOutcome) -> dict[str, Any]:
    return _subject(outcome) | {
        "count": numbers.count(sum(outcome.unread)),
        "acked": numbers.count(outcome.acked),
    }


def _unfinished_reads(run: FaultRun) -> Iterator[dict[str, Any]]:
    """Give, by system, what was not read in trials that do not count because their full read never reached the end."""
    for part in run.parts:
        unread = fault_outcome.unfinished_reads(part.trials)
        if unread.empty:
            continue
        cases = list(dict.fromkeys(map(str, unread["case"])))
        yield {
            "system": part.title,
            "label": case_groups.name(run.labels, part, cases),
            "count": numbers.count(column_total(unread, "unread")),
            "acked": numbers.count(column_total(unread, "acked")),
            "trials": len(unread),
            "all_trials": int(part.trials["case"].isin(cases).sum()),
        }


def _outages(run: FaultRun, *, safe: bool) -> Iterator[Finding]:
    """Give the times without writes, and without reads where these differ."""
    written = run.group_outcomes(lambda first, second: case_groups.same_outage(first.writes, second.writes))
    together = run.reads_like_writes
    if any(outcome.writes for outcome in written):
        yield _outage(run, written, "writes", together=together, safe=safe)
    if not together and any(outcome.reads for outcome in run.case_outcomes):
        yield _outage(run, _other_reads(run), "reads", together=False, safe=False)


def _other_reads(run: FaultRun) -> list[FaultOutcome]:
    """Return the outcomes in which reads stopped for another time than writes."""
    groups = run.group_outcomes(
        lambda first, second: (
            _same_reads(first) == _same_reads(second) and case_groups.same_outage(first.reads, second.reads)
        )
    )
    differing = {case for outcome in run.case_outcomes if not _same_reads(outcome) for case in outcome.cases}
    return [group for group in groups if group.reads and differing.issuperset(group.cases)]


def _same_reads(outcome: FaultOutcome) -> bool:
    writes, reads = outcome.writes, outcome.reads
    if writes is None or reads is None:
        return reads is None
    ends = ((writes.low_ns, reads.low_ns), (writes.high_ns, reads.high_ns))
    return all(max(pair) - min(pair) <= max(_SAME_NS, (_SAME_RATIO - 1) * min(pair)) for pair in ends)


def _outage(
    run: FaultRun, outcomes: Sequence[FaultOutcome], operation: str, *, together: bool, safe: bool
) -> Finding:
    partitions = (
        trial.case.configuration.get("partitions") or 1 for trial in run.results.trial_records.values()
    )
    slots = {
        "safe": safe,
        "some": operation == "reads"
        and any(outcome.reads and _same_reads(outcome) for outcome in run.case_outcomes),
        "operations": "writes and reads" if together else operation,
        "partition": any(count != 1 for count in partitions),
        "settings": list(_settings(run, outcomes, operation, together=together)),
    }
    return _finding(run, "fault-outage", slots, "faults")


def _settings(
    run: FaultRun, outcomes: Sequence[FaultOutcome], operation: str, *, together: bool
) -> Iterator[dict[str, Any]]:
    """Give outages of both systems together where their configurations have the same label.

    Those of writes and reads `together` span the times of both, as in the table.
    """
    labels = dict.fromkeys(outcome.label for outcome in outcomes)
    for label in labels:
        same = [outcome for outcome in outcomes if outcome.label == label]
        shared = bool(label) and len(same) > 1
        shown = [
            _outage_slots(run, outcome, outage, label="" if shared else label)
            for outcome in same
            if (outage := _operation_outage(outcome, operation, together=together))
        ]
        if shown:
            yield {"label": label if shared else "", "outages": shown}


def _operation_outage(outcome: FaultOutcome, operation: str, *, together: bool) -> Outage | None:
    if together and outcome.writes and outcome.reads:
        return outcome.writes.merge(outcome.reads)
    return outcome.writes if operation == "writes" else outcome.reads


def _outage_slots(run: FaultRun, outcome: FaultOutcome, outage: Outage, *, label: str) -> dict[str, Any]:
    strikes = sorted(outage.strikes_ns)
    apart = len(strikes) > 2 and strikes[-1] > _OUTLIER * strikes[-2]
    usual_strikes = strikes[:-1] if apart else strikes
    return {
        "system": outcome.title,
        "label": label,
        "time": words.times(outage.low_ns, outage.high_ns, brief=outage.endless or bool(strikes)),
        "half": words.time(outage.median_ns) if _uneven(outage) else "",
        "endless": outage.endless,
        "strikes": round(len(strikes) / outage.trials),
        "event": run.event,
        "length": run.length,
        "worst": words.time(strikes[-1]) if apart else "",
        "usual": words.times(usual_strikes[0], usual_strikes[-1]) if usual_strikes else "",
        "script": words.time(outage.script_ns) if outage.script_ns is not None else "",
        "aside": words.time(outage.aside_ns) if outage.aside_ns is not None else "",
        "set_aside": outage.aside,
    }


def _uneven(outage: Outage) -> bool:
    return not outage.endless and outage.high_ns > max(_FAR * outage.median_ns, 1e9)


def _same_unanswered(first: FaultOutcome, second: FaultOutcome) -> bool:
    return first.many_unanswered == second.many_unanswered


def _unanswered_sends(outcome: FaultOutcome) -> dict[str, Any]:
    return _subject(outcome) | {"count": words.counts([count for count in outcome.unanswered if count])}


def _same_repeats(first: FaultOutcome, second: FaultOutcome) -> bool:
    return first.has_repeats == second.has_repeats


def _repeats(outcome: FaultOutcome) -> dict[str, Any]:
    most = (
        ("duplicates", outcome.duplicates, "duplicate"),
        ("out_of_order", outcome.out_of_order, "message"),
    )
    return _subject(outcome) | {
        name: numbers.plural(max(counts), noun) if any(counts) else "" for name, counts, noun in most
    }
