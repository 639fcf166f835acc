"""Corrections of published runs: reports/corrections.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field

from bench import places
from bench.report import yaml_document
from bench.report.results import Json
from bench.report.yaml_document import YamlModel

FILE = places.CORRECTIONS


class Correction(YamlModel):
    """One correction, and the runs that it concerns.

    It concerns the runs of `scenarios` (of all where there are none) and of `kind` (of both where there is none).
    Those runs began before `runs_before`, or, without that, on its `date` or earlier. A `minor` one changes no
    conclusion: it stands at the end of a report, the others at its top, without their `detail`.
    """

    date: date
    text: str = Field(min_length=1)
    detail: str = ""
    scenarios: tuple[str, ...] = ()
    kind: Literal["faults", "performance"] | None = None
    runs_before: datetime | None = None
    minor: bool = False

    def concerns(self, manifest: Json, *, is_fault_run: bool) -> bool:
        """Whether a run is concerned, by its manifest; in a fault run something broke on purpose."""
        started = str(manifest.get("started_utc") or "")
        return (
            (not self.scenarios or str(manifest.get("scenario")) in self.scenarios)
            and self.kind in {None, "faults" if is_fault_run else "performance"}
            and bool(started)
            and _utc(datetime.fromisoformat(started)) < self._end
        )

    @property
    def _end(self) -> datetime:
        midnight = datetime.combine(self.date + timedelta(days=1), time(), UTC)
        return _utc(self.runs_before) if self.runs_before else midnight


class Corrections(YamlModel):
    """The whole file."""

    corrections: tuple[Correction, ...]


class RunCorrections(tuple[Correction, ...]):
    """The corrections of one run, the newest first."""

    __slots__ = ()

    @property
    def major(self) -> tuple[Correction, ...]:
        """Those that change how a conclusion is to be read."""
        return tuple(correction for correction in self if not correction.minor)

    @property
    def minor(self) -> tuple[Correction, ...]:
        """Those that change no conclusion."""
        return tuple(correction for correction in self if correction.minor)


def corrections(manifest: Json, *, is_fault_run: bool, file: Path = FILE) -> RunCorrections:
    """Return the corrections of a run. Raises ReportError where the file is wrong, with line and key."""
    return RunCorrections(
        sorted(
            _matching_corrections(manifest, file, is_fault_run=is_fault_run),
            key=lambda correction: correction.date,
            reverse=True,
        )
    )


def _matching_corrections(manifest: Json, file: Path, *, is_fault_run: bool) -> Iterator[Correction]:
    for correction in yaml_document.read(file, Corrections).corrections:
        if correction.concerns(manifest, is_fault_run=is_fault_run):
            yield correction


def _utc(moment: datetime) -> datetime:
    """Give a time without a zone the zone UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
