"""The small files of a run folder: plan.json, manifest.json, and a trial.json each (docs/event-log.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bench.errors import EventLogError
from bench.guarantee import Guarantee, all_settings
from bench.model import FEW_FSYNCS, MOVING, NANOS, READING, SLOWING, WAITING, Pacing, Scalar, text
from bench.pacing import Schedule
from bench.systems.description import Description
from bench.systems.layout import partition_layout
from bench.systems.registry import STORAGE_ROLES, describe

_NARROWING = "slow-network"
_MBIT = 125_000
_NUMBERED = re.compile(r"^\d{4,}$")

_Model = TypeVar("_Model", bound=BaseModel)
Judgement = Literal["valid", "invalid", "unknown"]


class _Record(BaseModel):
    """Keys that the analysis does not need are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Window(_Record):
    start_ns: int
    end_ns: int


class SliceRecord(_Record):
    """A stretch of a trial's load: it is loaded from `begun_ns` on, and [start_ns, end_ns) of it counts."""

    slice: int
    cycle: int
    begun_ns: int
    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """How long the part that counts is."""
        return self.end_ns - self.start_ns

    @model_validator(mode="after")
    def _in_order(self) -> SliceRecord:
        if not self.begun_ns <= self.start_ns < self.end_ns:
            raise ValueError("begun_ns must not be after start_ns, and start_ns must be before end_ns")
        return self


Held = tuple[int, int]
"""A trial and the slice in which it held a rate."""


class HoldRecord(SliceRecord):
    """A slice in which a rate was held, in messages a second; `confirms`: the result rests on it."""

    cycle: int = 0
    rate: float
    confirms: bool
    client_cpu_share: float


class CaseRecord(_Record):
    system: str
    name: str
    settings: dict[str, Scalar]
    configuration: dict[str, Any] = Field(default_factory=dict)

    @property
    def description(self) -> Description:
        """What the suite knows of its system."""
        return describe(self.system)

    @property
    def nodes(self) -> dict[str, int]:
        """How many servers it has, by role."""
        return {role: int(count) for role, count in self.configuration.get("nodes", {}).items()}

    @property
    def all_settings(self) -> dict[str, str]:
        """Every setting that it asks for, swept or not, by its own name, as text."""
        return all_settings(self.settings, self.configuration)

    @property
    def guarantee(self) -> Guarantee | None:
        """What its acknowledgements promise; None where no promise is known."""
        return self.description.guarantee(self.settings, self.configuration)

    @property
    def copies(self) -> int:
        """How many copies of each message it makes."""
        return self.description.copies(self.all_settings, self.nodes)


class LoadRecord(_Record):
    pacing: Literal["closed"] | list[tuple[float, float]] | None
    producers: int | None = None
    window: int | None = None
    consumers: int | None = None
    message_bytes: int | None = None
    warm_up_s: float | None = None
    duration_s: float | None = None
    messages: int | None = None
    keys: int | None = None

    @property
    def schedule(self) -> Schedule | None:
        """When an open loop's sends were due, from the warm-up's begin on; None for a closed one."""
        if not isinstance(self.pacing, list) or not self.pacing or not self.producers:
            return None
        return Schedule(Pacing(tuple(self.pacing)), self.producers, self.warm_up_s or 0.0)


class CheckRecord(_Record):
    check: str
    verdict: Judgement
    reason: str | None = None


class ClientRecord(_Record):
    cpu_share: float | None = None
    loop_lag_max_ns: int | None = None
    recorder_backlog_max: int | None = None


class MachineRecord(_Record):
    probe_ns: int | None = None
    page_ns: int | None = None
    wake_ns: int | None = None
    line_ns: int | None = None
    line_after_ns: int | None = None


class DiskRecord(_Record):
    emulated_fsync: str
    fsync_ns: dict[str, dict[str, int]] = Field(default_factory=dict)
    held: dict[str, dict[str, int]] = Field(default_factory=dict)

    @property
    def typical_ns(self) -> int | None:
        """What one fsync cost in the trial, in the middle of the servers that keep messages, of those that made some.

        That is what it was measured to cost before the load, and by how much longer gates then held the servers' own.
        """
        keepers = {
            node: cost for node, cost in self.fsync_ns.items() if node.rpartition("-")[0] in STORAGE_ROLES
        } or self.fsync_ns
        made = [
            cost["p50"] - cost["gate_p50"] + held["p50"]
            for node, cost in keepers.items()
            if "gate_p50" in cost and (held := self.held.get(node)) and held["calls"] >= FEW_FSYNCS
        ]
        costs = made or [cost["p50"] for cost in keepers.values()]
        return round(median(costs)) if costs else None


class NodeSizeRecord(_Record):
    """What each node was measured to get of the machine: cores, and bytes a second into it and out of it."""

    measured: dict[str, dict[str, float | tuple[float, float]]] = Field(default_factory=dict)

    @property
    def slows(self) -> bool:
        """Whether it holds more than the nodes' memory: then it is to be what limits them."""
        return any(name != "memory" for got in self.measured.values() for name in got)

    @property
    def cores(self) -> dict[str, float]:
        """How many cores each node with a quota got."""
        return {node: got["cpu"] for node, got in self.measured.items() if isinstance(got.get("cpu"), float)}  # type: ignore[misc]  # checked

    @property
    def links(self) -> dict[str, float]:
        """How many bytes a second each node's narrow link carried, in the slower direction."""
        rates = ((node, got.get("network")) for node, got in self.measured.items())
        return {node: min(rate) for node, rate in rates if isinstance(rate, tuple)}


class VerifyRecord(_Record):
    complete: bool = False


class TrialRecord(_Record):
    """What trial.json tells of a trial."""

    format: Literal[1, 2]
    trial: int
    round: int
    case: CaseRecord
    load: LoadRecord
    state: Literal["finished", "failed"]
    reason: str | None = None
    window: Window | None = None
    slices: list[SliceRecord] | None = None
    holds: list[HoldRecord] | None = None
    logs: str | None = None
    faults: list[dict[str, Any]] = Field(default_factory=list)
    history: list[dict[str, Any]] = Field(default_factory=list)
    created_ns: int | None = None
    clock_error_ns: int = 0
    other_messages_per_s: float | None = None
    verdict: Judgement
    verdicts: list[CheckRecord] = Field(default_factory=list)
    client: ClientRecord | None = None
    machine: MachineRecord | None = None
    disk: DiskRecord | None = None
    node_size: NodeSizeRecord | None = None
    verify: VerifyRecord | None = None

    @field_validator("slices")
    @classmethod
    def _numbered(cls, slices: list[SliceRecord] | None) -> list[SliceRecord] | None:
        if [span.slice for span in slices or ()] != list(range(len(slices or ()))):
            raise ValueError("slices must be numbered 0, 1, 2 … in the order run")
        return slices

    @property
    def slice_count(self) -> int:
        """How many slices there are in the event log, held rates included; a contiguous trial is one."""
        return len(self.slices or (None,)) + len(self.holds or ())

    @property
    def sliced(self) -> bool:
        """Whether the trial was measured in slices, and not in one contiguous window."""
        return self.slices is not None

    @property
    def spans(self) -> tuple[SliceRecord, ...]:
        """The stretches that count: the slices, or the whole window as slice 0; none without a window."""
        window = self.window
        if window is None or window.end_ns <= window.start_ns:
            return ()
        if self.slices is not None:
            return tuple(self.slices)
        begun_ns = window.start_ns - round((self.load.warm_up_s or 0.0) * NANOS)
        span = SliceRecord(
            slice=0, cycle=0, begun_ns=begun_ns, start_ns=window.start_ns, end_ns=window.end_ns
        )
        return (span,)

    @property
    def settings(self) -> dict[str, str]:
        """The swept settings as text, as tables and expectations compare them."""
        return {name: text(value) for name, value in self.case.settings.items()}

    @property
    def grouped(self) -> bool:
        """Whether its live consumers were members of one group, which shared its messages."""
        return bool(self.case.configuration.get("consumer_group"))

    @property
    def open_loop(self) -> bool:
        """Whether sends were due by a schedule, so that response time is more than service time."""
        return isinstance(self.load.pacing, list)

    @property
    def broken(self) -> bool:
        """Whether more was done to it than to put it under standing conditions (docs/method/faults.md)."""
        return not all(self._stands(step) for step in self.faults)

    def _stands(self, step: Mapping[str, Any]) -> bool:
        """Whether a step only made something slower, over the whole window, or broke nothing while the load ran."""
        if self.window is not None and step["kind"] in WAITING:
            return bool(step["asked_ns"] < self.window.end_ns)
        effect_ns, heal_ns = step.get("effect_ns"), step.get("heal_asked_ns")
        if self.window is None or effect_ns is None or step["kind"] not in SLOWING:
            return False
        return effect_ns <= self.window.start_ns and (heal_ns is None or heal_ns >= self.window.end_ns)

    @property
    def stopped_short(self) -> bool:
        """Whether all that is wrong with it is that a step was awaited in vain, and faults behind it never came."""
        wrong = [check.check for check in self.verdicts if check.verdict != "valid"]
        left_out = any(step["kind"] == "left out" for step in self.faults)
        return wrong == ["faults"] and left_out and all(step.get("proven", True) for step in self.faults)

    @property
    def links(self) -> dict[str, float]:
        """The bytes a second that the links of nodes carried that were made narrow over the whole window."""
        asked_links = {
            fault.get("name", f"{_NARROWING} {number}"): fault[_NARROWING]
            for number, fault in enumerate(self.case.configuration.get("faults") or (), 1)
            if isinstance(fault.get(_NARROWING), dict)
        }
        rates = {
            node: float((asked_links.get(step["name"].partition(", ")[0]) or {}).get("mbit_per_s") or 0)
            * _MBIT
            for step in self.faults
            if self._stands(step)
            for node in step.get("nodes") or ()
        }
        return {node: rate for node, rate in rates.items() if rate}

    @property
    def reading_steps(self) -> dict[int, dict[str, Any]]:
        """The steps in which somebody read the topic, by their place among its steps."""
        return {place: step for place, step in enumerate(self.faults) if step["kind"] in READING}

    @property
    def moving_steps(self) -> dict[int, dict[str, Any]]:
        """The steps in which an operator moved stored messages, by their place among its steps."""
        return {place: step for place, step in enumerate(self.faults) if step["kind"] in MOVING}

    @property
    def most_segments(self) -> int | None:
        """The most segments that a partition had at one time; None where nobody saw any."""
        layouts = (partition_layout(record) for change in self.history for record in change["partitions"])
        return max((len(layout.segments) for layout in layouts if layout.segments is not None), default=None)

    @property
    def verified(self) -> bool:
        """Whether the full read reached the end, so that what was not read is not there."""
        return self.verify is not None and self.verify.complete


class PlannedRecord(_Record):
    trial: int
    round: int
    system: str
    name: str
    settings: dict[str, Scalar]


class PlanRecord(_Record):
    format: Literal[1]
    swept: dict[str, list[str]]
    cases: list[str] = Field(default_factory=list)
    trials: list[PlannedRecord] = Field(default_factory=list)


class ManifestRecord(_Record):
    format: Literal[1]
    expectations: list[dict[str, Any]] = Field(default_factory=list)
    looks: int = 0
    smallest_effect: float = 0.05
    precision: float | None = None
    baseline: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFolder:
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
    def broken(self) -> bool:
        """Whether something was broken in a trial that counts, or in any where none does."""
        counted = [trial for trial in self.trials if trial.verdict == "valid"] or self.trials
        return any(trial.broken for trial in counted)

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
            (trial.trial, place): parquet_files(
                trial_path(self.path, trial.trial), reads_folder(step["name"])
            )
            for trial in self.trials
            for place, step in trial.reading_steps.items()
        }
        return {key: paths for key, paths in files.items() if paths}


def reads_folder(step: str) -> str:
    """Return where a trial keeps what the reader or the group of a step received."""
    return f"reads/{step.replace(' ', '-')}"


def trial_path(run: Path, trial: int) -> Path:
    return run / "trials" / f"{trial:04d}"


def parquet_files(trial_folder: Path, stage: str) -> list[Path]:
    """Return the Parquet files of a trial's `sends`, `receives`, `telemetry` or `reads/<step>`."""
    files = trial_folder.joinpath(stage).glob("*.parquet")
    return sorted(path for path in files if not path.name.startswith("."))


def read_folder(run: Path) -> RunFolder:
    """Read and check a run's JSON files.

    Raises:
        EventLogError: a file is missing or not as docs/event-log.md says; the message names file and key.
    """
    folders = sorted(
        (path for path in (run / "trials").glob("*") if path.is_dir() and _NUMBERED.match(path.name)),
        key=lambda path: int(path.name),
    )
    return RunFolder(
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
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise EventLogError(f"reading {path}: {key}: {first['msg']}{hint}") from error
