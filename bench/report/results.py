"""The results folder as typed values: everything that the report reads, read once (docs/tables.md, docs/results.md)."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pandas as pd
from pydantic import ValidationError

from bench.capacity.service_level import ServiceLevel, service_level
from bench.columns import TABLES
from bench.errors import OutdatedError, ReportError
from bench.model import only_waits
from bench.records.record import first_mistake
from bench.records.trial import TrialRecord

PAGES = "pages"
"""The folder of the trials' pages, beside the report."""


PACKED = ".xz"
"""What follows the name of a document that a published run has compressed."""
TRIALS = f"trials.json{PACKED}"
"""The trial.json of all trials of a published run, as one list."""


def trial_page(trial: int) -> str:
    """Where the report finds a trial's page."""
    return f"{PAGES}/{trial:04d}.html"


Json: TypeAlias = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Results:
    """One run's results: tables as docs/tables.md says, `trial_records` what the runner wrote, by trial number."""

    run: Path
    manifest: Json
    plan: Json
    trials: pd.DataFrame
    cases: pd.DataFrame
    timeline: pd.DataFrame
    telemetry: pd.DataFrame
    percentiles: pd.DataFrame
    errors: pd.DataFrame
    messages: pd.DataFrame
    faults: pd.DataFrame
    slices: pd.DataFrame
    ratios: pd.DataFrame
    consumers: pd.DataFrame
    holds: pd.DataFrame
    capacities: pd.DataFrame
    costs: pd.DataFrame
    predictions: pd.DataFrame
    readings: pd.DataFrame
    transfers: pd.DataFrame
    expectations: tuple[Json, ...]
    summary: Json
    trial_records: Mapping[int, TrialRecord]

    @property
    def is_fault_run(self) -> bool:
        """Whether something broke in it on purpose."""
        return breaks(self.summary)

    @property
    def retention(self) -> bool:
        """Whether its steps only waited and read after the load: what is gone servers deleted as they were told."""
        return has_only_waits(self.trial_records.values())

    @property
    def has_strikes(self) -> bool:
        """Whether faults struck in it: its steps did more than wait and read."""
        return self.is_fault_run and not self.retention

    @property
    def service_level(self) -> ServiceLevel:
        """What a rate must keep to count as sustained. Raises KeyError where no case searched for its capacity."""
        return service_level(next(iter(self.trial_records.values())).case.configuration["capacity"])

    @property
    def over_rounds(self) -> bool:
        """Whether intervals come from the variance over rounds, and decide expectations: where nothing was broken.

        Results of older versions of the suite have bootstrap intervals instead, and sign tests.
        """
        return self.summary.get("undecided") is not None

    @property
    def middle(self) -> str:
        """What the figure of a case is: the (geometric) mean of its trials, or where something broke their median."""
        return "mean" if self.over_rounds else "median"

    @property
    def has_slices(self) -> bool:
        """Whether any trial was measured in slices, which alternate with those of the other cases."""
        return len(self.slices) > 0

    @property
    def trial_rows(self) -> list[dict[str, Any]]:
        """The rows of `trials` as mappings."""
        return records(self.trials)

    @property
    def clock_error_ns(self) -> int:
        """The most by which a time between two load machines may be off in any trial; 0 where all share one clock."""
        return max((record.clock_error_ns for record in self.trial_records.values()), default=0)

    @property
    def valid(self) -> pd.DataFrame:
        """The trials that enter statistics."""
        return self.trials[self.trials["verdict"] == "valid"]

    def first_send_ns(self, trial: int) -> int | None:
        """When a trial's first send was, on the clock of its trial.json; None where no fault's two times tell it."""
        struck = self.faults[self.faults["trial"] == trial]
        asked_ns = [fault.asked_ns for fault in self.trial_records[trial].strikes.values()]
        return None if struck.empty or not asked_ns else int(asked_ns[0] - struck["asked_ns"].min())

    def plan_sweeps(self, setting: str) -> bool:
        """Whether any system sweeps a setting."""
        return any(setting in names for names in (self.plan.get("swept") or {}).values())

    @property
    def never_run(self) -> int:
        """How many planned trials left nothing behind: the run was cut short."""
        return never_run(self.plan, map(int, self.trials["trial"]))

    @property
    def pages(self) -> bool:
        """Whether each trial has a page of its own beside the report."""
        return (self.run / PAGES).is_dir()

    @property
    def pages_command(self) -> str | None:
        """The command that writes the trials' pages; None where they are there, or cannot be written."""
        return None if self.pages or not has_event_log(self.run) else f"bench report {self.run.name} --trials"

    @property
    def rounds(self) -> int:
        """The most valid trials that a case has."""
        return int(self.cases["rounds"].max()) if len(self.cases) else 0


def read(run: Path) -> Results:
    """Read a run's results.

    Raises ReportError naming the file that is missing or garbled, OutdatedError where one lacks a column.
    """
    tables = {field.name: _read_table(run, field.name) for field in fields(Results) if field.name in TABLES}
    return Results(
        run=run,
        manifest=document(run / "manifest.json"),
        plan=document(run / "plan.json"),
        expectations=expectations(run),
        summary=summary(run),
        trial_records=trial_records(run),
        **tables,
    )


def table(run: Path, name: str) -> pd.DataFrame:
    """Read one table of a run; one that was added later lacks no column where it has no rows.

    Raises ReportError where it is missing, OutdatedError where it lacks a column.
    """
    path = _table_path(run, name)
    stored_table = _readable(path, pd.read_parquet)
    missing = [column for column in TABLES[name].required_columns if column not in stored_table.columns]
    if missing and stored_table.empty and TABLES[name].added_later:
        return stored_table.reindex(columns=[*stored_table.columns, *missing])
    if missing:
        raise OutdatedError(
            f"{path} has no column {', '.join(missing)}: it was not written by this version of the analysis. "
            f"{_remedy(path)}"
        )
    return stored_table


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table's rows as mappings by column."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def column_total(table: pd.DataFrame, column: str) -> int:
    """Return the sum of a column of counts; a missing count adds nothing."""
    return int(pd.to_numeric(table[column]).sum())


def _read_table(run: Path, name: str) -> pd.DataFrame:
    """Read one table of a run; one without rows where older results lack it."""
    if TABLES[name].added_later and not _table_path(run, name).exists():
        return pd.DataFrame(columns=list(TABLES[name].required_columns))
    return table(run, name)


def _table_path(run: Path, name: str) -> Path:
    return run / "results" / f"{name}.parquet"


def document(path: Path) -> Json:
    """Read a JSON object. Raises ReportError where it is missing or garbled."""
    stored = content(path)
    if not isinstance(stored, dict):
        raise ReportError(f"{path} holds a {type(stored).__name__}, not a JSON object. {_remedy(path)}")
    return stored


def summary(run: Path) -> Json:
    """Read the summary of a run's results. Raises ReportError where it is missing or garbled."""
    return document(run / "results" / "summary.json")


def expectations(run: Path) -> tuple[Json, ...]:
    """Read how a run's expectations were judged. Raises ReportError where that is missing or garbled."""
    return tuple(_list(run / "results" / "expectations.json"))


def never_run(plan: Json, present_numbers: Iterable[int]) -> int:
    """How many of a plan's trials are not among those that are there."""
    return len({int(trial["trial"]) for trial in plan.get("trials", ())}.difference(present_numbers))


def has_only_waits(trials: Iterable[TrialRecord]) -> bool:
    """Whether the steps of these trials only waited and read, also after the load."""
    steps = [trial.case.configuration.get("faults") or () for trial in trials]
    return bool(steps) and all(map(only_waits, steps))


def breaks(summary: Json) -> bool:
    """Whether something broke on purpose in the run of this summary (docs/method/faults.md: standing conditions)."""
    return summary.get("figure") == "timeline"


def _list(path: Path) -> list[Json]:
    stored = content(path)
    if not isinstance(stored, list) or not all(isinstance(entry, dict) for entry in stored):
        raise ReportError(f"{path} is no JSON list of objects. {_remedy(path)}")
    return stored


def content(path: Path) -> object:
    """Read JSON, or the compressed file that a published run has instead. Raises ReportError where it has neither."""
    compressed = path.with_name(f"{path.name}{PACKED}")
    return _readable(path, lambda file: json.loads(_read_text(compressed if compressed.is_file() else file)))


def _read_text(file: Path) -> str:
    try:
        stored = file.read_bytes()
        return (lzma.decompress(stored) if file.suffix == PACKED else stored).decode("utf-8")
    except lzma.LZMAError as error:
        raise ValueError(str(error)) from error


def _readable(path: Path, reader: Callable[[Path], T]) -> T:
    try:
        return reader(path)
    except FileNotFoundError as error:
        raise ReportError(f"{path} is missing. {_remedy(path)}") from error
    except (OSError, ValueError) as error:
        raise ReportError(f"{path} cannot be read: {error}. {_remedy(path)}") from error


def _remedy(path: Path) -> str:
    run = path.parent.parent if path.parent.name == "results" else path.parent
    if not has_event_log(run):
        return "It was published without its event log, or read in from elsewhere: run its scenario again"
    return f"Compute the results from the event log again: bench report {run}"


def has_event_log(run: Path) -> bool:
    """Whether a run's event log is in its folder: a run that was published, or read in, has none."""
    return any((run / "trials").glob("[0-9]*/sends"))


def trial_records(run: Path) -> dict[int, TrialRecord]:
    """Read what the runner wrote down of every trial, by number. Raises ReportError naming file and key."""
    return {number: _record(run, number, stored) for number, stored in trial_documents(run).items()}


def _record(run: Path, trial: int, stored: Json) -> TrialRecord:
    try:
        return TrialRecord.model_validate(stored)
    except ValidationError as error:
        document = run / trial_document_path(run, trial)
        message = f"{document}: {first_mistake(error)}; see docs/event-log.md"
        raise ReportError(message) from error


def trial_documents(run: Path) -> dict[int, Json]:
    """Read trial.json of every trial, by number. Raises ReportError where one is garbled."""
    if (run / TRIALS).is_file():
        return {int(trial["trial"]): trial for trial in _list(run / TRIALS.removesuffix(PACKED))}
    return {
        int(path.parent.name): document(path) for path in sorted((run / "trials").glob("[0-9]*/trial.json"))
    }


def trial_numbers(run: Path) -> list[int]:
    """Return the numbers of the trials that left something behind.

    A published run's come from its table of trials, which is read much faster than its documents.

    Raises ReportError where what holds them is garbled.
    """
    if not (run / TRIALS).is_file():
        return [int(path.name) for path in (run / "trials").glob("[0-9]*")]
    table_path = _table_path(run, "trials")
    if not table_path.is_file():
        return list(trial_documents(run))
    column = _readable(table_path, partial(pd.read_parquet, columns=["trial"]))
    return [int(number) for number in column["trial"]]


def trial_document_path(run: Path, trial: int) -> str:
    """Return where a trial's trial.json lies in a run folder; of a published run the file that it is part of."""
    return TRIALS if (run / TRIALS).is_file() else f"trials/{trial:04d}/trial.json"
