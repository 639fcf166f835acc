"""Runs for everybody to read: copied without their event logs, and an index over all of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bench.errors import BenchError, OutdatedError
from bench.run.folder import RunFolder
from bench.scenario import families

PUBLISHED = Path(__file__).resolve().parents[2] / "reports" / "published"

_KEPT = ("manifest.json", "plan.json", "scenario.yaml")
_FOR_PEOPLE = ("trials.csv", "cases.csv", "errors.csv", "faults.csv")
"""Tables that are kept as text too; the others as Parquet only."""


def publish(runs: Iterable[RunFolder], to: Path = PUBLISHED) -> Path:
    """Copy runs to where they are read, each whole or not at all; renew the index, whose path is returned.

    The pages of families that are there (bench report --family) are renewed too, and where something broke in a run the
    reports of those in which nothing did: they show what became of their promises elsewhere.

    Kept is what a report is made of, so that published runs can be compared: results, trial.json, manifest; not the
    event log, the servers' logs and the trials' pages. What it claims is judged, and the report written, by today's
    rules, also those of a published run. Raises BenchError for a run without results.
    """
    from bench.analysis.verdicts import judged  # noqa: PLC0415 - pandas loads only when something is published
    from bench.report import beside, write_report  # noqa: PLC0415 - what draws loads only when something is drawn
    from bench.report.pages import family, published  # noqa: PLC0415 - what draws loads only when something is drawn

    came = set()
    for run in runs:
        _check(run.path)
        fresh = to / f".{run.path.name}"
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            _copy(run.path, fresh)
            judged.again(fresh)
            write_report(fresh, of_trials=False)
            came.add(_replaced(to / run.path.name, fresh))
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    showing = list(beside.unbroken(to))
    if came.difference(showing):
        for path in showing:
            with suppress(OutdatedError):
                write_report(path, of_trials=False)
    known = families()
    for name, scenarios in known.items():
        if (to / f"family-{name}").is_dir():
            family.write(name, scenarios, to)
    return published.write(to, known)


def _replaced(published: Path, fresh: Path) -> Path:
    """Put a run where it is read; what was there goes only once the new one is in its place."""
    before = published.with_name(f".{published.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    if published.exists():
        published.rename(before)
    fresh.rename(published)
    shutil.rmtree(before, ignore_errors=True)
    return published


def _check(run: Path) -> None:
    missing = [name for name in (*_KEPT, "results/trials.parquet") if not (run / name).is_file()]
    if missing:
        mend = (
            "a run that was read in can't be published"
            if _KEPT[-1] in missing
            else f"analyse it first: bench report {run}"
        )
        raise BenchError(f"{run} has no {', '.join(missing)}: {mend}")


def _copy(run: Path, to: Path) -> None:
    (to / "results").mkdir(parents=True)
    for name in _KEPT:
        shutil.copyfile(run / name, to / name)
    for file in (run / "results").iterdir():
        if file.suffix in {".parquet", ".json"} or file.name in _FOR_PEOPLE:
            shutil.copyfile(file, to / "results" / file.name)
    for file in run.glob("trials/[0-9]*/trial.json"):
        trial = to / "trials" / file.parent.name
        trial.mkdir(parents=True)
        shutil.copyfile(file, trial / file.name)
