"""Runs for everybody to read: one a scenario, with what its report is made of in few bytes, and an index over them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bench import durable_files, places
from bench.errors import BenchError, OutdatedError
from bench.run.folder import RunFolder
from bench.scenario import families

if TYPE_CHECKING:
    from bench.report.other_runs import Run

PUBLISHED = places.PUBLISHED
MOST_BYTES = 1_300_000
"""The most that the folder of a run takes, report included."""
_NEEDED = ("manifest.json", "plan.json", "scenario.yaml", "results/trials.parquet")


def publish(runs: Iterable[RunFolder], to: Path = PUBLISHED) -> Path:
    """Copy runs to where they are read, each whole or not at all; renew the index, whose path is returned.

    A run's folder has its scenario's name; what was published of this scenario before is replaced. The folder holds
    what a report is made of (bench/report/compact_run.py), so that published runs can be compared and published
    again. It does not hold the event log, the servers' logs and the trials' pages. Expectations are judged, and the
    report is written, by today's rules, also those of a run that is published again.

    The pages of families that are there (bench report --family) are renewed too. Where something broke in a run, so
    are the reports of runs in which nothing did: they show what happened to their promises elsewhere.

    Raises BenchError for a run without results, for one that takes more than MOST_BYTES, and for one that would
    replace a run that answers better. A quick run, one with other settings or one cut short never replaces a whole
    one.
    """
    from bench.report import other_runs  # noqa: PLC0415 - pandas loads only when something is published
    from bench.report.pages import family, published_reports  # noqa: PLC0415 - what draws loads only when something is drawn

    published_paths = {_publish(run.path, to) for run in runs}
    showing = list(other_runs.fault_free_runs(to))
    if published_paths.difference(showing):
        for path in showing:
            with suppress(OutdatedError):
                _write_report(path)
    scenarios_by_family = families()
    for name, scenarios in scenarios_by_family.items():
        if (to / f"family-{name}").is_dir():
            family.write(name, scenarios, to)
    return published_reports.write(to, scenarios_by_family)


def _publish(run: Path, to: Path) -> Path:
    from bench.analysis.verdicts import run_verdicts  # noqa: PLC0415 - pandas loads only when something is published
    from bench.report import compact_run, other_runs, results  # noqa: PLC0415 - as above

    _check(run)
    manifest = results.document(run / "manifest.json")
    place = to / str(manifest["scenario"])
    _check_better(other_runs.Run(run, manifest), place)
    fresh = to / f".{place.name}"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        compact_run.copy(run, fresh)
        run_verdicts.rederive(fresh)
        compact_run.compact(fresh)
        _write_report(fresh)
        _check_size(fresh, run)
        durable_files.swap(fresh, place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return place


def _write_report(published: Path) -> None:
    """Write a run's report; where its folder is too large, as a page that unpacks itself."""
    from bench.report import packed_page, write_report  # noqa: PLC0415 - what draws loads only when something is drawn

    page, _ = write_report(published)
    if _size(published) > MOST_BYTES:
        page.write_text(packed_page.pack(page.read_text(encoding="utf-8")), encoding="utf-8")


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _check(run: Path) -> None:
    from bench.report.results import PACKED  # noqa: PLC0415 - pandas loads only when something is published

    missing = [name for name in _NEEDED if not any((run / f"{name}{end}").is_file() for end in ("", PACKED))]
    if missing:
        mend = (
            "a run that was read in can't be published"
            if "scenario.yaml" in missing
            else f"analyse it first: bench report {run}"
        )
        raise BenchError(f"{run} has no {', '.join(missing)}: {mend}")


def _check_better(run: Run, place: Path) -> None:
    from bench.report import other_runs, results  # noqa: PLC0415 - pandas loads only when something is published

    if not (place / "manifest.json").is_file() or not other_runs.stands_in(*run):
        return
    if not other_runs.stands_in(place, results.document(place / "manifest.json")):
        raise BenchError(
            f"{run.path} is quick, has other settings or was cut short, and {place} holds a whole run of its scenario: "
            f"publish a whole run, or remove {place} first"
        )


def _check_size(fresh: Path, run: Path) -> None:
    if (size := _size(fresh)) > MOST_BYTES:
        files = sorted(
            (file for file in fresh.rglob("*") if file.is_file()), key=lambda file: -file.stat().st_size
        )
        largest = ", ".join(f"{file.relative_to(fresh)} {file.stat().st_size:,}" for file in files[:3])
        raise BenchError(
            f"{run}: published it would take {size:,} bytes ({largest}); at most {MOST_BYTES:,} are allowed. "
            "Publish a run with fewer cases or rounds"
        )
