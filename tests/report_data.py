"""A made-up run folder with results as docs/tables.md describes them, for the tests of the report.

Nothing here is measured: rates and times are drawn from a seeded generator around plausible values.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench.analysis.tables import fields
from bench.columns import BROKEN, COUNTERS, RATES, TIMES, USAGE
from bench.model import BUSY, NANOS
from bench.statistics.interval import level, level_interval, median_interval
from tests import report_documents as documents
from tests.report_sketch import (
    FSYNC_NS,
    LEAD_IN_S,
    SLICE_S,
    SWEPT,
    WARM_UP_S,
    WINDOW_S,
    Row,
    Sketch,
    case_name,
    typical_rate,
)

Times: TypeAlias = npt.NDArray[np.float64]

_POINTS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}
_GUARANTEES = {
    "0": "Nothing: the client calls a message sent once it has left the client.",
    "1": "The leader has it in its page cache; it is lost with the leader's machine.",
    "all": "Every in-sync replica has it in its page cache; it is lost when all lose power at once.",
    "true": "Each bookie of the ack quorum has synced it to disk; it survives a power cut of all of them.",
    "false": "Each bookie of the ack quorum has it in memory; it is lost when all lose power at once.",
}


def build(run: Path, sketch: Sketch | None = None) -> Path:
    """Write a whole run folder, event log excepted; give it back."""
    sketch = sketch or Sketch()
    draw = np.random.default_rng(sketch.seed)
    order = list(_trials(sketch, draw))
    results = run / "results"
    results.mkdir(parents=True)
    rows: list[Row] = []
    timeline: list[Row] = []
    percentiles: list[Row] = []
    messages: list[Row] = []
    slices: list[Row] = []
    begun_ns = _begun(sketch, order, draw)
    for trial in order:
        row, curves, seconds = _measure(trial, sketch, draw)
        rows.append(row)
        percentiles += curves
        timeline += [] if sketch.cycles else seconds
        slices += _slices(row, begun_ns[trial["trial"]], sketch, draw)
        messages += _offending(row)
        documents.write_trial(run, trial, row, sketch, begun_ns[trial["trial"]])
    trials = pd.DataFrame(rows)
    _write_tables(
        results,
        trials=trials,
        cases=_cases(trials, order, sliced=bool(sketch.cycles)),
        telemetry=pd.DataFrame(
            [
                sample
                for trial in order
                for sample in _samples(trial["trial"], trial["system"], begun_ns[trial["trial"]])
            ],
            columns=list(fields("telemetry")),
        ),
        timeline=pd.DataFrame(timeline, columns=_TIMELINE_COLUMNS),
        percentiles=pd.DataFrame(percentiles, columns=["trial", "measure", "quantile", "value_ns"]),
        errors=pd.DataFrame(columns=["trial", "outcome", "error", "count", "present"]),
        messages=pd.DataFrame(messages, columns=_MESSAGE_COLUMNS),
        faults=pd.DataFrame(columns=list(fields("faults"))),
        slices=pd.DataFrame(slices, columns=_SLICE_COLUMNS),
        ratios=pd.DataFrame(_ratios(trials, sketch) if sketch.cycles else [], columns=_RATIO_COLUMNS),
    )
    documents.write_json(results / "expectations.json", list(documents.expectations(sketch)))
    documents.write_json(results / "summary.json", documents.summary(sketch, trials))
    documents.write_json(run / "plan.json", documents.plan(sketch, order))
    documents.write_json(run / "manifest.json", documents.manifest(sketch))
    return run


_TIMELINE_COLUMNS = [
    *("trial", "second", "in_window", "acked", "failed", "unknown", "received"),
    *("service_p50_ns", "service_p99_ns", "service_max_ns"),
]


_MESSAGE_COLUMNS = [
    *("trial", "kind", "producer", "sequence", "partition", "ledger", "entry", "batch_index"),
    *("previous_sequence", "previous_ledger", "previous_entry", "previous_batch_index"),
    *("first_partition", "first_ledger", "first_entry", "first_batch_index", "error"),
]


_SLICE_COLUMNS = [
    *("trial", "slice", "cycle", "start_ns", "length_ns", "acked", "throughput_msgs_per_s"),
    *("service_p50_ns", "service_p99_ns", "response_p99_ns"),
]


_RATIO_COLUMNS = ["system", "case", "baseline", "metric", "ratio", "low", "high", "rounds"]


_UNSEEN = ("unavailable_ended", "machine_cpu_share", "gc_share")
"""Columns of `trials` that tests fill in where they are about them."""


def _trials(sketch: Sketch, draw: np.random.Generator) -> Iterator[Row]:
    cases = [(system, settings) for system in sketch.systems for settings in sketch.cases(system)]
    number = 0
    for turn in range(sketch.rounds):
        for index in draw.permutation(len(cases)):
            system, settings = cases[index]
            name = case_name(system, settings)
            yield {"trial": number, "round": turn, "system": system, "case": name, "settings": settings}
            number += 1


def _measure(trial: Row, sketch: Sketch, draw: np.random.Generator) -> tuple[Row, list[Row], list[Row]]:
    base = {key: trial[key] for key in ("trial", "round", "system", "case")}
    swept = {name: trial["settings"].get(name) for system in sketch.systems for name in sketch.swept(system)}
    number = trial["trial"]
    if number in sketch.failed:
        reason = "broker-2 ended with exit code 1 while the topic was created."
        empty = {
            **dict.fromkeys((*RATES, *TIMES)),
            **dict.fromkeys(COUNTERS, 0),
            **dict.fromkeys((*USAGE, "bottleneck", "bottleneck_evidence", "other_cpu", "fsync_ns")),
            **dict.fromkeys((*BROKEN, *_UNSEEN, "drift", "flags", "cpu_share", "loop_lag_max_ns")),
            "e2e_messages": 0,
        }
        state = {"state": "failed", "verdict": "invalid", "reason": reason, "window_s": None, "slices": None}
        return {**base, **state, **swept, **empty, "account_complete": False}, [], []
    rate = typical_rate(trial["system"], trial["settings"]) * draw.normal(1.0, 0.05)
    service = _times(draw, NANOS / rate, sketch.messages)
    latencies = {"service": service}
    if sketch.open_loop:
        latencies["response"] = service * draw.uniform(1.0, 3.0, sketch.messages)
        latencies["queue"] = latencies["response"] - service
    if sketch.e2e:
        latencies["e2e"] = service + _times(draw, 1_400_000, sketch.messages)
    row = {
        **base,
        "state": "finished",
        "verdict": "valid",
        "reason": None,
        **swept,
        "window_s": sketch.cycles * SLICE_S or float(WINDOW_S),
        "slices": sketch.cycles or None,
        "throughput_msgs_per_s": rate,
        "throughput_bytes_per_s": rate * 1000,
        **dict.fromkeys(TIMES),
        **_account(trial, sketch, int(rate * (WARM_UP_S + WINDOW_S))),
        "e2e_messages": int(rate * WINDOW_S) if sketch.e2e else 0,
        "cpu_share": min(0.92, 0.3 + rate / 80_000),
        "loop_lag_max_ns": 900_000,
        "recorder_backlog_max": 3,
        "fsync_ns": FSYNC_NS.get(trial["settings"].get("emulated_fsync", "")),
        "drift": 0.31 if trial["trial"] in sketch.drifting else 0.01,
        "flags": "trend" if trial["trial"] in sketch.drifting else None,
        **_usage(min(0.92, 0.3 + rate / 80_000)),
        "other_cpu": 1.2 if trial["trial"] in sketch.crowded else 0.1,
        **dict.fromkeys((*BROKEN, *_UNSEEN)),
        "machine_probe_ns": 4_000_000 if trial["trial"] in sketch.slowed else 2_500_000,
    }
    for measure, times in latencies.items():
        row |= _points(measure, times)
    return row, list(_curves(number, latencies)), list(_seconds(number, rate, draw))


def _usage(client: float) -> Row:
    bound = client >= BUSY
    said = (
        f"the load process used {client * 100:.0f} % of the one core"
        if bound
        else "2 ms of 3 ms passed in the broker"
    )
    return {
        **dict(zip(USAGE, (410_000.0, 3.4, 9.2, 1.4), strict=True)),
        "bottleneck": "client" if bound else "broker",
        "bottleneck_evidence": said,
    }


def _samples(trial: int, system: str, begun_ns: list[int]) -> Iterator[Row]:
    """What nodes used: second by second, or looked at when each slice that began then had ended."""
    slice_ns = round((LEAD_IN_S + SLICE_S) * NANOS)
    seconds = [second * NANOS for second in range(WARM_UP_S + WINDOW_S)]
    ends_ns = [begun - begun_ns[0] + slice_ns for begun in begun_ns] or seconds
    levels = {"cpu_s": 0.4, "disk_write_bytes": 2e6, "net_in_bytes": 4e6, "net_out_bytes": 3e6}
    for end_ns in ends_ns:
        at = {"trial": trial, "at_ns": end_ns + 1000}
        for node in ("broker-1", "broker-2") if system != "memory" else ():
            yield from (
                {**at, "node": node, "role": "broker", "metric": name, "value": value}
                for name, value in levels.items()
            )
        yield {**at, "node": "producers", "role": "client", "metric": "cpu_s", "value": 0.3}
        yield {**at, "node": "machine", "role": "machine", "metric": "cpu_busy_s", "value": 1.6}


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
        times = {
            f"service_{name}_ns": int(NANOS / rate * by) for name, by in (("p50", 1), ("p99", 4), ("max", 30))
        }
        inside = WARM_UP_S <= second < WARM_UP_S + WINDOW_S
        counts = {"acked": acked, "failed": 0, "unknown": 0, "received": acked}
        yield {"trial": trial, "second": second, "in_window": inside, **counts, **times}


def _begun(sketch: Sketch, order: list[Row], draw: np.random.Generator) -> dict[int, list[int]]:
    """When each trial's slices began, by trial: in each cycle of a cluster start its trials come in a new order."""
    begun: dict[int, list[int]] = {trial["trial"]: [] for trial in order}
    step_ns = round((LEAD_IN_S + SLICE_S) * NANOS)
    for _, group in pd.DataFrame(order).groupby(["system", "round"]):
        now_ns = NANOS
        for _ in range(sketch.cycles):
            for number in draw.permutation(group["trial"]):
                begun[int(number)].append(now_ns)
                now_ns += step_ns
    return begun


def _slices(row: Row, begun_ns: list[int], sketch: Sketch, draw: np.random.Generator) -> Iterator[Row]:
    """The slices of a trial: in the second round of the first system a quarter of the time was slow."""
    if row["state"] == "failed":
        return
    slow = row["round"] == 1 and row["system"] == sketch.systems[0]
    for number, begun in enumerate(begun_ns):
        late = slow and sketch.cycles // 2 <= number < 3 * sketch.cycles // 4
        rate = row["throughput_msgs_per_s"] * draw.lognormal(0, 0.12) * (0.5 if late else 1.0)
        times = {"service_p50_ns": int(NANOS / rate), "service_p99_ns": int(4 * NANOS / rate)}
        yield {
            "trial": row["trial"],
            "slice": number,
            "cycle": number,
            "start_ns": begun - NANOS + round(LEAD_IN_S * NANOS),
            "length_ns": round(SLICE_S * NANOS),
            "acked": int(rate * SLICE_S),
            "throughput_msgs_per_s": rate,
            **times,
            "response_p99_ns": int(5 * NANOS / rate) if sketch.open_loop else None,
        }


def _ratios(trials: pd.DataFrame, sketch: Sketch) -> Iterator[Row]:
    """Ratios to each system's first case, with an interval of 4 % to both sides from two rounds on."""
    open_loop = ("service_p50_ns", "service_p99_ns", "response_p50_ns", "response_p99_ns")
    closed = ("throughput_msgs_per_s", "service_p50_ns", "service_p99_ns")
    metrics = [*(open_loop if sketch.open_loop else closed), *(["e2e_p50_ns"] if sketch.e2e else [])]
    valid = trials[trials["verdict"] == "valid"]
    for system, case in dict.fromkeys(zip(trials["system"], trials["case"], strict=True)):
        baseline = sketch.baseline(system)
        one, other = (valid[valid["case"] == name].set_index("round") for name in (case, baseline))
        for metric in metrics if case != baseline else ():
            logs = np.log((one[metric] / other[metric]).dropna().astype(float))
            ratio = float(np.exp(logs.mean()))
            ends = (ratio * 0.96, ratio * 1.04) if len(logs) > 1 else (None, None)
            head = {"system": system, "case": case, "baseline": baseline, "metric": metric, "ratio": ratio}
            yield head | {"low": ends[0], "high": ends[1], "rounds": len(logs)}


def _cases(trials: pd.DataFrame, order: list[Row], *, sliced: bool) -> pd.DataFrame:
    middle_of = level if sliced else statistics.median
    interval_of = level_interval if sliced else median_interval
    rows = []
    for name, group in trials.groupby("case"):
        valid = group[group["verdict"] == "valid"]
        settings = next(trial["settings"] for trial in order if trial["case"] == name)
        first = group.iloc[0]
        known = [*(key for keys in SWEPT.values() for key in keys), "emulated_fsync"]
        swept = {key: first[key] for key in known if key in trials.columns}
        row: Row = {
            "system": first["system"],
            "case": name,
            **swept,
            "rounds": len(valid),
            "trials": len(group),
        }
        for column in (*RATES, *TIMES):
            values = list(pd.to_numeric(valid[column]).dropna()) if column in valid else []
            middle = (middle_of(values), min(values), max(values)) if values else (None, None, None)
            row |= dict(zip((column, f"{column}_low", f"{column}_high"), middle, strict=True))
            interval = interval_of(values)
            row[f"{column}_ci_low"] = interval.low if interval else None
            row[f"{column}_ci_high"] = interval.high if interval else None
        row |= {name: pd.to_numeric(valid[name]).sum(min_count=len(valid)) for name in COUNTERS}
        row |= {name: pd.to_numeric(valid[name]).median() for name in USAGE}
        row["due_unsent"] = 0
        row["bottleneck"] = ", ".join(valid["bottleneck"].unique()) or None
        row["guarantee"] = _GUARANTEES.get(settings.get("acks", settings.get("journalSyncData", "")))
        rows.append(row)
    return pd.DataFrame(rows)


def _write_tables(results: Path, **tables: pd.DataFrame) -> None:
    for name, table in tables.items():
        table.to_parquet(results / f"{name}.parquet", index=False)
        table.to_csv(results / f"{name}.csv", index=False)
