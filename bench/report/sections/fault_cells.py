"""The cells of a configuration under faults: outages, lost, duplicated. Only a broken promise is red."""

from __future__ import annotations

from bench import numbers
from bench.report import fault_words as words
from bench.report.loss import Loss, LossPosition
from bench.report.outage import INVALID, Outage
from bench.report.sections.fault_outcome import FaultOutcome
from bench.report.sections.promise_coverage import Coverage
from bench.report.table import Cell

HEADS = ("no writes", "lost", "duplicated")
"""The heads of `cells`."""
_PROMISED = {
    Coverage.WITHIN: "against its promise",
    Coverage.BEYOND: "outside its promise",
    Coverage.OPEN: "",
}


def cells(outcome: FaultOutcome) -> tuple[Cell, Cell, Cell]:
    """Return the cells under HEADS."""
    return outage_cell(outcome.writes), loss_cell(outcome), duplicates_cell(outcome)


def outage_cell(outage: Outage | None) -> Cell:
    """Return the shortest and the longest time over the trials, and what set it where that was not the system."""
    if outage is None:
        return Cell(numbers.NOTHING, "quiet")
    time = words.times(outage.low_ns, outage.high_ns, brief=True)
    about = [_length(outage), _aside(outage)]
    return Cell(", ".join(filter(None, (time, *about))), note=_note(outage))


def _length(outage: Outage) -> str:
    if outage.strikes_ns:
        return "in all"
    if outage.endless:
        return "no end"
    return f"{words.time(outage.script_ns)} by the script" if outage.script_ns is not None else ""


def _aside(outage: Outage) -> str:
    if outage.aside_ns is None:
        return ""
    return f"{words.time(outage.aside_ns)} in {'an' if outage.aside == INVALID else 'a'} {outage.aside} trial"


def _note(outage: Outage) -> str:
    """Say what the words of an outage's cell mean, for pointing at it."""
    trials = numbers.plural(outage.trials, "trial")
    parts = (
        f"over {trials}",
        f"sum over {len(outage.strikes_ns)} faults" if outage.strikes_ns else "",
        "it lasted until the load was over" if outage.endless else "",
        "for so long the script left servers broken" if outage.script_ns is not None else "",
        f"beside it {_aside(outage)}" if outage.aside_ns is not None else "",
    )
    return "; ".join(filter(None, parts))


def loss_cell(outcome: FaultOutcome) -> Cell:
    """Return how many messages a trial lost, over what span of writes, and whether they were promised."""
    promised = _PROMISED[outcome.coverage]
    tone = "bad" if outcome.broken_promise else "strong"
    if any(outcome.unread):
        if outcome.reads_wait:
            unread = words.counts(outcome.unread)
            return Cell(f"{unread} unread until a replica is back", tone, note=outcome.survives)
        parts = (f"at most {numbers.count(max(outcome.unread))} (unread)", promised)
        return Cell(", ".join(filter(None, parts)), tone, note=_UNREAD)
    if outcome.loss is None:
        return Cell(numbers.NOTHING, "quiet")
    if not outcome.loss.most:
        return Cell("0", "quiet")
    parts = (f"{words.counts(outcome.loss.counts)}{_span(outcome.loss)}", promised)
    return Cell(", ".join(filter(None, parts)), tone, note=outcome.survives)


_UNREAD = "Reading stopped at the first message that could not be read: what came after it may be there."


def _span(loss: Loss) -> str:
    time = words.times(loss.low_ns, loss.high_ns, brief=True)
    return "" if loss.position is LossPosition.SOME else f" ({time} of writes)"


def duplicates_cell(outcome: FaultOutcome) -> Cell:
    """Return how many messages of a trial were there more than once."""
    if not outcome.duplicates:
        return Cell(numbers.NOTHING, "quiet")
    most = max(outcome.duplicates)
    tone = "quiet" if not most else "bad" if outcome.repeated_promise else "plain"
    return Cell(words.counts(outcome.duplicates), tone)
