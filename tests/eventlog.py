"""Run folders for tests, written by hand: a few rows a trial, all else filled in (docs/event-log.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.model import NANOS, Scalar, text

_POSITION = [("ledger", pa.int64()), ("entry", pa.int64()), ("batch_index", pa.int32())]

SENDS = pa.schema(
    [
        ("producer", pa.int32()),
        ("sequence", pa.int64()),
        ("partition", pa.int32()),
        ("due_ns", pa.int64()),
        ("sent_ns", pa.int64()),
        ("done_ns", pa.int64()),
        ("outcome", pa.string()),
        ("error", pa.string()),
        ("bytes", pa.int32()),
        *_POSITION,
    ]
)
RECEIVES = pa.schema(
    [
        ("consumer", pa.int32()),
        ("stage", pa.string()),
        ("partition", pa.int32()),
        ("producer", pa.int32()),
        ("sequence", pa.int64()),
        ("sent_ns", pa.int64()),
        ("received_ns", pa.int64()),
        *_POSITION,
    ]
)
SAMPLES = pa.schema(
    [
        ("at_ns", pa.int64()),
        ("node", pa.string()),
        ("role", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("counter", pa.bool_()),
    ]
)

_SLICE = pa.field("slice", pa.int32())
FORMATS = {
    1: {"sends": SENDS, "receives": RECEIVES, "telemetry": SAMPLES},
    2: {"sends": SENDS.append(_SLICE), "receives": RECEIVES, "telemetry": SAMPLES.append(_SLICE)},
}
"""The columns of each folder, by the log's format."""

Row = dict[str, Any]


def seconds(value: float) -> int:
    """Turn seconds into the log's nanoseconds, exactly for the few decimals that tests use."""
    return round(value * NANOS)


def send(sequence: int, sent_ns: int, done_ns: int | None, **others: object) -> Row:
    """One row of sends: producer 0, partition 0, acknowledged, 100 bytes, unless told otherwise."""
    row = {"producer": 0, "sequence": sequence, "partition": 0, "due_ns": sent_ns, "sent_ns": sent_ns}
    return row | {"done_ns": done_ns, "outcome": "ok", "error": None, "bytes": 100} | others


def receive(stage: str, sent: Row, received_ns: int, **others: object) -> Row:
    """One row of receives for a message sent: `live` or `verify`, at the place the send was told."""
    row = {"consumer": 0, "stage": stage, "received_ns": received_ns}
    copied = ("partition", "producer", "sequence", "sent_ns", "ledger", "entry", "batch_index")
    return row | {name: sent.get(name) for name in copied} | others


def sample(
    at_s: float, node: str, metric: str, value: float, *, role: str = "broker", counter: bool = True
) -> Row:
    """One row of telemetry."""
    return {
        "at_ns": seconds(at_s),
        "node": node,
        "role": role,
        "metric": metric,
        "value": value,
        "counter": counter,
    }


def cut(slice_number: int, cycle: int, begun_s: float, start_s: float, end_s: float) -> Row:
    """One entry of trial.json's `slices`: loaded from `begun_s`, counted from `start_s` to `end_s`."""
    times = {"begun_ns": seconds(begun_s), "start_ns": seconds(start_s), "end_ns": seconds(end_s)}
    return {"slice": slice_number, "cycle": cycle} | times


def in_slice(slice_number: int, rows: Sequence[Row]) -> list[Row]:
    """The same rows of sends or telemetry, as those of a slice."""
    return [row | {"slice": slice_number} for row in rows]


def read_back(sent: Sequence[Row]) -> list[Row]:
    """The verify rows of messages that lie in this order, from entry 0."""
    return [receive("verify", row, seconds(100), entry=entry) for entry, row in enumerate(sent)]


@dataclass
class TrialLog:
    """One trial of a run folder. `sends`, `receives` or `samples` None: that folder is not there."""

    sends: Sequence[Row] | None = ()
    receives: Sequence[Row] | None = ()
    samples: Sequence[Row] | None = None
    system: str = "memory"
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    round: int = 0
    window: tuple[int, int] | None = (0, NANOS)
    slices: Sequence[Row] | None = None
    """Entries as `cut` makes them; the log is then of format 2, and the window that of the slices."""
    log_format: int = 1
    configuration: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)
    """Keys of trial.json laid over those made here: state, reason, verdict, verify, load, faults …"""

    @property
    def name(self) -> str:
        """The case's name, as expansion would write it."""
        return " ".join([self.system, *(f"{name}={text(value)}" for name, value in self.settings.items())])

    @property
    def written_format(self) -> int:
        """The format of its files: slices need the second."""
        return self.log_format if self.slices is None else 2

    @property
    def whole_window(self) -> Row | None:
        """The `window` of trial.json."""
        if self.slices:
            return {"start_ns": self.slices[0]["start_ns"], "end_ns": self.slices[-1]["end_ns"]}
        return self.window and {"start_ns": self.window[0], "end_ns": self.window[1]}


def write_run(
    folder: Path, trials: Sequence[TrialLog], *, expectations: Sequence[Row] = (), **manifest: object
) -> Path:
    """Write a whole run folder below `folder`; returns it. Extra keywords go into the manifest."""
    for number, trial in enumerate(trials):
        _write_trial(folder / "trials" / f"{number:04d}", number, trial)
    swept: dict[str, list[str]] = {}
    for trial in trials:
        swept.setdefault(trial.system, list(trial.settings))
    _write(folder / "plan.json", _plan(trials, swept))
    head = {"format": 1, "run": folder.name, "scenario": "test", "profile": "quick", "seed": 1}
    _write(folder / "manifest.json", head | {"expectations": list(expectations)} | manifest)
    return folder


def _plan(trials: Sequence[TrialLog], swept: Mapping[str, Sequence[str]]) -> Row:
    listed = [
        {
            "trial": number,
            "round": trial.round,
            "system": trial.system,
            "name": trial.name,
            "settings": dict(trial.settings),
        }
        for number, trial in enumerate(trials)
    ]
    rounds = 1 + max((trial.round for trial in trials), default=0)
    return {
        "format": 1,
        "scenario": "test",
        "profile": "quick",
        "seed": 1,
        "trials": listed,
        "left_out": [],
        "swept": swept,
        "rounds": rounds,
    }


def _write_trial(folder: Path, number: int, trial: TrialLog) -> None:
    folder.mkdir(parents=True)
    stages = {"sends": trial.sends, "receives": trial.receives, "telemetry": trial.samples}
    for stage, rows in stages.items():
        if rows is not None:
            folder.joinpath(stage).mkdir()
            table = pa.Table.from_pylist([{"slice": 0} | row for row in rows], _schema(trial, stage))
            pq.write_table(table, folder / stage / "0.parquet")
    _write(folder / "trial.json", {**_record(number, trial), **trial.others})


def _schema(trial: TrialLog, stage: str) -> Any:
    return FORMATS[trial.written_format][stage]


def _record(number: int, trial: TrialLog) -> Row:
    load = {"producers": 1, "consumers": 1, "message_bytes": 100, "pacing": "closed", "window": 1}
    case = {"system": trial.system, "name": trial.name, "settings": dict(trial.settings)}
    sliced = {"slices": trial.slices} if trial.written_format > 1 else {}
    return {
        "format": trial.written_format,
        **sliced,
        "trial": number,
        "round": trial.round,
        "case": case | {"configuration": dict(trial.configuration)},
        "load": load | {"warm_up_s": 0.0, "duration_s": 1.0, "messages": None},
        "state": "finished",
        "reason": None,
        "started_utc": "2026-11-21T12:00:00Z",
        "window": trial.whole_window,
        "clock_error_ns": 0,
        "faults": [],
        "verdict": "valid",
        "verdicts": [],
        "effective": {"cluster": {}, "topic": {}, "roles": {}, "producer": {}},
        "client": {"cpu_share": 0.25, "loop_lag_max_ns": 1000, "recorder_backlog_max": 1},
        "verify": {"complete": True, "reason": None},
    }


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1))
