"""Trials in the shape of the OpenMessaging Benchmark's result files, so that charts made for those read them.

Names, units and periods are those of its TestResult: one object a test, rates a second and percentiles in milliseconds
(delays in microseconds) over periods of ten seconds, then over all of it. All percentiles are exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.account.delivery import messages
from bench.analysis.folder import TrialRecord
from bench.analysis.log import EventLog
from bench.analysis.speed.latency import CURVE
from bench.analysis.speed.quantiles import SCALE, quantiles
from bench.analysis.window import Windows, inside
from bench.model import NANOS

PERIOD_S = 10
_PERIOD_NS = PERIOD_S * NANOS
_MEASURES = {"publishLatency": 1e6, "publishDelayLatency": 1e3, "endToEndLatency": 1e6}
"""What OMB calls what is timed, with the nanoseconds of its unit."""
_POINTS = {
    "50pct": 50_000,
    "75pct": 75_000,
    "95pct": 95_000,
    "99pct": 99_000,
    "999pct": 99_900,
    "9999pct": 99_990,
    "99999pct": 99_999,
    "Max": SCALE,
}
_WHOLE = -1
"""The period that stands for the whole window."""


class _Key(NamedTuple):
    trial: int
    period: int
    measure: str


def results(
    trials: Iterable[TrialRecord], log: EventLog, windows: Windows, workload: str
) -> dict[int, dict[str, Any]]:
    """Return a result object for each trial with a window, by its number; the driver is the case."""
    measured = [trial for trial in trials if trial.window is not None]
    times = _times(log, windows)
    counts = _counts(log, windows)
    return {trial.trial: _result(trial, times, counts[trial.trial], workload) for trial in measured}


def _times(log: EventLog, windows: Windows) -> dict[_Key, tuple[float, dict[int, int]]]:
    """Compute mean and quantiles of every measure, by period and over the whole window."""
    sent = windows.over(log.sends).where(inside(F.col("sent_ns")))
    seen = windows.over(messages(log).where((F.col("sends") > 0) & F.col("live_ns").isNotNull()))
    values = _named(sent.where("outcome = 'ok'"), "publishLatency", F.col("done_ns") - F.col("sent_ns"))
    values = values.unionAll(_named(sent, "publishDelayLatency", F.col("sent_ns") - F.col("due_ns")))
    seen = seen.where(inside(F.col("sent_ns")))
    values = values.unionAll(_named(seen, "endToEndLatency", F.col("live_ns") - F.col("sent_ns")))
    both = F.explode(F.array("period", F.lit(_WHOLE))).alias("period")
    values = values.select("trial", both, "measure", "value")
    found: dict[_Key, tuple[float, dict[int, int]]] = {}
    for row in quantiles(values, ["trial", "period", "measure"], CURVE).collect():
        _, points = found.setdefault(_Key(row.trial, row.period, row.measure), (row.mean, {}))
        points[row.quantile] = row.value
    return found


def _named(frame: DataFrame, measure: str, value: Any) -> DataFrame:  # noqa: ANN401 - a Spark column
    return frame.select("trial", _period("sent_ns"), F.lit(measure).alias("measure"), value.alias("value"))


def _period(column: str) -> Any:  # noqa: ANN401 - a Spark column
    return (
        F.call_function("div", F.col(column) - F.col("start_ns"), F.lit(_PERIOD_NS))
        .cast("int")
        .alias("period")
    )


def _counts(log: EventLog, windows: Windows) -> Mapping[int, Mapping[tuple[int, str], int]]:
    """Count what ended and what was received in each period."""
    ended = windows.over(log.sends.where("done_ns is not null")).where(inside(F.col("done_ns")))
    came = windows.over(log.receives.where("stage = 'live'")).where(inside(F.col("received_ns")))
    kinds = ended.select("trial", _period("done_ns"), F.col("outcome").alias("kind")).unionAll(
        came.select("trial", _period("received_ns"), F.lit("received").alias("kind"))
    )
    counts: dict[int, dict[tuple[int, str], int]] = defaultdict(dict)
    for row in kinds.groupBy("trial", "period", "kind").agg(F.count("*").alias("messages")).collect():
        counts[row.trial][row.period, row.kind] = row.messages
    return counts


def _result(
    trial: TrialRecord,
    times: Mapping[_Key, tuple[float, Mapping[int, int]]],
    counts: Mapping[tuple[int, str], int],
    workload: str,
) -> dict[str, Any]:
    window = trial.window
    length_ns = window.end_ns - window.start_ns if window else 0
    whole = length_ns // _PERIOD_NS
    # A period that is cut short is left out, as OMB never has one, unless there is no other.
    lengths = [float(PERIOD_S)] * whole or [length_ns / NANOS or 1.0]
    result: dict[str, Any] = {"workload": workload, "driver": trial.case.name, **_shape(trial)}

    def rate(period: int, *kinds: str) -> float:
        return sum(counts.get((period, kind), 0) for kind in kinds) / lengths[period]

    periods = range(len(lengths))
    result["publishRate"] = [rate(period, "ok") for period in periods]
    result["publishErrorRate"] = [rate(period, "fail", "unknown") for period in periods]
    result["consumeRate"] = [rate(period, "received") for period in periods]
    missing = (counts.get((period, "ok"), 0) - counts.get((period, "received"), 0) for period in periods)
    result["backlog"] = [max(0, so_far) for so_far in accumulate(missing)]
    for measure, unit in _MEASURES.items():
        for name in ("Avg", *_POINTS):
            result[f"{measure}{name}"] = [
                _at(times, _Key(trial.trial, one, measure), name, unit) for one in periods
            ]
        key = _Key(trial.trial, _WHOLE, measure)
        head = f"aggregated{measure[0].upper()}{measure[1:]}"
        for name in ("Avg", *_POINTS):
            result[f"{head}{name}"] = _at(times, key, name, unit)
        points = times[key][1] if key in times else {}
        result[f"{head}Quantiles"] = {
            str(quantile * 100 / SCALE): value / unit for quantile, value in sorted(points.items())
        }
    return result


def _shape(trial: TrialRecord) -> dict[str, Any]:
    load, configuration = trial.load, trial.case.configuration
    return {
        "messageSize": load.message_bytes,
        "topics": 1,
        "partitions": configuration.get("partitions"),
        "producersPerTopic": load.producers,
        "consumersPerTopic": load.consumers,
    }


def _at(times: Mapping[_Key, tuple[float, Mapping[int, int]]], key: _Key, name: str, unit: float) -> float:
    """One figure; 0 where nothing was timed, as OMB has it."""
    if key not in times:
        return 0.0
    mean, points = times[key]
    return (mean if name == "Avg" else points[_POINTS[name]]) / unit
