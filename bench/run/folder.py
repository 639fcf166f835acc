"""The run folder: the only thing a run leaves behind (docs/event-log.md)."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import durable_files, places
from bench.errors import EventLogError
from bench.records.trial import TrialRecord

OUT = places.RUNS


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths and atomic writes of one run's folder."""

    path: Path

    @property
    def trials(self) -> Path:
        """Folder of finished and failed trials."""
        return self.path / "trials"

    @property
    def nodes(self) -> Path:
        """Where the running cluster keeps its data; taken away when it stops."""
        return self.path / "nodes"

    @property
    def logs(self) -> Path:
        """What servers and load processes wrote."""
        return self.path / "logs"

    def read(self, name: str) -> dict[str, Any]:
        """Read a JSON document of the folder. Raises EventLogError naming it when it can't be."""
        try:
            document = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            message = f"{self.path / name}: not readable as JSON: {error}. Is {self.path} a run folder?"
            raise EventLogError(message) from error
        if not isinstance(document, dict):
            message = f"{self.path / name}: expected a JSON object"
            raise EventLogError(message)
        return document

    def write(self, name: str, document: dict[str, Any]) -> None:
        """Write a JSON document whole or not at all."""
        write_json(self.path / name, document)

    def amend(self, name: str, **changed: object) -> None:
        """Change some keys of a JSON document."""
        self.write(name, {**self.read(name), **changed})

    def done_trials(self) -> set[int]:
        """Return the numbers of the trials that are there."""
        return {int(entry.name) for entry in self.trials.glob("[0-9]*") if entry.is_dir()}

    def open_trial(self, number: int) -> Path:
        """Make a fresh working folder for a trial; readers don't see it before `close_trial`."""
        working = self.trials / f".{number:04d}"
        shutil.rmtree(working, ignore_errors=True)
        for stage in ("sends", "receives"):
            (working / stage).mkdir(parents=True)
        return working

    def close_trial(self, record: TrialRecord) -> None:
        """Make a trial durable, write its trial.json and show it to readers, in one step."""
        working = self.trials / f".{record.trial:04d}"
        working.mkdir(parents=True, exist_ok=True)  # one that failed before it began has none
        durable_files.sync(
            *working.glob("*/*.parquet"), *(path for path in working.iterdir() if path.is_dir())
        )
        write_json(working / "trial.json", record.model_dump())
        working.rename(self.trials / f"{record.trial:04d}")
        durable_files.sync(self.trials)

    def sweep(self) -> None:
        """Remove what an interrupted run left: half trials, the data of dead clusters."""
        for half in self.trials.glob(".[0-9]*"):
            shutil.rmtree(half)
        shutil.rmtree(self.nodes, ignore_errors=True)


def create(out: Path, scenario: str, profile: str) -> RunFolder:
    """Make a new run folder below `out`, named by the local time, the scenario and the profile."""
    stem = f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{scenario}-{profile}"
    for attempt in range(100):
        path = out / (stem if attempt == 0 else f"{stem}-{attempt}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        folder = RunFolder(path)
        folder.trials.mkdir()
        folder.logs.mkdir()
        return folder
    message = f"{out}: no free name for a run folder like {stem}"
    raise EventLogError(message)


def find(name: str, out: Path = OUT) -> RunFolder:
    """Return the run folder given by path or by its name below reports/out."""
    for path in (Path(name), out / name):
        if (path / "manifest.json").is_file():
            return RunFolder(path.resolve())
    message = f"{name}: no run folder (one that holds manifest.json), neither as a path nor below {out}"
    raise EventLogError(message)


def write_json(file: Path, document: object) -> None:
    """Write JSON whole or not at all; it outlives a power cut."""
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    with durable_files.replace_file(file, synced=True) as hidden:
        hidden.write_text(text, encoding="utf-8")


def now_utc() -> str:
    """Return the time as manifests write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
