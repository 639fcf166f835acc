"""Other runs in the folder that a run lies in: the latest of each scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bench.errors import OutdatedError, ReportError
from bench.records.trial import TrialRecord
from bench.report import results
from bench.report.results import Json


class Run(NamedTuple):
    """A run folder with its manifest."""

    path: Path
    manifest: Json


@dataclass(frozen=True, slots=True)
class OtherRun:
    """Another run, with its cases, what its trials measured, and their records by number.

    `measured` is None where this version of the suite cannot read that table.
    """

    path: Path
    manifest: Json
    cases: pd.DataFrame
    measured: pd.DataFrame | None
    trials: Mapping[int, TrialRecord]


def latest(out: Path) -> dict[str, Run]:
    """Return the newest run of each scenario that has results, one that only stands in where there is no other.

    Raises ReportError where a manifest is garbled.
    """
    last_wins = sorted(_runs(out), key=lambda run: not stands_in(*run))
    return {str(run.manifest.get("scenario")): run for run in last_wins}


def _runs(out: Path) -> list[Run]:
    """Return the runs with results in a folder, the oldest first."""
    runs = [
        Run(file.parent, results.document(file))
        for file in out.glob("[!.]*/manifest.json")
        if (file.parent / "results").is_dir()
    ]
    return sorted(runs, key=lambda run: (str(run.manifest.get("started_utc") or ""), run.path.name))


def stands_in(run: Path, manifest: Json) -> bool:
    """Whether a run answers only where no other does: a quick one, one with other settings, one that was cut short.

    Raises ReportError where its plan, or what tells its trials, is garbled.
    """
    return is_quick(manifest) or bool(changes(manifest)) or bool(never_run(run))


def never_run(run: Path) -> int:
    """How many planned trials left nothing behind. Raises ReportError as `stands_in` does."""
    return results.never_run(results.document(run / "plan.json"), results.trial_numbers(run))


def is_quick(manifest: Json) -> bool:
    """Whether a run was made to try something out."""
    return manifest.get("profile") == "quick"


def changes(manifest: Json) -> str:
    """What the command line changed of what a run's scenario asks for, but for the number of rounds."""
    overrides = map(str, manifest.get("overrides") or ())
    return ", ".join(override for override in overrides if not override.startswith("repeats="))


def fault_free_runs(out: Path) -> Iterator[Path]:
    """Give every run in which nothing broke: these show what the others found."""
    for run in _runs(out):
        with suppress(ReportError):
            if not results.breaks(results.summary(run.path)):
                yield run.path


def fault_runs(out: Path) -> Iterator[OtherRun]:
    """Give the latest run of each scenario in which something broke, by the scenarios' names."""
    yield from _latest(out, is_fault_run=True)


def runs_of_other_scenarios(out: Path, scenario: str) -> Iterator[OtherRun]:
    """Give the latest run of each other scenario in which nothing broke, by the scenarios' names."""
    runs = _latest(out, is_fault_run=False)
    yield from (run for run in runs if run.manifest.get("scenario") != scenario)


def _latest(out: Path, *, is_fault_run: bool) -> Iterator[OtherRun]:
    """A run whose results this version of the suite cannot read is left out: it is not what a report is about."""
    for _, run in sorted(latest(out).items()):
        with suppress(ReportError):
            if results.breaks(results.summary(run.path)) == is_fault_run:
                cases, records = results.table(run.path, "cases"), results.trial_records(run.path)
                yield OtherRun(*run, cases, _read_trials(run.path), records)


def _read_trials(run: Path) -> pd.DataFrame | None:
    try:
        return results.table(run, "trials")
    except OutdatedError:
        return None
