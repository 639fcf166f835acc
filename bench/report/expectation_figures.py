"""Figures of which the expectations of a scenario speak and that no other table has, with their values by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from bench import numbers
from bench.report.results import Results


class MetricFormat(NamedTuple):
    """What a figure is called, and how a value is written."""

    words: str
    written: Callable[[float], str]


def _times(value: float) -> str:
    return f"{value:.2f}"


_OF_TRIALS: Mapping[str, MetricFormat] = {
    "create_ns": MetricFormat("creating the topic", numbers.duration),
    "servers_rss_bytes": MetricFormat("servers' memory", numbers.size),
    "servers_open_files": MetricFormat("open files", numbers.count),
    "messages_per_request": MetricFormat("messages a request", _times),
    "broker_spread": MetricFormat("farthest broker from the mean", numbers.percent),
    "moves": MetricFormat("moves of partitions", numbers.count),
    "consumed_msgs_per_s": MetricFormat("consumed, messages/s", numbers.rate),
    "redelivered": MetricFormat("received again", numbers.count),
    "idle_members": MetricFormat("members without messages", numbers.count),
    "key_order_violations": MetricFormat("out of their key's order", numbers.count),
    "members_per_key": MetricFormat("members that had a key", _times),
    "member_imbalance": MetricFormat("busiest member over the mean", _times),
}
_OF_FAULTS: Mapping[str, MetricFormat] = {
    "others_gap_ns": MetricFormat("no ack on partitions of other nodes", numbers.duration),
    "first_acked_ns": MetricFormat("until all partitions had an ack", numbers.duration),
    "share_ns": MetricFormat("time until the added node took its part", numbers.duration),
    "live_gap_ns": MetricFormat("longest time a partition was not read", numbers.duration),
    "first_message_ns": MetricFormat("until the member had a message", numbers.duration),
    "p99_before_ns": MetricFormat("send p99 before", numbers.duration),
    "p99_away_ns": MetricFormat("send p99, node away", numbers.duration),
    "p99_recovery_ns": MetricFormat("send p99, node catching up", numbers.duration),
}
_OF_READINGS: Mapping[str, MetricFormat] = {
    "send_p99_before_ns": MetricFormat("send p99 before", numbers.duration),
    "send_p99_during_ns": MetricFormat("send p99 while it read", numbers.duration),
    "send_slowdown": MetricFormat("times as long", _times),
    "e2e_p99_before_ns": MetricFormat("end to end p99 before", numbers.duration),
    "e2e_p99_during_ns": MetricFormat("end to end p99 while it read", numbers.duration),
    "e2e_slowdown": MetricFormat("times as long, end to end", _times),
    "disk_read_bytes": MetricFormat("read from disk meanwhile", numbers.size),
}


_OF_TRANSFERS: Mapping[str, MetricFormat] = {
    "done_ns": MetricFormat("time until all was moved", numbers.duration),
    "copied_bytes": MetricFormat("copied over the network", numbers.size),
    "send_slowdown": MetricFormat("send p99, times that before", _times),
}
_KINDS: tuple[tuple[str, Mapping[str, MetricFormat]], ...] = (
    ("fault", _OF_FAULTS),
    ("reading", _OF_READINGS),
    ("transfer", _OF_TRANSFERS),
    ("", _OF_TRIALS),
)
"""The key that names a step in an expectation, and in the table of these steps; the figures of such a step."""


@dataclass(frozen=True, slots=True)
class ExpectationFigure:
    """A figure of which an expectation speaks: of the step of a `kind` that is called `step`, or of a whole trial."""

    name: str
    metric: MetricFormat
    kind: str
    step: str

    def values(self, results: Results) -> dict[str, list[float]]:
        """Return the figure in valid trials, by case."""
        frame = self._frame(results)
        cases = dict(zip(results.valid["trial"], results.valid["case"], strict=True))
        values_by_case: dict[str, list[float]] = {}
        for trial, value in zip(frame["trial"], frame[self.name], strict=True):
            if trial in cases and not numbers.absent(value):
                values_by_case.setdefault(str(cases[trial]), []).append(float(value))
        return values_by_case

    def is_measured(self, results: Results) -> bool:
        """Whether the run has this figure at all."""
        return self.name in self._table(results)

    def _frame(self, results: Results) -> pd.DataFrame:
        table = self._table(results)
        return table[table[self.kind].map(self._is_step)] if self.kind else table

    def _is_step(self, name: object) -> bool:
        """Whether a row is of the step, or of one of the times that it came."""
        return name == self.step or str(name).startswith(f"{self.step}, ")

    def _table(self, results: Results) -> pd.DataFrame:
        tables = {"fault": results.faults, "reading": results.readings, "transfer": results.transfers}
        return tables.get(self.kind, results.valid)


def expectation_figures(results: Results, system: str | None = None) -> list[ExpectationFigure]:
    """Return the figures of which a run's expectations speak, of one system or of all, each once, in their order.

    Behind them stand the other figures of what was moved: it has a time, a size and a price.
    """
    of_system = [
        entry
        for entry in results.manifest.get("expectations") or ()
        if system in {None, str(entry.get("system"))}
    ]
    named = [figure for entry in of_system for figure in _of(entry)]
    of_transfers = [
        ExpectationFigure(name, metric, figure.kind, figure.step)
        for figure in named
        if figure.kind == "transfer"
        for name, metric in _OF_TRANSFERS.items()
    ]
    figures = dict.fromkeys((*named, *of_transfers))
    return [figure for figure in figures if figure.is_measured(results)]


def leading_figures(results: Results) -> list[ExpectationFigure]:
    """Return the figures where the first expectation speaks of one: what the scenario asks for, and its first page."""
    figures = expectation_figures(results)
    first, *_ = results.manifest.get("expectations") or [{}]
    return figures if figures and first.get("metric") == figures[0].name else []


def _of(expectation: Mapping[str, Any]) -> list[ExpectationFigure]:
    """Return the figure of an expectation; of a reading's times all stand together."""
    metric = str(expectation.get("metric"))
    kind, figures = next((pair for pair in _KINDS if not pair[0] or expectation.get(pair[0])), _KINDS[-1])
    if metric not in figures:
        return []
    names = figures if kind == "reading" else (metric,)
    return [ExpectationFigure(name, figures[name], kind, str(expectation.get(kind) or "")) for name in names]


def heads(figures: Sequence[ExpectationFigure]) -> list[str]:
    """Return the head of each figure: with its step where another figure has the same words."""
    counts = Counter(figure.metric.words for figure in figures)
    return [
        f"{figure.metric.words}, {figure.step}" if counts[figure.metric.words] > 1 else figure.metric.words
        for figure in figures
    ]
