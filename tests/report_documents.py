"""The JSON documents of a made-up run: trial.json, plan.json, manifest.json, and those of the results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from bench.model import NANOS
from tests.report_sketch import LEAD_IN_S, SLICE_S, WARM_UP_S, WINDOW_S, Row, Sketch, case_name


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
        jvm = {"broker": {"Xmx": "512m", "UseSerialGC": True}}
        roles = {"broker": broker}
        return {"cluster": {"nodes": 5}, "topic": topic, "roles": roles, "producer": producer, "jvm": jvm}
    if trial["system"] == "pulsar":
        bookie = {"journalSyncData": settings["journalSyncData"], "journalMaxGroupWaitMSec": "1"}
        roles = {"bookie": bookie, "broker": {"managedLedgerDefaultEnsembleSize": "3"}}
        producer = {"batching_enabled": False, "block_if_queue_full": True}
        return {
            "cluster": {"bookies": 3},
            "topic": {"quorums": settings["quorums"]},
            "roles": roles,
            "producer": producer,
        }
    return {"cluster": {}, "topic": {}, "roles": {}, "producer": {}}


def write_trial(run: Path, trial: Row, row: Row, sketch: Sketch, begun_ns: Sequence[int] = ()) -> None:
    """Write a trial's trial.json; `begun_ns` are the times at which its slices began."""
    folder = run / "trials" / f"{trial['trial']:04d}"
    folder.mkdir(parents=True)
    failed = row["state"] == "failed"
    case = {"system": trial["system"], "name": trial["case"], "settings": trial["settings"]}
    load = {
        "producers": 1,
        "consumers": 1 if sketch.e2e else 0,
        "message_bytes": 1000,
        "window": 1,
        "pacing": [[8.0, 500]] if sketch.open_loop else "closed",
        "warm_up_s": LEAD_IN_S if sketch.cycles else float(WARM_UP_S),
        "duration_s": SLICE_S if sketch.cycles else float(WINDOW_S),
        "messages": None,
    }
    content = {
        "format": 2,
        "trial": trial["trial"],
        "logs": f"{trial['system']}-{trial['round']}",
        "slices": [_slice(number, begun) for number, begun in enumerate(begun_ns)] or None,
        "round": trial["round"],
        "case": case | {"configuration": _configuration(trial)},
        "load": load,
        "state": row["state"],
        "reason": row["reason"],
        "started_utc": "2026-11-21T12:00:00Z",
        "window": None if failed else {"start_ns": 1, "end_ns": 6 * NANOS},
        "clock_error_ns": 0,
        "disk": _disk(trial, row),
        "faults": [],
        "verdict": row["verdict"],
        "verdicts": [{"check": "recorder", "verdict": row["verdict"], "reason": row["reason"] or "kept up"}],
        "effective": {} if failed else _effective(trial),
        "client": {} if failed else {"cpu_share": row["cpu_share"], "loop_lag_max_ns": 900_000},
        "verify": {"complete": bool(row["account_complete"]), "reason": None},
    }
    write_json(folder / "trial.json", content)


def _slice(number: int, begun_ns: int) -> Row:
    start_ns = begun_ns + round(LEAD_IN_S * NANOS)
    times = {"begun_ns": begun_ns, "start_ns": start_ns, "end_ns": start_ns + round(SLICE_S * NANOS)}
    return {"slice": number, "cycle": number, **times}


def _disk(trial: Row, row: Row) -> Row | None:
    asked = trial["settings"].get("emulated_fsync")
    return {"emulated_fsync": asked, "fsync_ns": {"broker-1": {"p50": row["fsync_ns"]}}} if asked else None


def expectations(sketch: Sketch) -> Iterator[Row]:
    enough = sketch.rounds >= (2 if sketch.cycles else 5)
    word = "held" if enough else "undecided"
    if sketch.cycles and enough:
        yield _without_difference(sketch)
    for system, claim, source, pairs in _CLAIMS:
        if system in sketch.systems:
            comparisons = [
                {
                    "what": what,
                    "rounds_for": sketch.rounds,
                    "rounds_against": 0,
                    "rounds": sketch.rounds,
                    "ratio_median": ratio,
                    "ratio_low": ratio * 0.9,
                    "ratio_high": ratio * 1.1,
                    "verdict": word,
                }
                for what, ratio in pairs
            ]
            summary = f"{word} in {len(pairs)} of {len(pairs)} comparisons over {sketch.rounds} rounds"
            yield {
                "id": f"{system}-order",
                "claim": claim,
                "source": source,
                "system": system,
                "verdict": word,
                "summary": summary,
                "comparisons": comparisons,
                **(
                    {"smallest_effect": 0.05, "effect": min(ratio for _, ratio in pairs)}
                    if sketch.cycles
                    else {}
                ),
            }


def _without_difference(sketch: Sketch) -> Row:
    comparison = {
        "what": "replicas=4 acks=all: min.insync.replicas=1 > min.insync.replicas=4",
        "rounds_for": 2,
        "rounds_against": 1,
        "rounds": sketch.rounds,
        "values": None,
        "ratio_median": 1.012,
        "ratio_low": 0.985,
        "ratio_high": 1.04,
        "verdict": "no difference",
    }
    return {
        "id": "min-insync",
        "claim": "A higher `min.insync.replicas` costs throughput.",
        "source": "",
        "system": sketch.systems[0],
        "verdict": "no difference",
        "summary": "no difference larger than 5 %",
        "smallest_effect": 0.05,
        "effect": 1.012,
        "comparisons": [comparison],
    }


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


def summary(sketch: Sketch, trials: pd.DataFrame) -> Row:
    return {
        "undecided": _undecided(sketch) if sketch.cycles else None,
        "figure": "price" if sketch.disks else "throughput",
        "analysis_s": 41.2,
        "messages": int(trials["sent"].sum()),
        "spark": "4.3.0",
    }


def _undecided(sketch: Sketch) -> Row:
    """What is undecided: every order after one round, nothing after two."""
    return {
        "expectations": [f"{system}-order" for system in sketch.systems] if sketch.rounds < 2 else [],
        "half_widths": {"throughput_msgs_per_s": 0.031} if sketch.rounds > 1 else {},
        "minutes_left": 12.4 if sketch.rounds < 2 else 0.0,
    }


def plan(sketch: Sketch, order: list[Row]) -> Row:
    planned = [
        {
            "trial": trial["trial"],
            "round": trial["round"],
            "system": trial["system"],
            "name": trial["case"],
            "settings": trial["settings"],
        }
        for trial in order
    ]
    reason = "min.insync.replicas is greater than the number of replicas: no write could be acknowledged."
    points = ((1, 2), (1, 4), (2, 4)) if "kafka" in sketch.systems else ()
    left_out = [
        {
            "system": "kafka",
            "settings": {"replicas": r, "min.insync.replicas": m, "acks": a},
            "reason": reason,
        }
        for r, m in points
        for a in ("all", "1", "0")
    ]
    return {
        "format": 1,
        "scenario": "acks-sweep",
        "profile": "standard",
        "seed": 1,
        "trials": planned,
        "left_out": left_out,
        "swept": {name: list(sketch.swept(name)) for name in sketch.systems},
        "cases": [
            case_name(system, settings) for system in sketch.systems for settings in sketch.cases(system)
        ],
        "rounds": sketch.rounds,
    }


def manifest(sketch: Sketch) -> Row:
    return {
        "format": 1,
        "run": "20261121-120000-acks-sweep-standard",
        "scenario": "acks-sweep",
        "profile": "standard",
        "seed": 1,
        "title": "What does an acknowledgement cost?",
        "question": "How do throughput and latency change with what a producer waits for?",
        "source": "made up for tests",
        "overrides": [],
        "started_utc": "2026-11-21T12:00:00Z",
        "ended_utc": "2026-11-21T12:41:00Z",
        "bench": {"version": "0.1.0", "git": "0123abc", "dirty": False},
        "machine": {
            "cpus": 2,
            "cpu_model": "AMD EPYC 7B13",
            "memory_bytes": 25_180_000_000,
            "kernel": "6.1.0-31-amd64",
            "os": "Debian GNU/Linux 12",
            "file_system": "ext4",
            "virtual": "kvm",
        },
        "fsync_ns": {"p50": 61_000, "p99": 104_000, "calls": 500, "bytes": 4096},
        "versions": {
            "python": "3.11.7",
            "java": "17.0.15",
            "confluent-kafka": "2.16.0",
            "librdkafka": "2.16.0",
            "pulsar-client": "3.13.0",
            "locust": "2.47.0",
            "pyspark": "4.3.0",
            "kafka": "4.3.1",
            "pulsar": "4.0.8",
        },
        "timings_s": {
            "clusters": [{"system": "kafka", "start_s": 4.1}],
            "total": 2460.0,
            "measuring": 1200.0,
        },
        "expectations": [],
        "looks": max(0, sketch.rounds - 1) if sketch.cycles else 0,
        "smallest_effect": 0.05,
        "baseline": {system: sketch.baseline(system) for system in sketch.systems},
    }


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
