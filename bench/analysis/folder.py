"""The small files of a run folder: plan.json, manifest.json, and a trial.json each (docs/event-log.md)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from bench.errors import EventLogError
from bench.model import Scalar, Verdict
from bench.records.record import Record, first_mistake
from bench.records.steps import reads_folder
from bench.records.trial import TrialRecord

_NUMBERED = re.compile(r"^\d{4,}$")

_Model = TypeVar("_Model", bound=BaseModel)


class PlannedRecord(Record):
    trial: int
    round: int
    system: str
    name: str
    settings: dict[str, Scalar]


class PlanRecord(Record):
    format: Literal[1]
    swept: dict[str, list[str]]
    cases: list[str] = Field(default_factory=list)
    trials: list[PlannedRecord] = Field(default_factory=list)


class ManifestRecord(Record):
    format: Literal[1]
    expectations: list[dict[str, Any]] = Field(default_factory=list)
    looks: int = 0
    smallest_effect: float = 0.05
    precision: float | None = None
    baseline: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunRecords:
    """A run's small files, read and checked. Trials are in the order run."""

    path: Path
    manifest: ManifestRecord
    plan: PlanRecord
    trials: tuple[TrialRecord, ...]

    @property
    def settings(self) -> list[str]:
        """Every swept setting of any system, in the scenario's order."""
        return list(dict.fromkeys(name for names in self.plan.swept.values() for name in names))

    @property
    def is_fault_run(self) -> bool:
        """Whether something was broken in a trial that counts, or in any where none does."""
        counted = [trial for trial in self.trials if trial.verdict == Verdict.VALID] or self.trials
        return any(trial.is_fault_trial for trial in counted)

    @property
    def rounds(self) -> int:
        """How many rounds have a trial."""
        return len({trial.round for trial in self.trials})

    @property
    def never_run(self) -> list[PlannedRecord]:
        """The planned trials that left nothing behind, as the run was cut short."""
        existing = {trial.trial for trial in self.trials}
        return [planned for planned in self.plan.trials if planned.trial not in existing]

    def parts(self, stage: str) -> dict[int, list[Path]]:
        """Parquet files by trial, of `sends`, `receives` or `telemetry`; a trial without any is not among them."""
        files = {
            trial.trial: parquet_files(trial_path(self.path, trial.trial), stage) for trial in self.trials
        }
        return {trial: paths for trial, paths in files.items() if paths}

    def reads(self) -> dict[tuple[int, int], list[Path]]:
        """Parquet files of what the readers and groups of steps received, by trial and place of the step."""
        files = {
            (trial.trial, place): parquet_files(trial_path(self.path, trial.trial), reads_folder(step.name))
            for trial in self.trials
            for place, step in trial.reading_steps.items()
        }
        return {key: paths for key, paths in files.items() if paths}


def trial_path(run: Path, trial: int) -> Path:
    return run / "trials" / f"{trial:04d}"


def parquet_files(trial_folder: Path, stage: str) -> list[Path]:
    """Return the Parquet files of a trial's `sends`, `receives`, `telemetry` or `reads/<step>`."""
    files = trial_folder.joinpath(stage).glob("*.parquet")
    return sorted(path for path in files if not path.name.startswith("."))


def read_folder(run: Path) -> RunRecords:
    """Read and check a run's JSON files.

    Raises:
        EventLogError: a file is missing or not as docs/event-log.md says; the message names file and key.
    """
    folders = sorted(
        (path for path in (run / "trials").glob("*") if path.is_dir() and _NUMBERED.match(path.name)),
        key=lambda path: int(path.name),
    )
    return RunRecords(
        path=run,
        manifest=_read(run / "manifest.json", ManifestRecord),
        plan=_read(run / "plan.json", PlanRecord),
        trials=tuple(read_trial(folder) for folder in folders),
    )


def read_trial(folder: Path) -> TrialRecord:
    """Read and check a trial's trial.json; raises EventLogError as `read_folder` does."""
    record = _read(folder / "trial.json", TrialRecord)
    if record.trial != int(folder.name):
        raise EventLogError(
            f"reading {folder / 'trial.json'}: it says trial {record.trial}, its folder {folder.name}; "
            f"they must be the same"
        )
    return record


def _read(path: Path, model: type[_Model]) -> _Model:
    return read_model(path, model, "; see docs/event-log.md")


def read_model(path: Path, model: type[_Model], hint: str) -> _Model:
    """Read a JSON file as a model. Raises EventLogError naming file and key, with a hint what the file should be."""
    try:
        return model.model_validate(json.loads(path.read_text()))
    except FileNotFoundError as error:
        raise EventLogError(f"reading {path}: it is not there; is this a run folder?") from error
    except json.JSONDecodeError as error:
        raise EventLogError(f"reading {path}: it is not JSON ({error})") from error
    except ValidationError as error:
        raise EventLogError(f"reading {path}: {first_mistake(error)}{hint}") from error
