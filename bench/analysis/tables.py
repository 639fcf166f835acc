"""The files of results/: columns and types as docs/results.md says, Parquet and CSV, all or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from bench.errors import AnalysisError
from bench.model import (
    BROKEN,
    BROKER_SPREAD,
    CONSUMER_COUNTERS,
    COUNTERS,
    CREATE_NS,
    ENDS,
    FOOTPRINT,
    KEYED,
    MEMBERS,
    PHASES,
    RATES,
    READING_METRICS,
    REQUEST_MESSAGES,
    SEGMENTS,
    SHARES,
    STORED,
    TIMES,
    TRANSFER_METRICS,
    USAGE,
)
from bench.systems.registry import WORKING_ROLES

_TEXT, _INT, _LONG, _REAL, _BOOL = pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()

_Fields = dict[str, Any]

_TRIAL_HEAD: _Fields = {
    "trial": _INT,
    "round": _INT,
    "system": _TEXT,
    "case": _TEXT,
    "state": _TEXT,
    "verdict": _TEXT,
    "reason": _TEXT,
}
_TRIAL_TAIL: _Fields = {
    "window_s": _REAL,
    "slices": _INT,
    **dict.fromkeys(RATES, _REAL),
    **dict.fromkeys(TIMES, _LONG),
    "e2e_messages": _LONG,
    **dict.fromkeys(COUNTERS, _LONG),
    "due_unsent": _LONG,
    "clock_error_ns": _LONG,
    "other_messages_per_s": _REAL,
    "account_complete": _BOOL,
    **dict.fromkeys(BROKEN, _LONG),
    "unavailable_ended": _TEXT,
    "reader_stall_ended": _TEXT,
    "copies_missing_ended": _TEXT,
    "cpu_share": _REAL,
    "loop_lag_max_ns": _LONG,
    "recorder_backlog_max": _LONG,
    "drift": _REAL,
    "flags": _TEXT,
    "fsync_ns": _LONG,
    "machine_probe_ns": _LONG,
    "machine_page_ns": _LONG,
    "machine_wake_ns": _LONG,
    "machine_line_ns": _LONG,
    "machine_line_after_ns": _LONG,
    **dict.fromkeys(SHARES, _REAL),
    **dict.fromkeys(USAGE, _REAL),
    **dict.fromkeys((REQUEST_MESSAGES, BROKER_SPREAD), _REAL),
    **dict.fromkeys(MEMBERS[:2], _LONG),
    MEMBERS[2]: _REAL,
    **dict(zip(KEYED, (_LONG, _REAL), strict=True)),
    **dict.fromkeys((*STORED, *FOOTPRINT, CREATE_NS, SEGMENTS), _LONG),
    "flush_ns": _REAL,
    "flush_most_ns": _REAL,
    "request_ns": _REAL,
    "bottleneck": _TEXT,
    "bottleneck_evidence": _TEXT,
}
_CASE_HEAD: _Fields = {"system": _TEXT, "case": _TEXT}
_CASE_TAIL: _Fields = {
    "rounds": _INT,
    "trials": _INT,
    **{
        name: kind
        for figure, kind in (dict.fromkeys(RATES, _REAL) | dict.fromkeys(TIMES, _LONG)).items()
        for name in (figure, *(f"{figure}_{end}" for end in ENDS))
    },
    **dict.fromkeys(COUNTERS, _LONG),
    "due_unsent": _LONG,
    "lost_at_least": _LONG,
    **dict.fromkeys(USAGE, _REAL),
    "bottleneck": _TEXT,
    "guarantee": _TEXT,
}
TIMELINE: _Fields = {
    "trial": _INT,
    "second": _INT,
    "in_window": _BOOL,
    **dict.fromkeys(("acked", "failed", "unknown", "received"), _LONG),
    **dict.fromkeys(("service_p50_ns", "service_p99_ns", "service_max_ns"), _LONG),
}
SLICES: _Fields = {
    "trial": _INT,
    "slice": _INT,
    "cycle": _INT,
    "start_ns": _LONG,
    "length_ns": _LONG,
    "acked": _LONG,
    "throughput_msgs_per_s": _REAL,
    **dict.fromkeys(("service_p50_ns", "service_p99_ns", "response_p99_ns"), _LONG),
}
HOLDS: _Fields = {
    **dict.fromkeys(("trial", "slice"), _INT),
    **dict.fromkeys(("rate", "seconds"), _REAL),
    "confirms": _BOOL,
    **dict.fromkeys(("due", "sent", "failed", "late", "late_end_to_end"), _LONG),
    **dict.fromkeys(("response_p50_ns", "response_p99_ns", "end_to_end_p50_ns", "end_to_end_p99_ns"), _LONG),
    **dict.fromkeys(("producers_growth", "consumers_growth", "client_cpu_share"), _REAL),
    **dict.fromkeys((f"{role}_cpu_share" for role in WORKING_ROLES), _REAL),
    **dict.fromkeys(("verdict", "reason"), _TEXT),
}
CAPACITIES: _Fields = {
    **dict.fromkeys(("system", "case"), _TEXT),
    "starts": _INT,
    **dict.fromkeys(("passed_rate", "failed_rate", "low", "high"), _REAL),
    **dict.fromkeys(("limited_by_client", "non_monotone"), _INT),
    "finding": _TEXT,
}
RATIOS: _Fields = {
    **dict.fromkeys(("system", "case", "baseline", "metric"), _TEXT),
    **dict.fromkeys(("ratio", "low", "high"), _REAL),
    "rounds": _INT,
}
TELEMETRY: _Fields = {
    "trial": _INT,
    "at_ns": _LONG,
    "node": _TEXT,
    "role": _TEXT,
    "metric": _TEXT,
    "value": _REAL,
}
USE: _Fields = {
    "trial": _INT,
    "role": _TEXT,
    "nodes": _INT,
    "metric": _TEXT,
    "value": _REAL,
}
COSTS: _Fields = {
    **dict.fromkeys(("system", "configuration", "role", "resource", "work", "unit"), _TEXT),
    **dict.fromkeys(("value", "low", "high"), _REAL),
    "observations": _INT,
    **dict.fromkeys(("residual_low", "residual_high", "error_median", "error_p90"), _REAL),
}
PREDICTIONS: _Fields = {
    **dict.fromkeys(("system", "case", "configuration", "role"), _TEXT),
    **dict.fromkeys(("cpu_share", "measured", "predicted"), _REAL),
}
PERCENTILES: _Fields = {"trial": _INT, "measure": _TEXT, "quantile": _REAL, "value_ns": _LONG}
ERRORS: _Fields = {"trial": _INT, "outcome": _TEXT, "error": _TEXT, "count": _LONG, "present": _LONG}
MESSAGES: _Fields = {
    "trial": _INT,
    "kind": _TEXT,
    "producer": _INT,
    "sequence": _LONG,
    "partition": _INT,
    "ledger": _LONG,
    "entry": _LONG,
    "batch_index": _INT,
    "previous_sequence": _LONG,
    "previous_ledger": _LONG,
    "previous_entry": _LONG,
    "previous_batch_index": _INT,
    "first_partition": _INT,
    "first_ledger": _LONG,
    "first_entry": _LONG,
    "first_batch_index": _INT,
    "error": _TEXT,
}
CONSUMERS: _Fields = {
    **dict.fromkeys(("trial", "consumer", "partition"), _INT),
    **dict.fromkeys(CONSUMER_COUNTERS, _LONG),
}

FAULTS: _Fields = {
    "trial": _INT,
    "fault": _TEXT,
    "kind": _TEXT,
    "nodes": _TEXT,
    "proven": _BOOL,
    **dict.fromkeys(("asked_ns", "effect_ns", "healed_ns"), _LONG),
    **dict.fromkeys(("first_failed_ns", "first_acked_ns", "first_received_ns"), _LONG),
    "ack_gap_ns": _LONG,
    "ack_gap_served_ns": _LONG,
    "ack_gap_ended": _TEXT,
    "live_gap_ns": _LONG,
    "live_gap_served_ns": _LONG,
    "live_gap_ended": _TEXT,
    "others_gap_ns": _LONG,
    **dict.fromkeys(("share_ns", "copied_bytes", "first_message_ns"), _LONG),
    "rate_before": _REAL,
    "dip_depth": _REAL,
    "dip_messages": _LONG,
    "back_ns": _LONG,
    "live_rate_before": _REAL,
    "live_dip_depth": _REAL,
    "live_dip_messages": _LONG,
    "live_back_ns": _LONG,
    "copies_back_ns": _LONG,
    "copies_back_how": _TEXT,
    **{f"p99_{phase}_ns": _LONG for phase in PHASES},
}

READINGS: _Fields = {
    "trial": _INT,
    "reading": _TEXT,
    "group": _TEXT,
    **dict.fromkeys(("asked_ns", "received", "acked", "found", "missing"), _LONG),
    **dict.fromkeys(("missing_first_ns", "missing_last_ns"), _LONG),
    **{name: _REAL if name.endswith("slowdown") else _LONG for name in READING_METRICS[2:]},
    "reason": _TEXT,
}
TRANSFERS: _Fields = {
    "trial": _INT,
    **dict.fromkeys(("transfer", "kind", "nodes"), _TEXT),
    "asked_ns": _LONG,
    **{name: _REAL if name.endswith("slowdown") else _LONG for name in TRANSFER_METRICS},
}
SERVED: _Fields = {
    "trial": _INT,
    "at_ns": _LONG,
    "partition": _INT,
    "served_by": _TEXT,
    "in_sync": _TEXT,
    "epoch": _LONG,
    "high_watermark": _LONG,
    "segments": _TEXT,
}

OTHERS: Mapping[str, _Fields] = {
    "timeline": TIMELINE,
    "slices": SLICES,
    "holds": HOLDS,
    "capacities": CAPACITIES,
    "ratios": RATIOS,
    "telemetry": TELEMETRY,
    "use": USE,
    "costs": COSTS,
    "predictions": PREDICTIONS,
    "percentiles": PERCENTILES,
    "errors": ERRORS,
    "messages": MESSAGES,
    "consumers": CONSUMERS,
    "faults": FAULTS,
    "readings": READINGS,
    "transfers": TRANSFERS,
    "served": SERVED,
}
"""All tables but `trials` and `cases`, whose columns depend on what is swept."""


def trial_fields(settings: Sequence[str]) -> _Fields:
    return _with_settings(_TRIAL_HEAD, settings, _TRIAL_TAIL)


def case_fields(settings: Sequence[str]) -> _Fields:
    return _with_settings(_CASE_HEAD, settings, _CASE_TAIL)


def _with_settings(head: _Fields, settings: Sequence[str], tail: _Fields) -> _Fields:
    clashes = sorted({*settings} & {*head, *tail})
    if clashes:
        raise AnalysisError(
            f"laying out the results: the swept setting {clashes[0]!r} has the name of another column; "
            f"name it with its owner in plan.json and trial.json (topic.{clashes[0]})"
        )
    return {**head, **dict.fromkeys(settings, _TEXT), **tail}


def table(rows: Iterable[Mapping[str, object]], fields: _Fields) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Build an Arrow table; what a row lacks is null."""
    listed = list(rows)
    return pa.table(
        {name: pa.array([row.get(name) for row in listed], kind) for name, kind in fields.items()}
    )


def frame(spark_frame: DataFrame | None, fields: _Fields) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Bring a small Spark table here; an empty one where there is none."""
    schema = pa.schema(list(fields.items()))
    return (
        schema.empty_table()
        if spark_frame is None
        else spark_frame.toArrow().select(schema.names).cast(schema)
    )


def write_table(folder: Path, name: str, content: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    pq.write_table(content, folder / f"{name}.parquet", compression="zstd")
    pa.csv.write_csv(content, folder / f"{name}.csv")


def write_json(folder: Path, name: str, content: object) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False)
    folder.joinpath(f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
