"""A made-up run in which something broke, as results: each trial is what the fault did to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.tables import fields
from bench.model import NANOS
from bench.records.trial import TrialRecord
from bench.report.results import Results
from tests.records import trial_record

RATE = 2000.0
"""Acknowledgements a second before the fault."""
ASKED_S = 8.0
"""When the first fault is asked for, after the first send."""


@dataclass(frozen=True)
class Trial:
    """What a fault did: times without writes and reads in s, by strike; `lost` of the sends between two times."""

    writes: Sequence[float] = (6.0,)
    reads: Sequence[float] | None = None
    ended: str | None = None
    script: float | None = None
    lost: int | None = 0
    sent: tuple[float, float] = (0.0, 0.0)
    unread: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    unanswered: int = 0
    verdict: str = "valid"
    other_cpu: float = 0.0

    def copies(self, *writes: float) -> list[Trial]:
        """The same trial once for each of these times without writes."""
        return [replace(self, writes=(one,)) for one in writes]


@dataclass(frozen=True)
class Case:
    """A configuration with its trials. `asked` are settings that are not swept, `effective` the producer's own."""

    system: str
    settings: Mapping[str, str]
    trials: Sequence[Trial]
    kind: str = "kill"
    fault: str = "leader killed"
    asked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    effective: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The case's full name."""
        return " ".join([self.system, *(f"{name}={value}" for name, value in self.settings.items())])


def results(*cases: Case, window_s: float = 30.0, **manifest: Any) -> Results:
    """Return the results of a run of these cases."""
    numbered = [(case, trial) for case in cases for trial in case.trials]
    rounds = [number for case in cases for number, _ in enumerate(case.trials)]
    nothing = pd.DataFrame()
    faults = [row for number, (case, trial) in enumerate(numbered) for row in _faults(number, case, trial)]
    swept = {system: _names(cases, system) for system in dict.fromkeys(case.system for case in cases)}
    seconds = [row for number, (_, trial) in enumerate(numbered) for row in _seconds(number, trial, window_s)]
    return Results(
        run=Path("/nowhere/run"),
        manifest={"scenario": "made-up", "title": "A leader is killed", **manifest},
        plan={"swept": swept, "cases": [case.name for case in cases], "trials": []},
        trials=pd.DataFrame(
            [
                {**_trial(number, case, trial, window_s), "round": round_number}
                for number, ((case, trial), round_number) in enumerate(zip(numbered, rounds, strict=True))
            ]
        ),
        cases=pd.DataFrame([_case(case) for case in cases]),
        timeline=pd.DataFrame(seconds),
        telemetry=nothing,
        percentiles=nothing,
        errors=nothing,
        messages=nothing,
        faults=pd.DataFrame(faults, columns=list(fields("faults"))),
        slices=pd.DataFrame(columns=list(fields("slices"))),
        ratios=pd.DataFrame(columns=list(fields("ratios"))),
        consumers=nothing,
        holds=nothing,
        capacities=nothing,
        costs=nothing,
        predictions=nothing,
        readings=nothing,
        transfers=nothing,
        expectations=(),
        summary={"figure": "timeline"},
        trial_records={number: _record(number, case, trial) for number, (case, trial) in enumerate(numbered)},
    )


def _names(cases: Sequence[Case], system: str) -> list[str]:
    return list(dict.fromkeys(name for case in cases if case.system == system for name in case.settings))


def _case(case: Case) -> dict[str, Any]:
    valid = sum(trial.verdict == "valid" for trial in case.trials)
    head = {"system": case.system, "case": case.name, "rounds": valid, "trials": len(case.trials)}
    return {**head, "bottleneck": None, **case.settings}


def _trial(number: int, case: Case, trial: Trial, window_s: float) -> dict[str, Any]:
    lost = bool(trial.lost)
    return {
        "trial": number,
        "system": case.system,
        "case": case.name,
        **case.settings,
        "state": "finished",
        "verdict": trial.verdict,
        "window_s": window_s,
        "throughput_msgs_per_s": RATE,
        "acked": round(RATE * window_s),
        "failed": 0,
        "unknown": trial.unanswered,
        "lost": trial.lost,
        "lost_first_ns": trial.sent[0] * NANOS if lost else None,
        "lost_last_ns": trial.sent[1] * NANOS if lost else None,
        "unread": trial.unread,
        "duplicates": trial.duplicates,
        "out_of_order": trial.out_of_order,
        "unavailable_ns": max(trial.writes) * NANOS,
        "unavailable_ended": trial.ended,
        "reader_stall_ns": None,
        "reader_stall_ended": None,
        "other_cpu": trial.other_cpu,
    }


def _faults(number: int, case: Case, trial: Trial) -> list[dict[str, Any]]:
    reads = trial.writes if trial.reads is None else trial.reads
    several = len(trial.writes) > 1
    rows = []
    for strike, (writes, read) in enumerate(zip(trial.writes, reads, strict=True)):
        asked_ns = (ASKED_S + 30 * strike) * NANOS
        rows.append(
            dict.fromkeys(fields("faults"))
            | {
                "trial": number,
                "fault": f"{case.fault}, {strike + 1}" if several else case.fault,
                "kind": case.kind,
                "nodes": "broker-1",
                "proven": True,
                "asked_ns": asked_ns,
                "effect_ns": asked_ns,
                "healed_ns": None if trial.script is None else asked_ns + trial.script * NANOS,
                "ack_gap_ns": writes * NANOS,
                "ack_gap_ended": trial.ended,
                "live_gap_ns": read * NANOS,
                "live_gap_ended": trial.ended,
                "rate_before": RATE,
            }
        )
    return rows


def _record(number: int, case: Case, trial: Trial) -> TrialRecord:
    asked_ns = 100 * NANOS
    step = {
        "name": case.fault,
        "kind": case.kind,
        "nodes": ["broker-1"],
        "asked_ns": asked_ns,
        "effect_ns": asked_ns,
        "proven": True,
        "heal": "never" if trial.script is None else "after",
        "heal_asked_ns": None if trial.script is None else asked_ns + round(trial.script * NANOS),
        "healed_ns": None if trial.script is None else asked_ns + round(trial.script * NANOS) + NANOS,
    }
    configuration = {"partitions": 1, "nodes": {"broker": 3, "bookie": 3}, **case.asked}
    return trial_record(
        trial=number,
        round=number,
        case={
            "system": case.system,
            "name": case.name,
            "settings": dict(case.settings),
            "configuration": configuration,
        },
        verdict=trial.verdict,
        faults=[step],
        effective={"producer": dict(case.effective)},
        load={"producers": 1, "message_bytes": 100, "pacing": [[1.0, RATE]]},
    )


def _seconds(number: int, trial: Trial, window_s: float) -> list[dict[str, Any]]:
    """The trial's seconds: RATE, and nothing while nobody could write."""
    silent = range(round(ASKED_S), round(ASKED_S + trial.writes[0]))
    return [
        {
            "trial": number,
            "second": second,
            "in_window": True,
            "acked": 0 if second in silent else RATE,
            "failed": 0,
            "unknown": 0,
        }
        for second in range(round(window_s))
    ]
