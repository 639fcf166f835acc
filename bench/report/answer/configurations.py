"""The cases of a run as an answer names them: their labels, guarantees, figures and effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import pandas as pd

from bench import numbers
from bench.columns import CAPACITY, CONSUMED, TIMES
from bench.guarantee import Guarantee
from bench.model import EMULATED_FSYNC, NANOS
from bench.records.trial import LoadRecord
from bench.report import sweep
from bench.report.answer.effect import Effect
from bench.report.presentation import Labels
from bench.report.results import Results
from bench.report.sections import effects
from bench.scenario.values import AS_IS
from bench.statistics.groups import group
from bench.statistics.interval import values_by_case
from bench.statistics.round_ratios import RoundRatio, RoundRatios
from bench.statistics.slice_series import slice_series
from bench.systems.registry import system_title

_MEGA = 1e6
RATE, BYTES = "throughput_msgs_per_s", "throughput_bytes_per_s"
_POINTS = {"p50": "median", "p90": "p90", "p95": "p95", "p99": "p99", "p99_9": "p99.9", "mean": "mean"}
_MEASURES = {
    "service": "time of a send",
    "response": "response time",
    "queue": "time in the queue",
    "e2e": "end-to-end time",
}
_SECTIONS = {"service": "service", "response": "response", "e2e": "end-to-end"}


class Measure(StrEnum):
    """How a figure is stated: as the time of a send in a loop that has one open, as a rate, or as a time."""

    SEND = "send"
    RATE = "rate"
    BYTES = "bytes"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class ValueText:
    """A case's figures as sentences have them; the one that the measure needs is filled."""

    ms: str = ""
    rate: str = ""
    bytes: str = ""
    time: str = ""


class Configurations:
    """The cases of a run."""

    def __init__(self, results: Results, labels: Labels) -> None:
        """Take a run's results and the words of its scenario."""
        self.results = results
        self._labels = labels
        self._rows = {str(case["case"]): case for _, case in results.cases.iterrows()}
        self._trials = {trial.case.name: trial for trial in results.trial_records.values()}
        self._ratios: dict[str, RoundRatios] = {}
        self.parts = sweep.parts(results)

    @property
    def smallest(self) -> float:
        """The smallest effect that matters, as a share."""
        return effects.smallest(self.results)

    @property
    def smallest_words(self) -> str:
        """The same as sentences have it: 5 %."""
        return f"{self.smallest * 100:.3g} %"

    @property
    def names(self) -> list[str]:
        """The cases, in the scenario's order, system by system."""
        return [str(name) for part in self.parts for name in part.cases["case"]]

    def row(self, case: str) -> pd.Series[Any]:
        """Return a case's row of results/cases."""
        return self._rows[case]

    def copies(self, case: str) -> int:
        """Return how many copies of a message a case makes."""
        case_record = self._trials[case].case
        return case_record.description.copies_of(case_record.settings, case_record.configuration)

    def case(self, system: str, settings: Mapping[str, str]) -> str | None:
        """Return the case of a system with these settings; of several the one on the unmodified disk; None for none."""
        matches = [
            str(case["case"])
            for _, case in self.results.cases.iterrows()
            if case["system"] == system and _has(case, settings)
        ]
        unmodified = [
            name for name in matches if numbers.text(self._rows[name].get(EMULATED_FSYNC, AS_IS)) == AS_IS
        ]
        candidates = matches if len(matches) == 1 else unmodified
        return candidates[0] if len(candidates) == 1 else None

    def label(self, case: str) -> str:
        """Name a case by the settings that differ between the cases of its system."""
        return self._names.get(case, case)

    def name_with_system(self, case: str) -> str:
        """Name a case with its system: Kafka (4 replicas, wait for all)."""
        system, label = system_title(str(self._rows[case]["system"])), self.label(case)
        return system if label == system else f"{system} ({label})"

    @cached_property
    def _names(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for part in self.parts:
            varied = part.varied_settings
            cases = [
                {
                    name: value
                    for name, value in zip(part.settings, part.values(case), strict=True)
                    if name in varied
                }
                for _, case in part.cases.iterrows()
            ]
            labels = self._labels.distinct(part.system, cases)
            names.update(zip(map(str, part.cases["case"]), labels, strict=True))
        return names

    def value(self, system: str, setting: str, value: str) -> str:
        """Name one value of a setting; empty where it says nothing."""
        return self._labels.value(system, setting, value)

    def promise(self, case: str) -> Guarantee | None:
        """Return what a case promises of an acknowledged message; None where nothing is known."""
        trial = self._trials.get(case)
        return trial.case.guarantee if trial else None

    def hollow(self, case: str) -> bool:
        """Whether a case promises nothing."""
        promise = self.promise(case)
        return promise is not None and promise.nodes is None

    def all_settings(self, case: str) -> dict[str, str]:
        """Return every setting that a case asks for, by its own name, as text."""
        trial = self._trials.get(case)
        return trial.case.all_settings if trial else {}

    def load(self, case: str) -> LoadRecord:
        """Return the load of a case; of one that no trial is of nothing is known."""
        trial = self._trials.get(case)
        return trial.load if trial else LoadRecord(pacing=None)

    def measure(self, case: str, metric: str) -> Measure | None:
        """Return how a metric of a case is stated; None for one that this does not know."""
        if metric in TIMES:
            return Measure.TIME
        if metric == BYTES:
            return Measure.BYTES
        if metric in {CAPACITY, CONSUMED}:
            return Measure.RATE
        if metric != RATE:
            return None
        return Measure.SEND if self.load(case).one_send_open else Measure.RATE

    def figure(self, case: str, metric: str) -> ValueText:
        """Return a case's middle value as sentences have it."""
        return figure(self._rows[case].get(metric), metric)

    def capacity_range(self, case: str) -> str:
        """Write the highest rate of a case that passed and the lowest that failed; empty where nobody searched."""
        table = self.results.capacities
        rows = table[table["case"] == case] if len(table) else table
        return "" if rows.empty else numbers.rates(*map(float, rows[["passed_rate", "failed_rate"]].iloc[0]))

    def effect(self, case: str, baseline: str, metric: str) -> Effect:
        """Return a case's value over another's.

        From the table `ratios` where that has the pair; else from the rounds of both, by the same rule.
        """
        return (
            self._table_effect(case, baseline, metric)
            or self._inverse(self._table_effect(baseline, case, metric))
            or _of_rounds(self._of(metric).ratio(case, baseline))
        )

    def _table_effect(self, case: str, baseline: str, metric: str) -> Effect | None:
        table = self.results.ratios
        pair_rows = table[
            (table["case"] == case) & (table["baseline"] == baseline) & (table["metric"] == metric)
        ]
        if pair_rows.empty:
            return None
        row = pair_rows.iloc[0]
        low, high = (None if numbers.absent(row[end]) else float(row[end]) for end in ("low", "high"))
        return Effect(float(row["ratio"]), low, high, int(row["rounds"]))

    @staticmethod
    def _inverse(effect: Effect | None) -> Effect | None:
        return effect.inverse if effect else None

    def _of(self, metric: str) -> RoundRatios:
        """Return the ratios of a metric between any two cases, over the rounds of the valid trials."""
        if metric not in self._ratios:
            rows, slices = (_records(table) for table in (self.results.valid, self.results.slices))
            groups = {
                name: group(
                    trial.case.system,
                    trial.case.configuration,
                    waits=trial.case.description.waits(self.all_settings(name)),
                )
                for name, trial in self._trials.items()
            }
            series = slice_series(rows, slices).get(metric)
            self._ratios[metric] = RoundRatios(values_by_case(rows, metric), groups, series)
        return self._ratios[metric]


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table's rows, with None for what is absent."""
    return [
        {str(name): None if numbers.absent(value) else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]


def figure(value: float | None, metric: str) -> ValueText:
    """Return a value as sentences have it."""
    if metric == BYTES:
        return ValueText(
            bytes=numbers.NOTHING if not value or numbers.absent(value) else numbers.rate(value / _MEGA)
        )
    if metric not in {RATE, CAPACITY, CONSUMED}:
        return ValueText(time=numbers.duration(value))
    is_positive = value is not None and not numbers.absent(value) and value > 0
    return ValueText(
        ms=numbers.ms(NANOS / value) if value and is_positive else numbers.NOTHING, rate=numbers.rate(value)
    )


def words(metric: str) -> str:
    """Name a time: the median time of a send. A rate is that time in other words where one send is open."""
    if metric not in TIMES:
        return "the time of a send"
    measure, _, point = metric.removesuffix("_ns").partition("_")
    return f"the {_POINTS.get(point, point)} {_MEASURES.get(measure, measure)}"


def section(metric: str) -> str:
    """Return the section of the report that has a metric's figures."""
    return "capacities" if metric == CAPACITY else _SECTIONS.get(metric.partition("_")[0], "throughput")


def _has(case: pd.Series[Any], settings: Mapping[str, str]) -> bool:
    return all(name in case and numbers.text(case[name]) == value for name, value in settings.items())


def _of_rounds(ratio: RoundRatio | None) -> Effect:
    if ratio is None:
        return Effect(None, None, None, 0)
    interval = ratio.interval()
    low, high = (interval.low, interval.high) if interval else (None, None)
    return Effect(ratio.ratio, low, high, ratio.rounds)
