"""Trials in the shape of the OpenMessaging Benchmark's result files, so that charts made for those read them.

Names, units and types are those of its TestResult (master of January 2026), and no others, for its own ResultsToCsv
refuses any. A test is one object. Rates are per second and percentiles in milliseconds (delays in whole
microseconds), by period, then over all of it. All percentiles are exact. OMB's periods last ten seconds; here a
window is cut into equal ones of about that length, so that the mean of the rates is the window's. Of a trial
measured in slices each slice is a period.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.account.delivery import messages
from bench.analysis.log import EventLog
from bench.analysis.speed.latency import CURVE
from bench.analysis.speed.quantiles import SCALE, quantiles
from bench.analysis.window import Windows, inside
from bench.model import NANOS
from bench.records.trial import TrialRecord

PERIODS = "periods.csv"
"""The file beside exported results that tells how long the periods of each are."""
PERIOD_S = 10
_PERIOD_NS = PERIOD_S * NANOS
_DELAY = "publishDelayLatency"
_MEASURES = ("publishLatency", _DELAY, "endToEndLatency")
"""What OMB calls what is timed."""
_POINTS = {
    "50pct": 50_000,
    "75pct": 75_000,
    "95pct": 95_000,
    "99pct": 99_000,
    "999pct": 99_900,
    "9999pct": 99_990,
    "Max": SCALE,
}
_NS_PER_US, _NS_PER_MS = 1_000, 1_000_000
_WINDOW = -1
"""The period that stands for the whole window."""


class Key(NamedTuple):
    """What was timed, in which of a trial's periods."""

    trial: int
    period: int
    measure: str


Times = Mapping[Key, tuple[float, Mapping[int, int]]]
"""Mean and quantiles, in ns."""


class Periods(NamedTuple):
    """Into how many equal periods a window is cut, and how long each is; of slices, which may differ, the mean."""

    number: int
    length_s: float


def results(
    trials: Iterable[TrialRecord], log: EventLog, windows: Windows, workload: str
) -> dict[int, dict[str, Any]]:
    """Return a result object for each trial with a window, by its number; the driver is the case."""
    times = _times(log, windows)
    counts = _counts(log, windows)
    return {
        trial.trial: result(trial, periods(trial), times, counts[trial.trial], workload)
        for trial in trials
        if trial.spans
    }


def periods(trial: TrialRecord) -> Periods:
    """Cut a trial's window into periods as near to ten seconds as equal ones can be; its slices stay as they are."""
    length_ns = sum(span.length_ns for span in trial.spans)
    number = len(trial.spans) if trial.has_slices else max(1, (length_ns + _PERIOD_NS // 2) // _PERIOD_NS)
    return Periods(number, length_ns / (number * NANOS))


def _times(log: EventLog, windows: Windows) -> Times:
    """Compute mean and quantiles of every measure, by period and over the whole window."""
    sent = windows.over(log.sends).where(inside(F.col("sent_ns")))
    live = windows.over(messages(log).where((F.col("sends") > 0) & F.col("live_ns").isNotNull()))
    values = _measured_values(
        sent.where("outcome = 'ok'"), "publishLatency", F.col("done_ns") - F.col("sent_ns")
    )
    values = values.unionAll(
        _measured_values(sent, "publishDelayLatency", F.col("sent_ns") - F.col("due_ns"))
    )
    live = live.where(inside(F.col("sent_ns")))
    values = values.unionAll(_measured_values(live, "endToEndLatency", F.col("live_ns") - F.col("sent_ns")))
    both_periods = F.explode(F.array("period", F.lit(_WINDOW))).alias("period")
    values = values.select("trial", both_periods, "measure", "value")
    times_by_key: dict[Key, tuple[float, dict[int, int]]] = {}
    for row in quantiles(values, ["trial", "period", "measure"], CURVE).collect():
        _, points = times_by_key.setdefault(Key(row.trial, row.period, row.measure), (row.mean, {}))
        points[row.quantile] = row.value
    return times_by_key


def _measured_values(frame: DataFrame, measure: str, value: Any) -> DataFrame:  # noqa: ANN401 - a Spark column
    return frame.select("trial", _period("sent_ns"), F.lit(measure).alias("measure"), value.alias("value"))


def _period(column: str) -> Any:  # noqa: ANN401 - a Spark column
    """Tell in which of its window's periods a time lies, as `periods` cuts it; in a slice, the slice."""
    length = F.nullif(F.col("end_ns") - F.col("start_ns"), F.lit(0))
    number = F.greatest(F.lit(1), F.call_function("div", length + _PERIOD_NS // 2, F.lit(_PERIOD_NS)))
    period_length = F.call_function("div", length + number - 1, number)
    place = F.call_function("div", F.col(column) - F.col("start_ns"), period_length).cast("int")
    return F.when(F.col("slices").isNotNull(), F.col("slice")).otherwise(place).alias("period")


def _counts(log: EventLog, windows: Windows) -> Mapping[int, Mapping[tuple[int, str], int]]:
    """Count what ended and what was received in each period: sends in their own slice, receives in any."""
    ended = windows.over(log.sends.where("done_ns is not null")).where(inside(F.col("done_ns")))
    live = log.receives.where("stage = 'live'")
    received = live.join(F.broadcast(windows.frame), "trial").where(inside(F.col("received_ns")))
    kinds = ended.select("trial", _period("done_ns"), F.col("outcome").alias("kind")).unionAll(
        received.select("trial", _period("received_ns"), F.lit("received").alias("kind"))
    )
    counts: dict[int, dict[tuple[int, str], int]] = defaultdict(dict)
    for row in kinds.groupBy("trial", "period", "kind").agg(F.count("*").alias("messages")).collect():
        counts[row.trial][row.period, row.kind] = row.messages
    return counts


def result(
    trial: TrialRecord, cut: Periods, times: Times, counts: Mapping[tuple[int, str], int], workload: str
) -> dict[str, Any]:
    """Return the result object of a trial; `counts` are messages by period and what became of them."""

    def rates(*kinds: str) -> list[float]:
        return [
            sum(counts.get((period, kind), 0) for kind in kinds) / cut.length_s
            for period in range(cut.number)
        ]

    def missing_receives(period: int) -> int:
        expected = (trial.load.consumers or 0) * counts.get((period, "ok"), 0)
        return expected - counts.get((period, "received"), 0)

    document: dict[str, Any] = {"workload": workload, "driver": trial.case.name, **_shape(trial)}
    document["publishRate"] = rates("ok")
    document["publishErrorRate"] = rates("fail", "unknown")
    document["consumeRate"] = rates("received")
    document["backlog"] = [max(0, so_far) for so_far in accumulate(map(missing_receives, range(cut.number)))]
    for measure in _MEASURES:
        for name in ("Avg", *_POINTS):
            keys = (Key(trial.trial, period, measure) for period in range(cut.number))
            document[f"{measure}{name}"] = [_at(times, key, name) for key in keys]
        key = Key(trial.trial, _WINDOW, measure)
        head = f"aggregated{measure[0].upper()}{measure[1:]}"
        for name in ("Avg", *_POINTS):
            document[f"{head}{name}"] = _at(times, key, name)
        points = times[key][1] if key in times else {}
        document[f"{head}Quantiles"] = {
            str(quantile * 100 / SCALE): _point(measure, value) for quantile, value in sorted(points.items())
        }
    return document


def _shape(trial: TrialRecord) -> dict[str, Any]:
    load, configuration = trial.load, trial.case.configuration
    return {
        "messageSize": load.message_bytes,
        "topics": 1,
        "partitions": configuration.get("partitions"),
        "producersPerTopic": load.producers,
        "consumersPerTopic": load.consumers,
    }


def _at(times: Times, key: Key, name: str) -> float:
    """One figure; 0 where nothing was timed, as OMB has it."""
    mean, points = times.get(key, (0, dict.fromkeys(_POINTS.values(), 0)))
    if name == "Avg":
        return mean / (_NS_PER_US if key.measure == _DELAY else _NS_PER_MS)
    return _point(key.measure, points[_POINTS[name]])


def _point(measure: str, value_ns: int) -> float:
    """A percentile in OMB's unit and type: delays are whole microseconds (long), all else milliseconds (double)."""
    return value_ns // _NS_PER_US if measure == _DELAY else value_ns / _NS_PER_MS
