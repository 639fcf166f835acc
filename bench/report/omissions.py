"""What is not in the numbers: points of the sweep left out, trials that do not count, trials never run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bench.report import numbers, sweep
from bench.report.results import Results
from bench.report.table import Cell, Column, Row, Table


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Points of one system's sweep that share a reason."""

    system: str
    reason: str
    points: tuple[str, ...]


def left_out(results: Results) -> list[LeftOut]:
    """The points of the sweep that were left out, by reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for point in results.plan.get("left_out", []):
        label = " ".join(f"{name}={value}" for name, value in point["settings"].items())
        grouped.setdefault((point["system"], point["reason"]), []).append(label)
    return [
        LeftOut(system.capitalize(), reason, tuple(sorted(points, key=sweep.natural)))
        for (system, reason), points in grouped.items()
    ]


def not_counted(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """Trials that failed or are not valid, with the reason; None where every trial counts."""
    others = results.trials[results.trials["verdict"] != "valid"]
    if others.empty:
        return None
    labels = {case["case"]: part.label(case) for part in parts for _, case in part.cases.iterrows()}
    columns = (
        Column("trial"),
        Column("round"),
        Column("system", "name"),
        Column("case", "name"),
        Column("state", "name"),
        Column("verdict", "name"),
        Column("reason", "text"),
    )
    rows = []
    for _, trial in others.iterrows():
        case = labels.get(trial["case"], str(trial["case"]))
        places = (Cell(str(trial["trial"])), Cell(str(int(trial["round"]) + 1)), Cell(str(trial["system"])))
        reason = numbers.NOTHING if pd.isna(trial["reason"]) else str(trial["reason"])
        words = (Cell(str(trial["state"])), Cell(str(trial["verdict"]), "bad"), Cell(reason))
        rows.append(Row((*places, Cell(case), *words)))
    return Table("Trials that do not count", columns, tuple(rows))


def never_run(results: Results) -> int:
    """How many planned trials left nothing behind: the run was cut short."""
    planned = {int(trial["trial"]) for trial in results.plan.get("trials", [])}
    return len(planned - {int(number) for number in results.trials["trial"]})
