"""What broke, how that is known, and what it did to service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bench import numbers
from bench.model import MOVING
from bench.records.steps import (
    AnyStep,
    GroupRecord,
    LeftOutRecord,
    MarkRecord,
    ReadRecord,
    StepRecord,
    StrikeRecord,
)
from bench.records.trial import TrialRecord
from bench.report import sweep
from bench.report.results import Results
from bench.report.sections.fact import Fact
from bench.report.table import Cell, Column, Row, Table, heading, number_cell, without_empty
from bench.systems.registry import describe

_MORE = {"undo", "read", "look-up", *MOVING, "mark", "left out"}
"""Kinds of steps that are no faults: where there are none, the faults' own table says when each struck."""
_TIMES = ("asked_ns", "effect_ns", "healed_ns", "first_failed_ns", "first_acked_ns", "ack_gap_ns")
_GROUPS = (
    ("since the first send", ("asked", "in force", "healed")),
    (
        "producers, since it was asked for",
        ("first failed", "first acked", "no ack", "thereof served", "rate", "dip", "held up", "back"),
    ),
    ("consumers, likewise", ("first", "none", "thereof served", "dip", "held up", "back")),
    ("copies, likewise", ("back",)),
)
"""The numbers of a fault, by what they are of."""
_SHOWN = 3
"""So many nodes of one fault are written out."""


def fault_tables(results: Results, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return a table for each system that a fault struck: a row a fault and trial."""
    return [table for part in parts if (table := _table(results, part)) is not None]


def evidence(results: Results) -> list[Fact]:
    """Return what each step of each case's first trial did and saw; the others are on their trials' pages."""
    facts_by_case: dict[str, list[Fact]] = {}
    for trial in results.trial_records.values():
        case = trial.case.name
        if trial.faults and case not in facts_by_case:
            facts_by_case[case] = [Fact(f"{case}, {step.term}", step.text) for step in steps(trial)]
    return [fact for facts in facts_by_case.values() for fact in facts]


def steps(trial: TrialRecord) -> list[Fact]:
    """Return what each step of a trial did and saw."""
    return [
        _step_fact(trial.case.system, step, _delay_words(trial.faults[:number], step))
        for number, step in enumerate(trial.faults)
    ]


def _delay_words(earlier_steps: Sequence[StepRecord], step: StepRecord) -> str:
    """Say how long after the last fault's effect a step came."""
    times = [
        (earlier_step.effect_ns, earlier_step.name)
        for earlier_step in earlier_steps
        if isinstance(earlier_step, StrikeRecord) and earlier_step.effect_ns
    ]
    if not times or not step.asked_ns:
        return ""
    effect_ns, name = times[-1]
    since_s = (step.asked_ns - effect_ns) / 1e9
    return f"{since_s:.1f} s after {name} was in force. " if since_s >= 0 else ""


def _step_fact(system: str, step: AnyStep, delay_words: str) -> Fact:
    name = f"{step.name} ({step.condition or step.kind})"
    match step:
        case ReadRecord():
            return Fact(name, f"{delay_words}{_read(system, step)}")
        case StrikeRecord():
            healed = step.heal_seen or "It was not healed."
            sentences = [step.evidence or "Nothing was seen.", step.unproven, healed]
            return Fact(name, f"{delay_words}{' '.join(filter(None, sentences))}")
        case GroupRecord() | MarkRecord():
            return Fact(name, delay_words.strip())
        case _:
            return Fact(name, f"{delay_words}{step.evidence or ''}".strip())


def _read(system: str, step: ReadRecord) -> str:
    """Say where a reader stood still, and how far it came."""
    clauses = []
    for stall in step.stalls:
        places = "; ".join(_place(system, at) for at in stall.at)
        place = f", the last at {places}" if places else ""
        seconds = stall.length_ns / 1e9
        clauses.append(f"{stall.received:,} messages had come{place}, then nothing for {seconds:.1f} s;")
    end = "the end was reached" if step.complete else f"it did not reach the end: {step.reason}"
    return " ".join([*clauses, f"{step.received:,} came in all, and {end.rstrip('.')}."])


def _place(system: str, at: Sequence[int]) -> str:
    partition, segment, entry = at
    return f"partition {partition}, {describe(system).position(segment, entry)}"


def _table(results: Results, part: sweep.Part) -> Table | None:
    trials = results.trials[results.trials["system"] == part.system]
    trial_faults = results.faults.merge(trials[["trial", "round", "case", "verdict"]], on="trial")
    if trial_faults.empty:
        return None
    labels = {str(case["case"]): part.label(case) for _, case in part.cases.iterrows()}
    columns = (
        Column("round", "name"),
        Column("fault", "name"),
        Column("nodes", "name"),
        *(Column(head, "number", group) for group, heads in _GROUPS for head in heads),
        Column("how", "name", _GROUPS[-1][0]),
    )
    rows: list[Row] = []
    for case, faults in trial_faults.sort_values(["round", "asked_ns"]).groupby("case", sort=False):
        if len(labels) > 1:
            rows.append(heading(labels[str(case)], opens=bool(rows)))
        rows += [_row(fault) for _, fault in faults.iterrows()]
    return without_empty(Table(part.title, columns, tuple(rows), part.system))


def by_round(results: Results, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return when each step of a case was asked for, round by round; a table a case whose steps do more than strike."""
    tables = []
    for part in parts:
        for _, case in part.cases.iterrows():
            trials = {
                record.round: (record, results.first_send_ns(trial))
                for trial, record in results.trial_records.items()
                if record.case.name == case["case"] and record.faults
            }
            label = ", ".join(part.values(case))
            title = f"{part.title}: {label}" if label else part.title
            if (table := _steps(title, part.system, trials)) is not None:
                tables.append(table)
    return tables


def _steps(title: str, system: str, trials: Mapping[int, tuple[TrialRecord, int | None]]) -> Table | None:
    names = dict.fromkeys(step.name for trial, _ in trials.values() for step in trial.faults)
    kinds = {step.kind for trial, _ in trials.values() for step in trial.faults}
    if not kinds & _MORE:
        return None
    rounds = sorted(trials)
    rows = [Row((Cell(name), *(_step_cell(*trials[number], name) for number in rounds))) for name in names]
    heads = (Column("step", "name"), *(Column(str(number + 1), "number", "round") for number in rounds))
    return Table(title, heads, tuple(rows), system)


def _step_cell(trial: TrialRecord, first_ns: int | None, name: str) -> Cell:
    step = next((step for step in trial.faults if step.name == name), None)
    if step is None or first_ns is None:
        return Cell(numbers.NOTHING)
    if isinstance(step, LeftOutRecord):
        return Cell("did not come", "warn", note=str(step.evidence))
    at = f"{(step.asked_ns - first_ns) / 1e9:.1f}"
    stalls = [stall.length_ns / 1e9 for stall in step.stalls] if isinstance(step, ReadRecord) else []
    still = f" (still {', '.join(f'{stall_s:.1f}' for stall_s in stalls)})" if stalls else ""
    return Cell(f"{at}{still}")


def _row(fault: pd.Series[Any]) -> Row:
    verdict, number = str(fault["verdict"]), str(fault["round"] + 1)
    return Row(
        (
            Cell(number) if verdict == "valid" else Cell(f"{number} {verdict}", "warn"),
            Cell(str(fault["fault"]), "plain" if fault["proven"] else "bad"),
            Cell(_nodes(str(fault["nodes"])), note=str(fault["nodes"])),
            *(Cell(_seconds(fault[name])) for name in _TIMES),
            Cell(_seconds(fault.get("ack_gap_served_ns"))),
            Cell(numbers.rate(fault["rate_before"])),
            Cell(numbers.percent(fault["dip_depth"])),
            number_cell(fault["dip_messages"]),
            Cell(_seconds(fault["back_ns"])),
            Cell(_seconds(fault["first_received_ns"])),
            Cell(_seconds(fault["live_gap_ns"])),
            Cell(_seconds(fault.get("live_gap_served_ns"))),
            Cell(numbers.percent(fault["live_dip_depth"])),
            number_cell(fault["live_dip_messages"]),
            Cell(_seconds(fault["live_back_ns"])),
            Cell(_seconds(fault["copies_back_ns"])),
            Cell(numbers.text(fault["copies_back_how"])),
        )
    )


def _nodes(names: str) -> str:
    """Name a few nodes; of many how many of each role."""
    roles = Counter(name.rpartition("-")[0] for name in names.split())
    too_many = roles.total() > _SHOWN
    return ", ".join(numbers.plural(count, role) for role, count in roles.items()) if too_many else names


def _seconds(value_ns: float | None) -> str:
    return numbers.NOTHING if value_ns is None or numbers.absent(value_ns) else f"{value_ns / 1e9:.2f}"
