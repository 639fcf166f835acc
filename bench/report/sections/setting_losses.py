"""In how many trials each configuration lost messages, over many runs: by its settings, and by what it promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench import numbers
from bench.guarantee import Guarantee
from bench.report.results import Results, has_only_waits
from bench.report.sections import promise_coverage
from bench.report.sections.promise_coverage import Coverage
from bench.report.table import Cell, Column, Row, Table, without_empty
from bench.systems.registry import in_order, system_title

_COLUMNS = (
    Column("settings", "name"),
    Column("an acknowledged message survives", "text"),
    Column("what it is to survive", "number", "trials that lost messages when the fault was"),
    Column("more than that", "number", "trials that lost messages when the fault was"),
    Column("not judged", "number", "trials that lost messages when the fault was"),
)
_KINDS = (Coverage.WITHIN, Coverage.BEYOND, Coverage.OPEN)
"""In the order of the columns."""


@dataclass(frozen=True, slots=True)
class TrialLoss:
    """A valid trial in which something broke: whether it lost messages, or some could not be read for good."""

    system: str
    settings: str
    promise: Guarantee
    coverage: Coverage
    lost: bool


def trial_losses(results: Results) -> Iterator[TrialLoss]:
    """Give the trials of a run in which something broke and of which it is known what they lost.

    Not those with an application in between, nor those whose steps only waited and read: no promise speaks of them.
    """
    trial_rows = {int(row["trial"]): row for _, row in results.valid.iterrows()}
    for case in results.cases["case"]:
        tried = promise_coverage.of_case(results.trial_records.values(), str(case))
        if tried.promise is None or has_only_waits(tried.trials):
            continue
        for trial in tried.valid:
            gone = _has_losses(trial_rows.get(trial.trial), reads_wait=tried.reads_wait)
            if gone is not None and promise_coverage.faults(trial) and not promise_coverage.settles(trial):
                yield TrialLoss(
                    system=trial.case.system,
                    settings=trial.case.description.guarantee_words(trial.case.all_settings),
                    promise=tried.promise,
                    coverage=promise_coverage.judge_coverage(tried.promise, [trial]),
                    lost=gone,
                )


def _has_losses(row: pd.Series[Any] | None, *, reads_wait: bool) -> bool | None:
    """Whether a trial lost messages, or has some that cannot be read; None where nobody knows.

    With `reads_wait` the promise allows that some cannot be read.
    """
    if row is None:
        return None
    lost, unread = (0 if numbers.absent(row[name]) else int(row[name]) for name in ("lost", "unread"))
    if numbers.absent(row["lost"]) and not unread:
        return None
    return lost > 0 or (unread > 0 and not reads_wait)


def tables(losses: Iterable[TrialLoss]) -> list[Table]:
    """Return a table a system, with a row for each configuration: the strongest promise last."""
    by_system: dict[str, list[TrialLoss]] = {}
    for loss in losses:
        by_system.setdefault(loss.system, []).append(loss)
    return [
        without_empty(Table(system_title(system), _COLUMNS, tuple(_rows(by_system[system])), system))
        for system in in_order(by_system)
    ]


def _rows(losses: Iterable[TrialLoss]) -> Iterator[Row]:
    by_settings: dict[tuple[str, str], list[TrialLoss]] = {}
    for loss in losses:
        by_settings.setdefault((loss.settings, loss.promise.survives), []).append(loss)
    for (settings, survives), same_settings in sorted(
        by_settings.items(), key=lambda item: _rank(item[1][0])
    ):
        trials = Counter(loss.coverage for loss in same_settings)
        losing = Counter(loss.coverage for loss in same_settings if loss.lost)
        yield Row(
            (Cell(settings), Cell(survives), *(_cell(kind, losing[kind], trials[kind]) for kind in _KINDS))
        )


def _rank(loss: TrialLoss) -> tuple[int, bool, bool, str]:
    promise = loss.promise
    nodes = -1 if promise.nodes is None else promise.nodes
    return nodes, bool(promise.condition), promise.power, loss.settings


def _cell(kind: Coverage, losing: int, trials: int) -> Cell:
    if not trials:
        return Cell(numbers.NOTHING, "quiet")
    tone = "quiet" if not losing else "bad" if kind is Coverage.WITHIN else "strong"
    return Cell(f"{losing} of {trials}", tone, sort=losing / trials)
