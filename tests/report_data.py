"""A made-up run folder with results as docs/results.md describes them, for the tests of the report.

Nothing here is measured: rates and times are drawn from a seeded generator around plausible values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench.model import COUNTERS, NANOS, RATES, TIMES

Row: TypeAlias = dict[str, Any]
Times: TypeAlias = npt.NDArray[np.float64]

SWEPT = {
    "kafka": ("replicas", "min.insync.replicas", "acks"),
    "pulsar": ("quorums", "journalSyncData"),
    "memory": ("loss",),
}
_POINTS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}
_GUARANTEES = {
    "0": "Nothing: the client calls a message sent once it has left the client.",
    "1": "The leader has it in its page cache; it is lost with the leader's machine.",
    "all": "Every in-sync replica has it in its page cache; it is lost when all of them lose power at once.",
    "true": "Each bookie of the ack quorum has synced it to disk; it survives a power cut of all of them.",
    "false": "Each bookie of the ack quorum has it in memory; it is lost when all of them lose power at once.",
}
WARM_UP_S, WINDOW_S = 2, 6


@dataclass(frozen=True)
class Sketch:
    """What the made-up run looks like. `failed` and `lost` are numbers of trials (lost: messages by trial)."""

    systems: tuple[str, ...] = ("kafka", "pulsar")
    rounds: int = 5
    failed: tuple[int, ...] = ()
    lost: Mapping[int, int] = field(default_factory=dict)
    incomplete: tuple[int, ...] = ()
    e2e: bool = True
    open_loop: bool = False
    messages: int = 4000
    seed: int = 1


def cases_of(system: str) -> list[dict[str, str]]:
    """The settings of each case, in the scenario's order."""
    if system == "kafka":
        grid = product((1, 2, 4), (1, 2, 4), ("all", "1", "0"))
        points = [(str(r), str(m), a) for r, m, a in grid if m <= r]
    elif system == "pulsar":
        quorums = ("1-1-1", "2-2-1", "2-2-2", "3-2-2", "3-3-2", "3-3-3")
        points = list(product(quorums, ("true", "false")))
    else:
        points = [("0",), ("0.001",)]
    return [dict(zip(SWEPT[system], point, strict=True)) for point in points]


def typical_rate(system: str, settings: Mapping[str, str]) -> float:
    """Messages per second around which a case's trials lie."""
    if system == "kafka":
        copies, needed = int(settings["replicas"]), int(settings["min.insync.replicas"])
        base = {"0": 34_000, "1": 11_000, "all": 9_500 / needed**0.3}[settings["acks"]]
        return float(base / copies**0.45)
    if system == "pulsar":
        ensemble, _, acks = (int(part) for part in settings["quorums"].split("-"))
        return (1450 if settings["journalSyncData"] == "false" else 620) / (ensemble * acks) ** 0.25
    return 52_000.0


def case_name(system: str, settings: Mapping[str, str]) -> str:
    return " ".join([system, *(f"{key}={value}" for key, value in settings.items())])


def build(run: Path, sketch: Sketch | None = None) -> Path:
    """Write a whole run folder, event log excepted; give it back."""
    sketch = sketch or Sketch()
    draw = np.random.default_rng(sketch.seed)
    order = list(_trials(sketch, draw))
    results = run / "results"
    results.mkdir(parents=True)
    rows, timeline, percentiles, messages = [], [], [], []
    for trial in order:
        row, curves, seconds = _measure(trial, sketch, draw)
        rows.append(row)
        percentiles += curves
        timeline += seconds
        messages += _offending(row)
        _write_trial(run, trial, row, sketch)
    trials = pd.DataFrame(rows)
    _write_tables(
        results,
        trials=trials,
        cases=_cases(trials, order),
        timeline=pd.DataFrame(timeline, columns=list(timeline[0]) if timeline else None),
        percentiles=pd.DataFrame(percentiles),
        errors=pd.DataFrame(columns=["trial", "outcome", "error", "count"]),
        messages=pd.DataFrame(messages, columns=_MESSAGE_COLUMNS),
    )
    _write_json(results / "expectations.json", list(_expectations(sketch)))
    _write_json(results / "summary.json", _summary(sketch, trials))
    _write_json(run / "plan.json", _plan(sketch, order))
    _write_json(run / "manifest.json", _manifest(sketch))
    return run


_MESSAGE_COLUMNS = [
    *("trial", "kind", "producer", "sequence", "partition", "ledger", "entry", "batch_index"),
    *("previous_sequence", "error"),
]


def _trials(sketch: Sketch, draw: np.random.Generator) -> Iterator[Row]:
    cases = [(system, settings) for system in sketch.systems for settings in cases_of(system)]
    number = 0
    for turn in range(sketch.rounds):
        for index in draw.permutation(len(cases)):
            system, settings = cases[index]
            name = case_name(system, settings)
            yield {"trial": number, "round": turn, "system": system, "case": name, "settings": settings}
            number += 1


def _measure(trial: Row, sketch: Sketch, draw: np.random.Generator) -> tuple[Row, list[Row], list[Row]]:
    base = {key: trial[key] for key in ("trial", "round", "system", "case")}
    swept = {name: trial["settings"].get(name) for system in sketch.systems for name in SWEPT[system]}
    number = trial["trial"]
    if number in sketch.failed:
        reason = "broker-2 ended with exit code 1 while the topic was created."
        empty = {**dict.fromkeys((*RATES, *TIMES)), **dict.fromkeys(COUNTERS, 0), "e2e_messages": 0}
        state = {"state": "failed", "verdict": "invalid", "reason": reason, "window_s": None}
        return {**base, **state, **swept, **empty, "account_complete": False}, [], []
    rate = typical_rate(trial["system"], trial["settings"]) * draw.normal(1.0, 0.05)
    service = _times(draw, NANOS / rate, sketch.messages)
    latencies = {"service": service}
    if sketch.open_loop:
        latencies["response"] = service * draw.uniform(1.0, 3.0, sketch.messages)
    if sketch.e2e:
        latencies["e2e"] = service + _times(draw, 1_400_000, sketch.messages)
    row = {
        **base, "state": "finished", "verdict": "valid", "reason": None, **swept, "window_s": float(WINDOW_S),
        "throughput_msgs_per_s": rate, "throughput_bytes_per_s": rate * 1000, **dict.fromkeys(TIMES),
        **_account(trial, sketch, int(rate * (WARM_UP_S + WINDOW_S))),
        "e2e_messages": int(rate * WINDOW_S) if sketch.e2e else 0,
        "cpu_share": min(0.92, 0.3 + rate / 80_000), "loop_lag_max_ns": 900_000, "recorder_backlog_max": 3,
    }  # fmt: skip
    for measure, times in latencies.items():
        row |= _points(measure, times)
    return row, list(_curves(number, latencies)), list(_seconds(number, rate, draw))


def _times(draw: np.random.Generator, mean_ns: float, count: int) -> Times:
    """Times with a body, a shoulder (garbage collection, fsync) and a thin tail; their mean is as asked."""
    times = draw.lognormal(0.0, 0.28, count)
    times *= np.where(draw.random(count) < 0.02, draw.uniform(2, 6, count), 1.0)
    times *= np.where(draw.random(count) < 0.001, draw.uniform(5, 40, count), 1.0)
    scaled: Times = times * mean_ns / times.mean()
    return scaled


def _points(measure: str, times: Times) -> Row:
    points = {name: int(np.quantile(times, at)) for name, at in _POINTS.items()}
    points |= {"min": int(times.min()), "mean": int(times.mean()), "max": int(times.max())}
    return {f"{measure}_{name}_ns": value for name, value in points.items()}


def _account(trial: Row, sketch: Sketch, sent: int) -> Row:
    number = trial["trial"]
    account: Row = dict.fromkeys(COUNTERS, 0)
    account |= {"sent": sent, "acked": sent, "received": sent, "account_complete": True}
    if number in sketch.lost:
        account |= {"lost": sketch.lost[number], "received": sent - sketch.lost[number]}
    if number in sketch.incomplete:
        account |= {"account_complete": False, "lost": None, "unknown_absent": None}
    return account


def _offending(row: Row) -> Iterator[Row]:
    for index in range(row["lost"] or 0):
        place = {"producer": 0, "sequence": 1000 + 7 * index, "partition": index % 12, "entry": 80 + index}
        yield dict.fromkeys(_MESSAGE_COLUMNS) | {"trial": row["trial"], "kind": "lost", **place}


def _curves(trial: int, latencies: Mapping[str, Times]) -> Iterator[Row]:
    steps = [n / 100 for n in range(100)] + [n / 1000 for n in range(991, 1000)]
    steps += [n / 10_000 for n in range(9991, 10_000)] + [0.99999]
    for measure, times in latencies.items():
        kept = [step for step in steps if 1 - step >= 1 / len(times)] + [1.0]
        for quantile, value in zip(kept, np.quantile(times, kept), strict=True):
            yield {"trial": trial, "measure": measure, "quantile": quantile, "value_ns": int(value)}


def _seconds(trial: int, rate: float, draw: np.random.Generator) -> Iterator[Row]:
    for second in range(WARM_UP_S + WINDOW_S + 1):
        share = (0.45, 0.85, 1, 1, 1, 1, 1, 1, 0.1)[second]
        acked = int(rate * share * draw.normal(1, 0.03))
        times = {f"service_{name}_ns": int(NANOS / rate * by) for name, by in (("p50", 1), ("p99", 4), ("max", 30))}
        inside = WARM_UP_S <= second < WARM_UP_S + WINDOW_S
        counts = {"acked": acked, "failed": 0, "unknown": 0, "received": acked}
        yield {"trial": trial, "second": second, "in_window": inside, **counts, **times}


def _cases(trials: pd.DataFrame, order: list[Row]) -> pd.DataFrame:
    rows = []
    for name, group in trials.groupby("case"):
        valid = group[group["verdict"] == "valid"]
        settings = next(trial["settings"] for trial in order if trial["case"] == name)
        first = group.iloc[0]
        swept = {key: first[key] for keys in SWEPT.values() for key in keys if key in trials.columns}
        row: Row = {"system": first["system"], "case": name, **swept, "rounds": len(valid), "trials": len(group)}
        for column in (*RATES, *TIMES):
            values = pd.to_numeric(valid[column]).dropna()
            middle = (values.median(), values.min(), values.max()) if len(values) else (None, None, None)
            row |= dict(zip((column, f"{column}_low", f"{column}_high"), middle, strict=True))
        row |= {name: pd.to_numeric(valid[name]).sum(min_count=len(valid)) for name in COUNTERS}
        row["guarantee"] = _GUARANTEES.get(settings.get("acks", settings.get("journalSyncData", "")))
        rows.append(row)
    return pd.DataFrame(rows)


def _write_tables(results: Path, **tables: pd.DataFrame) -> None:
    for name, table in tables.items():
        table.to_parquet(results / f"{name}.parquet", index=False)
        table.to_csv(results / f"{name}.csv", index=False)


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _configuration(trial: Row) -> Row:
    nodes = {
        "kafka": {"controller": 1, "broker": 4},
        "pulsar": {"zookeeper": 1, "bookie": 3, "broker": 1},
    }.get(trial["system"], {})
    version = {"kafka": "4.3.1", "pulsar": "4.0.8"}.get(trial["system"], "0")
    asked = {"partitions": 12, "topic": {}, "producer": {}, "consumer": {}, "cluster_settings": {}}
    return {"version": version, "nodes": nodes, "jit": "default", **asked}


def _effective(trial: Row) -> Row:
    settings = trial["settings"]
    if trial["system"] == "kafka":
        broker = {"log.flush.interval.messages": "9223372036854775807", "num.io.threads": "8"}
        producer = {"acks": settings["acks"], "linger.ms": "0", "enable.idempotence": "false"}
        topic = {"min.insync.replicas": settings["min.insync.replicas"], "replicas": settings["replicas"]}
        return {"cluster": {"nodes": 5}, "topic": topic, "roles": {"broker": broker}, "producer": producer}
    if trial["system"] == "pulsar":
        bookie = {"journalSyncData": settings["journalSyncData"], "journalMaxGroupWaitMSec": "1"}
        roles = {"bookie": bookie, "broker": {"managedLedgerDefaultEnsembleSize": "3"}}
        producer = {"batching_enabled": False, "block_if_queue_full": True}
        return {"cluster": {"bookies": 3}, "topic": {"quorums": settings["quorums"]}, "roles": roles,
                "producer": producer}  # fmt: skip
    return {"cluster": {}, "topic": {}, "roles": {}, "producer": {}}


def _write_trial(run: Path, trial: Row, row: Row, sketch: Sketch) -> None:
    folder = run / "trials" / f"{trial['trial']:04d}"
    folder.mkdir(parents=True)
    failed = row["state"] == "failed"
    case = {"system": trial["system"], "name": trial["case"], "settings": trial["settings"]}
    load = {
        "producers": 1, "consumers": 1 if sketch.e2e else 0, "message_bytes": 1000, "window": 1,
        "pacing": [[8.0, 500]] if sketch.open_loop else "closed",
        "warm_up_s": float(WARM_UP_S), "duration_s": float(WINDOW_S), "messages": None,
    }  # fmt: skip
    content = {
        "format": 1, "trial": trial["trial"], "round": trial["round"],
        "case": case | {"configuration": _configuration(trial)}, "load": load,
        "state": row["state"], "reason": row["reason"], "started_utc": "2026-11-21T12:00:00Z",
        "window": None if failed else {"start_ns": 1, "end_ns": 6 * NANOS}, "clock_error_ns": 0,
        "faults": [], "skipped": [], "verdict": row["verdict"],
        "verdicts": [{"check": "recorder", "verdict": row["verdict"], "reason": row["reason"] or "kept up"}],
        "effective": {} if failed else _effective(trial),
        "client": {} if failed else {"cpu_share": row["cpu_share"], "loop_lag_max_ns": 900_000},
        "verify": {"complete": bool(row["account_complete"]), "reason": None},
    }  # fmt: skip
    _write_json(folder / "trial.json", content)


def _expectations(sketch: Sketch) -> Iterator[Row]:
    enough = sketch.rounds >= 5
    word = "held" if enough else "undecided"
    for system, claim, source, pairs in _CLAIMS:
        if system in sketch.systems:
            comparisons = [
                {"what": what, "rounds_for": sketch.rounds, "rounds_against": 0, "rounds": sketch.rounds,
                 "ratio_median": ratio, "verdict": word}
                for what, ratio in pairs
            ]  # fmt: skip
            summary = f"{word} in {len(pairs)} of {len(pairs)} comparisons over {sketch.rounds} rounds"
            yield {"id": f"{system}-order", "claim": claim, "source": source, "system": system,
                   "verdict": word, "summary": summary, "comparisons": comparisons}  # fmt: skip


_CLAIMS: tuple[tuple[str, str, str, list[tuple[str, float]]], ...] = (
    (
        "kafka",
        "Throughput falls from acks=0 over acks=1 to acks=all.",
        "Kafka documentation, producer configuration `acks`",
        [
            (f"replicas={r} min.insync.replicas={m}: acks={a} > acks={b}", ratio)
            for r, m in ((1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4))
            for a, b, ratio in (("0", "1", 3.09), ("1", "all", 1.16 + 0.2 * (m - 1)))
        ],
    ),
    (
        "pulsar",
        "Throughput rises when the journal is not synced to disk.",
        "BookKeeper documentation, `journalSyncData`",
        [
            (f"quorums={q}: journalSyncData=false > journalSyncData=true", 2.3)
            for q in ("1-1-1", "2-2-1", "2-2-2", "3-2-2", "3-3-2", "3-3-3")
        ],
    ),
)


def _summary(sketch: Sketch, trials: pd.DataFrame) -> Row:
    headline = [
        "On this machine Kafka acknowledges 4,100 to 34,000 messages per second, Pulsar 360 to 1,450.",
        "Waiting for all in-sync replicas costs Kafka a factor of 3 to 5 against acks=0; syncing the journal "
        "costs Pulsar a factor of 2.3.",
        "Nothing that was acknowledged is missing, in any configuration of either system: no server failed.",
    ]
    return {"headline": headline, "figure": "throughput", "analysis_s": 41.2,
            "messages": int(trials["sent"].sum()), "spark": "4.3.0"}  # fmt: skip


def _plan(sketch: Sketch, order: list[Row]) -> Row:
    planned = [
        {"trial": trial["trial"], "round": trial["round"], "system": trial["system"], "name": trial["case"],
         "settings": trial["settings"]}
        for trial in order
    ]  # fmt: skip
    reason = "min.insync.replicas is greater than the number of replicas: no write could be acknowledged."
    points = ((1, 2), (1, 4), (2, 4)) if "kafka" in sketch.systems else ()
    left_out = [
        {"system": "kafka", "settings": {"replicas": r, "min.insync.replicas": m, "acks": a}, "reason": reason}
        for r, m in points
        for a in ("all", "1", "0")
    ]
    return {
        "format": 1, "scenario": "acks-sweep", "profile": "standard", "seed": 1, "trials": planned,
        "left_out": left_out, "swept": {name: list(SWEPT[name]) for name in sketch.systems},
        "rounds": sketch.rounds,
    }  # fmt: skip


def _manifest(sketch: Sketch) -> Row:
    return {
        "format": 1, "run": "20261121-120000-acks-sweep-standard", "scenario": "acks-sweep",
        "profile": "standard", "seed": 1, "title": "What does an acknowledgement cost?",
        "question": "How do throughput and latency change with the number of replicas and with what the producer "
        "waits for, in Kafka and in Pulsar?",
        "source": "CERN, Evaluation of message brokers, 2023", "overrides": [],
        "started_utc": "2026-11-21T12:00:00Z", "ended_utc": "2026-11-21T12:41:00Z",
        "bench": {"version": "0.1.0", "git": "0123abc", "dirty": False},
        "machine": {
            "cpus": 2, "cpu_model": "AMD EPYC 7B13", "memory_bytes": 25_180_000_000,
            "kernel": "6.1.0-31-amd64", "os": "Debian GNU/Linux 12", "file_system": "ext4", "virtual": "kvm",
        },
        "fsync_ns": {"p50": 61_000, "p99": 104_000, "calls": 500, "bytes": 4096},
        "versions": {
            "python": "3.11.7", "java": "17.0.15", "confluent-kafka": "2.16.0", "librdkafka": "2.16.0",
            "pulsar-client": "3.13.0", "locust": "2.47.0", "pyspark": "4.3.0", "kafka": "4.3.1", "pulsar": "4.0.8",
        },
        "timings_s": {"clusters": [{"system": "kafka", "start_s": 4.1}], "total": 2460.0, "measuring": 1200.0},
        "expectations": [],
    }  # fmt: skip
