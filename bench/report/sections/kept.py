"""Whether promises were kept where something broke: other runs, of the same guarantees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

from bench import numbers
from bench.guarantee import Guarantee
from bench.report import beside, sweep
from bench.report.beside import Other
from bench.report.results import Json, Results
from bench.report.sections import covered
from bench.report.sections.covered import Covered
from bench.report.table import Cell, Column, Row, Table, heading

_COLUMNS = (
    Column("scenario", "text"),
    Column("configuration", "name"),
    Column("valid / all", "number", "trials"),
    Column("acknowledged", "number", "messages"),
    Column("lost", "number", "messages"),
    Column("what broke was", "name"),
)
_UNTRIED = "No scenario with a fault has tried this here."


class _Tried(NamedTuple):
    """A case of another run in which something broke, with what it promises and what its valid trials were."""

    other: Other
    case: pd.Series[Any]
    promise: Guarantee
    trials: Sequence[Json]


def kept(found: Results, parts: Sequence[sweep.Part]) -> list[Table] | None:
    """Return a table a system: under each promise of this run's cases, what became of it where something broke.

    From the latest run of each scenario in the same folder; no table where nothing broke in any of them. None for a run
    in which something broke itself, and where nothing is promised.
    """
    promised = {part.system: _promises(found, part) for part in parts}
    if found.broken or not any(promised.values()):
        return None
    others = list(beside.broken(found.run.resolve().parent))
    tried = [one for other in others for one in _tried(other)]
    return [_table(part, promised[part.system], tried) for part in parts if others and promised[part.system]]


def _promises(found: Results, part: sweep.Part) -> list[Guarantee]:
    """Return what the configurations of a system promise, each promise once, in the scenario's order."""
    trials = {trial["case"]["name"]: trial for trial in found.trial_files.values()}
    every = [covered.promise(trials[name]) for name in part.cases["case"] if name in trials]
    return list({one.survives: one for one in every if one}.values())


def _tried(other: Other) -> Iterator[_Tried]:
    """Give the cases of a run that show something of their promise.

    Not those in which nothing broke, nor those with an application in between: what that loses it loses by settling.
    """
    for _, case in other.cases.iterrows():
        trials = [trial for trial in other.trials.values() if trial["case"]["name"] == case["case"]]
        promise = covered.promise(trials[0]) if trials else None
        settles = any((trial["case"].get("configuration") or {}).get("processor") for trial in trials)
        if promise and not settles and any(covered.faults(trial) for trial in trials):
            yield _Tried(other, case, promise, [trial for trial in trials if trial["verdict"] == "valid"])


def _table(part: sweep.Part, promises: Sequence[Guarantee], tried: Sequence[_Tried]) -> Table:
    rows: list[Row] = []
    for promise in promises:
        words = f"survives {promise.survives}" if promise.nodes is not None else "nothing is promised"
        rows.append(heading(numbers.sentence(words), opens=bool(rows)))
        rows += [
            _row(one)
            for one in tried
            if one.case["system"] == part.system and one.promise.survives == promise.survives
        ] or [Row((Cell(_UNTRIED, "quiet"), *(Cell("") for _ in _COLUMNS[1:])))]
    return Table(part.title, _COLUMNS, tuple(rows), part.system)


def _row(one: _Tried) -> Row:
    case, other = one.case, one.other
    name = str(case["case"]).removeprefix(str(case["system"])).strip()
    link = (("report", f"../{other.path.name}/report.html"),)
    said = covered.covered(one.promise, one.trials)
    return Row(
        (
            Cell(f"{other.manifest.get('title')} ({other.manifest.get('profile')}) ", links=link),
            Cell(name or numbers.NOTHING),
            Cell(f"{case['rounds']} / {case['trials']}"),
            Cell(numbers.count(case["acked"])),
            _lost(case, said),
            Cell(said),
        )
    )


def _lost(case: pd.Series[Any], said: Covered) -> Cell:
    """How many acknowledged messages were lost, and not read where the read stopped short; red is a broken promise."""
    lost, known, unread = (
        None if numbers.absent(case.get(name)) else int(case[name])
        for name in ("lost", "lost_at_least", "unread")
    )
    words = [numbers.at_least(lost, known)] if lost is not None or known else []
    words += [f"{numbers.count(unread)} unread"] if unread else []
    harmed = "bad" if lost or known else "warn" if unread else "quiet"
    tone = harmed if said is Covered.WITHIN or harmed == "quiet" else "plain"
    return Cell(", ".join(words) or numbers.NOTHING, tone)
