"""The same settings in other runs: their figures there, and what differs between the runs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench import numbers
from bench.model import EMULATED_FSYNC
from bench.records.trial import TrialRecord
from bench.report import other_runs, sweep
from bench.report.results import Results
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Row, Table

_RATE = "throughput_msgs_per_s"
_UNMODIFIED = "as is"
_SAME_DISK = (None, _UNMODIFIED)
_CONFIGURED = (
    "version",
    "partitions",
    "topic",
    "producer",
    "consumer",
    "processor",
    "consumer_group",
    "cluster_settings",
)
"""What of a case's configuration is a setting; the rest of it, such as the number of nodes, may differ."""
_LOADED = ("producers", "consumers", "message_bytes", "pacing", "window")
_WORDS = {"heap_mib": "heaps", "jit": "JIT", "telemetry": "telemetry"}
_PROBES = (
    ("probe_ns", "a fixed computation took"),
    ("wake_ns", "waking a process took"),
    ("line_ns", "a cache line took"),
)
_PROBES_DIFFER = 1.25
"""Machines whose probes differ by less are taken to be equally fast."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A case of a run: its throughput, and what it was measured under."""

    name: str
    label: str
    throughput: float
    trial: TrialRecord
    probes: Mapping[str, float]

    @property
    def settings(self) -> str:
        """All that is set, as a text that is equal for equal settings."""
        configuration = self.trial.case.configuration
        disk = (configuration.get("disk") or {}).get(EMULATED_FSYNC)
        case_settings = {name: configuration.get(name) for name in _CONFIGURED}
        load = self.trial.load.model_dump(include=set(_LOADED))
        disk_delay = None if disk in _SAME_DISK else disk
        return json.dumps([self.trial.case.system, case_settings, load, disk_delay], sort_keys=True)


def table(results: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """Return the cases of this run that other runs in the same folder have, too; None where no other run has any.

    Only closed loops in which nothing is broken are compared, by throughput.
    """
    if results.is_fault_run or results.summary.get("figure") == "response":
        return None
    cases = list(_cases(results.cases, results.trial_records, parts))
    rows = [
        row
        for other_run in other_runs.runs_of_other_scenarios(
            results.run.resolve().parent, str(results.manifest.get("scenario"))
        )
        for row in _rows(cases, other_run)
    ]
    if not rows:
        return None
    columns = (
        Column("configuration", "name"),
        Column("messages/s here", "number"),
        Column("other run", "name"),
        Column("messages/s there", "number"),
        Column("here / there", "number"),
        Column("what differs", "text"),
    )
    return Table("", columns, tuple(rows))


def _cases(
    cases: pd.DataFrame, trials: Mapping[int, TrialRecord], parts: Sequence[sweep.Part]
) -> Iterator[_Case]:
    labels = {
        str(case["case"]): f"{part.title} {part.label(case)}".removesuffix(f" {part.title}")
        for part in parts
        for _, case in part.cases.iterrows()
    }
    by_case: dict[str, list[TrialRecord]] = {}
    for trial in trials.values():
        by_case.setdefault(trial.case.name, []).append(trial)
    for _, case in cases.iterrows():
        name = str(case["case"])
        if name in by_case and not numbers.absent(case[_RATE]):
            yield _Case(
                name, labels.get(name, name), float(case[_RATE]), by_case[name][0], _probes(by_case[name])
            )


def _probes(trials: Sequence[TrialRecord]) -> dict[str, float]:
    """Return the median of each probe of the machine before a case's trials."""
    values_by_probe: dict[str, list[float]] = {}
    for trial in trials:
        probes = trial.machine.model_dump(exclude_none=True) if trial.machine else {}
        for name, value in probes.items():
            values_by_probe.setdefault(name, []).append(float(value))
    return {name: statistics.median(values) for name, values in values_by_probe.items()}


def _rows(cases: Sequence[_Case], other_run: other_runs.OtherRun) -> Iterator[Row]:
    cases_there = {case.settings: case for case in _cases(other_run.cases, other_run.trials, ())}
    for case in cases:
        if (case_there := cases_there.get(case.settings)) is not None:
            yield Row(
                (
                    Cell(case.label),
                    Cell(numbers.rate(case.throughput)),
                    Cell(str(other_run.manifest.get("scenario"))),
                    Cell(numbers.rate(case_there.throughput)),
                    Cell(numbers.ratio(case.throughput / case_there.throughput)),
                    Cell("; ".join(_differences(case, case_there)) or "the day only"),
                )
            )


def _differences(case_here: _Case, case_there: _Case) -> Iterator[str]:
    """Name what differs between two runs of a case, but for its settings."""
    configuration_here, configuration_there = (
        case.trial.case.configuration for case in (case_here, case_there)
    )
    nodes_here, nodes_there = (
        configuration.get("nodes") or {} for configuration in (configuration_here, configuration_there)
    )
    for role in dict.fromkeys([*nodes_here, *nodes_there]):
        count_here, count_there = (nodes.get(role) or "none" for nodes in (nodes_here, nodes_there))
        if count_here != count_there:
            yield f"{role}s: {count_here} here, {count_there} there"
    for name, words in _WORDS.items():
        if configuration_here.get(name) != configuration_there.get(name):
            yield f"{words}: {_short(configuration_here.get(name))} here, {_short(configuration_there.get(name))} there"
    if bool(configuration_here.get("disk")) != bool(configuration_there.get("disk")):
        yield f"fsyncs are timed one by one {'here' if configuration_here.get('disk') else 'there'}"
    shared = [bool(case.get("groups")) for case in (configuration_here, configuration_there)]
    if shared[0] != shared[1]:
        yield f"storage nodes of another group stopped beside it {'here' if shared[0] else 'there'}"
    sliced = [bool(case.trial.slices) for case in (case_here, case_there)]
    if sliced[0] != sliced[1]:
        yield f"measured in slices {'here' if sliced[0] else 'there'}, in a window {'there' if sliced[0] else 'here'}"
    yield from _slower(case_here.probes, case_there.probes)


def _slower(probes_here: Mapping[str, float], probes_there: Mapping[str, float]) -> Iterator[str]:
    for name, words in _PROBES:
        time_here_ns, time_there_ns = probes_here.get(name), probes_there.get(name)
        if (
            time_here_ns
            and time_there_ns
            and max(time_here_ns / time_there_ns, time_there_ns / time_here_ns) >= _PROBES_DIFFER
        ):
            yield f"{words} {numbers.duration(time_here_ns)} here, {numbers.duration(time_there_ns)} there"


def _short(value: Any) -> str:  # noqa: ANN401 - any setting
    return "default" if value in (None, {}, []) else str(value)


def _content(report: ReportInput) -> Table | None:
    return table(report.results, report.parts)


SECTION = Section("same-settings", "The same settings in other runs", _content)
