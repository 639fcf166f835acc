"""Other runs in the folder that a run lies in: the latest of each scenario."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bench.errors import ReportError
from bench.report import results
from bench.report.results import Json

_SCENARIO, _PROFILE = "scenario", "profile"


@dataclass(frozen=True, slots=True)
class Other:
    """A run in which something broke, by its small tables."""

    run: Path
    manifest: Json
    cases: pd.DataFrame


def latest(out: Path, scenario: str) -> Path | None:
    """Return the newest run of a scenario that has results, of `quick` only where there is no other.

    Names of run folders begin with their time. Raises ReportError where a manifest is garbled.
    """
    quick = None
    for run in sorted(out.glob(f"[!.]*-{scenario}-*"), reverse=True):
        if not (run / "results").is_dir():
            continue
        manifest = results.document(run / "manifest.json")
        if manifest.get(_SCENARIO) != scenario:
            continue
        if manifest.get(_PROFILE) != "quick":
            return run
        quick = quick or run
    return quick


def broken(out: Path) -> Iterator[Other]:
    """Give the latest run of each scenario in which something broke, by the scenarios' names.

    What this version of the suite cannot read is left out: it is not what the report is about.
    """
    manifests = (
        run / "manifest.json" for run in out.iterdir() if (run / "results" / "summary.json").is_file()
    )
    scenarios = {str(results.document(file).get(_SCENARIO)) for file in manifests if file.is_file()}
    for scenario in sorted(scenarios):
        run = latest(out, scenario)
        if run is None or results.document(run / "results" / "summary.json").get("figure") != "timeline":
            continue
        with suppress(ReportError):
            yield Other(run, results.document(run / "manifest.json"), results.table(run, "cases"))
