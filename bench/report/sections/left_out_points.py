"""What is not in the numbers: points of the sweep left out, and trials that do not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench import numbers
from bench.report import sweep
from bench.report.results import Results
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Table, trial_table
from bench.systems.registry import system_title


@dataclass(frozen=True, slots=True)
class OmittedPointGroup:
    """Points of one system's sweep that share a reason."""

    system: str
    reason: str
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Omissions:
    """`not_counted` are the invalid trials, None where all are valid; `points` those of the sweep that were not run."""

    not_counted: Table | None
    invalid_count: int
    trial_count: int
    never_run: int
    points: Sequence[OmittedPointGroup]


def left_out(results: Results) -> list[OmittedPointGroup]:
    """The points of the sweep that were left out, by reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for point in results.plan.get("left_out", []):
        label = " ".join(f"{name}={value}" for name, value in point["settings"].items())
        grouped.setdefault((point["system"], point["reason"]), []).append(label)
    return [
        OmittedPointGroup(system_title(system), reason, tuple(sorted(points, key=sweep.natural)))
        for (system, reason), points in grouped.items()
    ]


def not_counted(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """Trials that failed or are not valid, with the reason; None where every trial counts."""
    invalid_trials = results.trials[results.trials["verdict"] != "valid"]
    if invalid_trials.empty:
        return None
    columns = (Column("state", "name"), Column("verdict", "name"), Column("reason", "text"))
    return trial_table("Trials that do not count", parts, invalid_trials, columns, _verdict)


def _verdict(trial: pd.Series[Any]) -> tuple[Cell, ...]:
    reason = numbers.NOTHING if pd.isna(trial["reason"]) else str(trial["reason"])
    return Cell(str(trial["state"])), Cell(str(trial["verdict"]), "bad"), Cell(reason)


def _content(report: ReportInput) -> Omissions:
    results = report.results
    return Omissions(
        not_counted=not_counted(results, report.parts),
        invalid_count=len(results.trials) - len(results.valid),
        trial_count=len(results.trials),
        never_run=results.never_run,
        points=left_out(results),
    )


SECTION = Section("left-out", "What was left out", _content)
