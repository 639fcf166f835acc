"""What each slice of each sliced trial saw."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from pyspark.sql import DataFrame

from bench.analysis.speed.latency import MEASURES, Span, send_times
from bench.analysis.speed.quantiles import quantiles
from bench.analysis.speed.throughput import SendTally
from bench.model import NANOS
from bench.records.trial import SliceRecord, TrialRecord

_QUANTILES = {50_000: "p50", 99_000: "p99"}
_GRID = tuple(range(quantile, quantile + 1) for quantile in _QUANTILES)
_TIMES = ("service_p50_ns", "service_p99_ns", "response_p99_ns")


def slice_times(
    sends: DataFrame, unsent: Mapping[Span, int], *, any_open: bool
) -> dict[Span, dict[str, int | None]]:
    """Compute the times of sends (as Windows.sends gives them) of each slice; `unsent` as in `distributions`."""
    measures = ("service", "response") if any_open else ("service",)
    values = send_times(sends.where("sliced"), measures, unsent, ("trial", "slice"))
    times: dict[Span, dict[str, int | None]] = defaultdict(dict)
    for row in quantiles(values, ["trial", "slice", "measure"], _GRID).collect():
        name = f"{MEASURES[row.measure]}_{_QUANTILES[row.quantile]}_ns"
        times[row.trial, row.slice][name] = row.value
    return times


def slice_rows(
    trials: Iterable[TrialRecord],
    tallies: Iterable[SendTally],
    times: Mapping[Span, Mapping[str, int | None]],
) -> Iterator[dict[str, object]]:
    """Give the rows of the table `slices`: every slice of every sliced trial, in the order run within a trial."""
    sliced = [trial for trial in trials if trial.has_slices]
    zeros_ns = _zeros_ns(sliced)
    acked: Counter[Span] = Counter()
    for row in tallies:
        if row.outcome == "ok" and row.in_window:
            acked[row.trial, row.slice] += row.sends
    for trial in sliced:
        for span in trial.spans:
            place = trial.trial, span.slice
            head = _head(trial.trial, span, zeros_ns[_cluster(trial)])
            yield head | _rate(acked[place], span) | {name: times.get(place, {}).get(name) for name in _TIMES}


def _zeros_ns(trials: Iterable[TrialRecord]) -> dict[str, int]:
    """Return when the earliest slice on each cluster start began."""
    zeros_ns: dict[str, int] = {}
    for trial in trials:
        for span in trial.spans:
            cluster = _cluster(trial)
            zeros_ns[cluster] = min(span.begun_ns, zeros_ns.get(cluster, span.begun_ns))
    return zeros_ns


def _cluster(trial: TrialRecord) -> str:
    """Name the cluster start that a trial ran on: by its logs' folder, which all its trials share."""
    return trial.logs or f"trial {trial.trial}"


def _head(trial: int, span: SliceRecord, zero_ns: int) -> dict[str, object]:
    return {
        "trial": trial,
        "slice": span.slice,
        "cycle": span.cycle,
        "start_ns": span.start_ns - zero_ns,
        "length_ns": span.length_ns,
    }


def _rate(acked: int, span: SliceRecord) -> dict[str, object]:
    return {"acked": acked, "throughput_msgs_per_s": acked * NANOS / span.length_ns}
