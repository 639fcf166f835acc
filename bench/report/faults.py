"""What broke, how that is known, and what it did to service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bench.report import numbers, sweep
from bench.report.results import Results
from bench.report.table import Cell, Column, Row, Table, number_cell, without_empty


@dataclass(frozen=True, slots=True)
class Evidence:
    """How one fault of one trial was seen to come and to go."""

    where: str
    text: str


def broken(results: Results, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return a table for each system in which something broke: a row a fault and trial."""
    return [table for part in parts if (table := _table(results, part)) is not None]


def evidence(results: Results) -> list[Evidence]:
    """Return what was seen of the faults of each case's first trial; the others are in their trial.json."""
    told: dict[str, list[Evidence]] = {}
    for document in results.trial_files.values():
        faults = [fault for fault in document.get("faults") or () if fault.get("kind") != "undo"]
        case = str(document["case"]["name"])
        if faults and case not in told:
            told[case] = [_evidence(case, fault) for fault in faults]
    return [one for found in told.values() for one in found]


def _evidence(case: str, fault: dict[str, object]) -> Evidence:
    healed = fault.get("heal_seen") or "It was not healed."
    return Evidence(
        f"{case}, {fault['name']} ({fault['when']})", f"{fault.get('seen') or 'Nothing was seen.'} {healed}"
    )


def _table(results: Results, part: sweep.Part) -> Table | None:
    trials = results.trials[results.trials["system"] == part.system]
    found = results.faults.merge(trials[["trial", "round", "case", "verdict", "lost"]], on="trial")
    if found.empty:
        return None
    labels = {
        str(case["case"]): ", ".join(part.values(case)) or part.title for _, case in part.cases.iterrows()
    }
    columns = (
        Column("case", "name"),
        Column("round"),
        Column("fault", "name"),
        Column("nodes", "name"),
        Column("at s", "number", "time"),
        Column("healed s", "number", "time"),
        Column("first failed s", "number", "after the effect"),
        Column("first acked s", "number", "after the effect"),
        Column("no ack s", "number", "longest gap"),
        Column("no message s", "number", "longest gap"),
        Column("before /s", "number", "rate"),
        Column("dip", "number", "rate"),
        Column("missing", "number", "rate"),
        Column("back s", "number", "rate"),
        Column("lost"),
    )
    rows = [_row(fault, labels) for _, fault in found.sort_values(["case", "round", "asked_ns"]).iterrows()]
    return without_empty(Table(part.title, columns, tuple(rows), part.system))


def _row(fault: pd.Series, labels: dict[str, str]) -> Row:
    lost = number_cell(fault["lost"], tone="bad")
    return Row((
        Cell(labels.get(str(fault["case"]), str(fault["case"]))),
        number_cell(fault["round"] + 1),
        Cell(str(fault["fault"]), "plain" if fault["proven"] else "bad"),
        Cell(str(fault["nodes"])),
        Cell(_seconds(fault["effect_ns"])),
        Cell(_seconds(fault["healed_ns"])),
        *(Cell(_seconds(fault[name])) for name in ("first_failed_ns", "first_acked_ns", "ack_gap_ns", "live_gap_ns")),
        Cell(numbers.rate(fault["rate_before"])),
        Cell(numbers.percent(fault["dip_depth"])),
        number_cell(fault["dip_messages"]),
        Cell(_seconds(fault["back_ns"])),
        lost if fault["verdict"] == "valid" else Cell(str(fault["verdict"]), "warn"),
    ))  # fmt: skip


def _seconds(value_ns: float | None) -> str:
    return numbers.NOTHING if value_ns is None or numbers.absent(value_ns) else f"{value_ns / 1e9:.2f}"
