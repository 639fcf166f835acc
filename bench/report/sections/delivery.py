"""The delivery account: the fate of every message, first in words and then in figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench import numbers
from bench.columns import CONSUMER_COUNTERS
from bench.report import sweep
from bench.report.results import Results, column_total
from bench.report.sections import promise_coverage
from bench.report.table import Cell, Column, Row, Table, case_table, lost_cell, number_cell

_TONES = ("bad", "warn", "neutral", "good")
_COLUMNS = (
    ("sent", "sends", "plain"),
    ("acked", "sends", "plain"),
    ("failed", "sends", "warn"),
    ("unknown", "sends", "warn"),
    ("lost", "acked", "bad"),
    ("unread", "acked", "warn"),
    ("fail_present", "failed", "warn"),
    ("unknown_present", "unknown", "plain"),
    ("unknown_absent", "unknown", "plain"),
    ("duplicates", "in the log", "plain"),
    ("out_of_order", "in the log", "plain"),
)
_HEADS = {
    "fail_present": "present",
    "unknown_present": "present",
    "unknown_absent": "absent",
    "lost": "lost",
    "acked": "acked",
    "out_of_order": "out of order",
}
_CONSUMER_COLUMNS = {
    "polls_back": ("polls", "went back", "plain"),
    "polls_skipped": ("polls", "skipped", "warn"),
    "positions_with_two_messages": ("positions", "two messages", "warn"),
    "read_unacknowledged": ("messages read", "never acknowledged", "plain"),
    "read_then_gone": ("messages read", "later gone", "warn"),
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of the account; `tone` is good, neutral, warn or, of a broken promise, bad."""

    tone: str
    text: str


def statements(results: Results) -> list[Statement]:
    """What can be said about loss, duplicates, order and live consumers, the gravest first."""
    all_statements = [
        *_loss(results),
        *_unsaid(results),
        *_log(results),
        *_stored_failures(results),
        *_consumed_in_order(results),
    ]
    return sorted(all_statements, key=lambda statement: _TONES.index(statement.tone))


def account(results: Results, part: sweep.Part) -> Table:
    """Counters by case: sums over its valid trials. A loss that no promise covers is not red."""
    heads = _HEADS | ({"lost": "deleted"} if results.retention else {})
    columns = [Column(heads.get(name, name), "number", group) for name, group, _ in _COLUMNS]
    cells = [
        [
            lost_cell(case, tone=_loss_tone(results, str(case["case"])))
            if name == "lost"
            else number_cell(case.get(name), tone=tone)
            for name, _, tone in _COLUMNS
        ]
        for _, case in part.cases.iterrows()
    ]
    return case_table(part, columns, cells)


def consumers(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """What live consumers saw, by case, where any counter is not zero; None where all are, or nobody counted."""
    named = labels(results, parts)
    rows = []
    for _, trials in results.valid.groupby("case", sort=False):
        counts = _consumer_counts(trials)
        if counts.sum().any():
            of_case = results.consumers[results.consumers["trial"].isin(trials["trial"])]
            cells = (
                number_cell(counts[name].sum() if counts[name].notna().all() else None, tone=tone)
                for name, (_, _, tone) in _CONSUMER_COLUMNS.items()
            )
            rows.append(Row((Cell(named[int(trials["trial"].iloc[0])]), *cells, Cell(_partitions(of_case)))))
    heads = (Column(head, "number", group) for group, head, _ in _CONSUMER_COLUMNS.values())
    columns = (Column("case", "name"), *heads, Column("partitions", "text"))
    return Table("Live consumers", columns, tuple(rows)) if rows else None


def _consumer_counts(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the counters of live consumers; NaN where a trial has none, or results are older than they."""
    counts: pd.DataFrame = trials.reindex(columns=list(CONSUMER_COUNTERS)).apply(pd.to_numeric)
    return counts


def _partitions(counts: pd.DataFrame) -> str:
    """Name the partitions of each consumer that has counts other than zero."""
    return "; ".join(
        f"consumer {consumer}: {', '.join(map(str, sorted(rows['partition'].unique())))}"
        for consumer, rows in counts.groupby("consumer")
    )


def counters(results: Results) -> Table | None:
    """Trial by trial, under the names of "How to (not) lose messages on an Apache Pulsar cluster".

    None where no fault struck and no number of messages was to be sent. Beside them the sends whose end nobody knows,
    which count there as negative acks.
    """
    if not any(trial.faults or trial.load.messages for trial in results.trial_records.values()):
        return None
    heads = ("sent", "positive acks", "negative acks", "unknown", "received", "acked missing")
    columns = (
        Column("case", "name"),
        Column("round"),
        *map(Column, heads),
        Column("non-acked received"),
        Column("out of order"),
        Column("duplicates"),
    )
    rows = []
    for _, trial in results.valid.sort_values(["case", "round"]).iterrows():
        stray = trial["fail_present"] + trial["unknown_present"]
        counts = [trial[name] for name in ("sent", "acked", "failed", "unknown", "received")]
        rows.append(
            Row(
                (
                    Cell(str(trial["case"])),
                    number_cell(trial["round"] + 1),
                    *map(number_cell, counts),
                    number_cell(_missing_count(trial), tone=_loss_tone(results, str(trial["case"]))),
                    number_cell(stray, tone="warn"),
                    number_cell(trial["out_of_order"]),
                    number_cell(trial["duplicates"]),
                )
            )
        )
    return Table("Trial by trial", columns, tuple(rows))


def unfinished_reads(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """Where full reads stopped that did not reach the end, as the reader told; None where all did."""
    named, rows = labels(results, parts), []
    for _, trial in results.trials.sort_values(["case", "round"]).iterrows():
        read = results.trial_records[int(trial["trial"])].verify
        if read is not None and not read.complete:
            label = named.get(int(trial["trial"]), numbers.NOTHING)
            counts = (number_cell(trial.get(name), tone="warn") for name in ("received", "unread"))
            turn = number_cell(trial["round"] + 1)
            rows.append(Row((Cell(label), turn, *counts, Cell(str(read.reason)))))
    heads = (Column("case", "name"), Column("round"), Column("received"), Column("unread"))
    return (
        Table("Unfinished reads", (*heads, Column("where it stopped", "text")), tuple(rows)) if rows else None
    )


def _loss_tone(results: Results, case: str) -> str:
    return "bad" if promise_coverage.breaks_promise(results, case) else "strong"


def _missing_count(trial: pd.Series[Any]) -> float | None:
    """What the article calls missing: acknowledged and not read, whatever kept the reader."""
    return trial.get("unread") if numbers.absent(trial["lost"]) else trial["lost"]


def errors(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """What the clients called the sends that were not acknowledged, by case; None where all were."""
    if results.errors.empty:
        return None
    named = labels(results, parts)
    case = results.errors["trial"].map(lambda trial: named.get(int(trial), numbers.NOTHING))
    summed = results.errors.assign(case=case).groupby(["case", "outcome", "error"], dropna=False)
    columns = (
        Column("case", "name"),
        Column("outcome", "name"),
        Column("error", "text"),
        Column("sends"),
        Column("in the log"),
        Column("trials"),
    )
    rows = []
    for (name, outcome, error), group in summed:
        text = numbers.text(error)
        present_count = group["present"].sum() if "present" in group else None
        counts = (
            number_cell(group["count"].sum()),
            number_cell(present_count, tone="warn"),
            number_cell(group["trial"].nunique()),
        )
        rows.append(Row((Cell(str(name)), Cell(str(outcome)), Cell(text), *counts)))
    return Table("Errors", columns, tuple(rows))


def _loss(results: Results) -> Iterator[Statement]:
    valid = results.valid
    lost = pd.to_numeric(valid["lost"])
    total = int(lost.sum())
    if total:
        affected = valid.loc[lost > 0]
        trials, cases = len(affected), affected["case"].nunique()
        broken = any(
            promise_coverage.breaks_promise(results, str(case)) for case in affected["case"].unique()
        )
        yield Statement(
            "bad" if broken else "warn",
            f"{numbers.plural(total, 'acknowledged message')} {'deleted' if results.retention else 'lost'}, in "
            f"{numbers.plural(trials, 'trial')} of {numbers.plural(cases, 'case')}.",
        )
    elif len(valid) and lost.notna().any():
        acked_count, complete_count = column_total(valid[lost.notna()], "acked"), int(lost.notna().sum())
        scope = (
            ""
            if complete_count == len(valid)
            else f" in {complete_count} of {len(valid)} trials, those read to the end"
        )
        yield Statement(
            "good",
            f"Nothing lost{scope}: the full read found all {numbers.count(acked_count)} acknowledged messages of "
            f"{numbers.plural(complete_count, 'valid trial')}.",
        )
    invalid_trials = results.trials[results.trials["verdict"] != "valid"]
    uncounted = column_total(invalid_trials, "lost")
    if uncounted:
        losing = invalid_trials.loc[pd.to_numeric(invalid_trials["lost"]) > 0, "case"].unique()
        broken = any(promise_coverage.breaks_promise(results, str(case)) for case in losing)
        yield Statement(
            "bad" if broken else "warn",
            f"Trials that do not count miss {numbers.plural(uncounted, 'more acknowledged message')}; "
            "they are not in the table below.",
        )


def _unsaid(results: Results) -> Iterator[Statement]:
    if results.valid.empty:
        yield Statement("warn", "No trial is valid, so what was delivered is not known.")
    finished = results.trials[results.trials["state"] == "finished"]
    short = int((~finished["account_complete"].astype(bool)).sum())
    if short:
        yield Statement(
            "warn",
            f"In {numbers.plural(short, 'trial')} the full read did not reach the end: what is "
            f"lost there is not known. {_unread(finished)}".rstrip(),
        )


def _unread(trials: pd.DataFrame) -> str:
    count = column_total(trials, "unread")
    return f"{numbers.plural(count, 'acknowledged message')} had not been read by then." if count else ""


def _log(results: Results) -> Iterator[Statement]:
    duplicates, out_of_order = (column_total(results.valid, name) for name in ("duplicates", "out_of_order"))
    if duplicates:
        yield Statement("neutral", f"{numbers.plural(duplicates, 'duplicate')} in the log.")
    if out_of_order:
        yield Statement("neutral", f"{numbers.plural(out_of_order, 'message')} out of order.")
    if len(results.valid) and not duplicates and not out_of_order:
        yield Statement("good", "No message is duplicated, none is out of order.")


def _stored_failures(results: Results) -> Iterator[Statement]:
    present = column_total(results.valid, "fail_present")
    if present:
        yield Statement(
            "warn",
            f"{numbers.plural(present, 'message')} that failed for the client "
            f"{'is' if present == 1 else 'are'} in the log all the same.",
        )


def _consumed_in_order(results: Results) -> Iterator[Statement]:
    """Say that live consumers saw nothing odd; where they did, the table `consumers` tells what."""
    counts = _consumer_counts(results.valid).dropna(how="all")
    if len(counts) and not counts.sum().any():
        full_read_words = " and is in the full read" if counts["read_then_gone"].notna().all() else ""
        yield Statement(
            "good",
            "Live consumers read every partition in order and skipped no message, no position held two messages, "
            f"and every message that they read was acknowledged{full_read_words}.",
        )


def labels(results: Results, parts: Sequence[sweep.Part]) -> dict[int, str]:
    """What each trial's case is called, by the trial's number."""
    names = {
        str(case["case"]): " ".join(dict.fromkeys((part.title, part.label(case))))
        for part in parts
        for _, case in part.cases.iterrows()
    }
    return {
        int(trial): names.get(str(case), str(case))
        for trial, case in zip(results.trials["trial"], results.trials["case"], strict=True)
    }
