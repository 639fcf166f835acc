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
from bench.report import other_runs, sweep
from bench.report.results import Json, Results
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
    document: Json
    probes: Mapping[str, float]

    @property
    def settings(self) -> str:
        """All that is set, as a text that is equal for equal settings."""
        configuration = self.document["case"]["configuration"]
        disk = (configuration.get("disk") or {}).get(EMULATED_FSYNC)
        known = {name: configuration.get(name) for name in _CONFIGURED}
        load = {name: self.document["load"].get(name) for name in _LOADED}
        disk_delay = None if disk in _SAME_DISK else disk
        return json.dumps([self.document["case"]["system"], known, load, disk_delay], sort_keys=True)


def table(found: Results, parts: Sequence[sweep.Part]) -> Table | None:
    """Return the cases of this run that other runs in the same folder have, too; None where no other run has any.

    Only closed loops in which nothing is broken are compared, by throughput.
    """
    if found.broken or found.summary.get("figure") == "response":
        return None
    own = list(_cases(found.cases, found.trial_files, parts))
    rows = [
        row
        for other in other_runs.others(found.run.resolve().parent, str(found.manifest.get("scenario")))
        for row in _rows(own, other)
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
    cases: pd.DataFrame, documents: Mapping[int, Json], parts: Sequence[sweep.Part]
) -> Iterator[_Case]:
    labels = {
        str(case["case"]): f"{part.title} {part.label(case)}".removesuffix(f" {part.title}")
        for part in parts
        for _, case in part.cases.iterrows()
    }
    by_case: dict[str, list[Json]] = {}
    for document in documents.values():
        by_case.setdefault(str(document["case"]["name"]), []).append(document)
    for _, case in cases.iterrows():
        name = str(case["case"])
        if name in by_case and not numbers.absent(case[_RATE]):
            yield _Case(
                name, labels.get(name, name), float(case[_RATE]), by_case[name][0], _probes(by_case[name])
            )


def _probes(documents: Sequence[Json]) -> dict[str, float]:
    """Return the median of each probe of the machine before a case's trials."""
    known: dict[str, list[float]] = {}
    for document in documents:
        for name, value in (document.get("machine") or {}).items():
            if value is not None:
                known.setdefault(name, []).append(float(value))
    return {name: statistics.median(values) for name, values in known.items()}


def _rows(own: Sequence[_Case], other: other_runs.Other) -> Iterator[Row]:
    theirs = {case.settings: case for case in _cases(other.cases, other.trials, ())}
    for case in own:
        if (there := theirs.get(case.settings)) is not None:
            yield Row(
                (
                    Cell(case.label),
                    Cell(numbers.rate(case.throughput)),
                    Cell(str(other.manifest.get("scenario"))),
                    Cell(numbers.rate(there.throughput)),
                    Cell(numbers.ratio(case.throughput / there.throughput)),
                    Cell("; ".join(_differences(case, there)) or "the day only"),
                )
            )


def _differences(here: _Case, there: _Case) -> Iterator[str]:
    """Name what differs between two runs of a case, but for its settings."""
    one, other = (case.document["case"]["configuration"] for case in (here, there))
    nodes = one.get("nodes") or {}
    for role, count in nodes.items():
        if (their := (other.get("nodes") or {}).get(role)) != count:
            yield f"{role}s: {count} here, {their or 'none'} there"
    for name, words in _WORDS.items():
        if one.get(name) != other.get(name):
            yield f"{words}: {_short(one.get(name))} here, {_short(other.get(name))} there"
    if bool(one.get("disk")) != bool(other.get("disk")):
        yield f"fsyncs are timed one by one {'here' if one.get('disk') else 'there'}"
    shared = [bool(case.get("groups")) for case in (one, other)]
    if shared[0] != shared[1]:
        yield f"storage nodes of another group stopped beside it {'here' if shared[0] else 'there'}"
    sliced = [bool(case.document.get("slices")) for case in (here, there)]
    if sliced[0] != sliced[1]:
        yield f"measured in slices {'here' if sliced[0] else 'there'}, in a window {'there' if sliced[0] else 'here'}"
    yield from _slower(here.probes, there.probes)


def _slower(here: Mapping[str, float], there: Mapping[str, float]) -> Iterator[str]:
    for name, words in _PROBES:
        one, other = here.get(name), there.get(name)
        if one and other and max(one / other, other / one) >= _PROBES_DIFFER:
            yield f"{words} {numbers.duration(one)} here, {numbers.duration(other)} there"


def _short(value: Any) -> str:  # noqa: ANN401 - any setting
    return "default" if value in (None, {}, []) else str(value)
