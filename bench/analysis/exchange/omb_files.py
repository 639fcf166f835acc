"""A folder of the OpenMessaging Benchmark's result files as a run, to compare with."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from bench import durable_files
from bench.analysis import tables
from bench.analysis.cases import case_rows
from bench.analysis.exchange.omb import PERIOD_S, PERIODS
from bench.analysis.folder import read_model
from bench.columns import TABLES
from bench.errors import EventLogError
from bench.records.trial import TrialRecord
from bench.systems.registry import INSTALLED

Row = dict[str, Any]

_POINTS = {
    "mean": "Avg",
    "p50": "50pct",
    "p95": "95pct",
    "p99": "99pct",
    "p99_9": "999pct",
    "p99_99": "9999pct",
    "max": "Max",
}
_MEASURES = {"service": "aggregatedPublishLatency", "e2e": "aggregatedEndToEndLatency"}
_NS_PER_MS = 1_000_000
_HINT = "; is it a result file of the OpenMessaging Benchmark?"


class _File(BaseModel):
    """What is needed of a result file; percentiles are looked up by name. Before August 2020 none told its shape."""

    model_config = ConfigDict(extra="allow", frozen=True)

    workload: str | None = None
    driver: str
    messageSize: Annotated[int, Field(gt=0)] | None = None  # noqa: N815 - OMB's name
    topics: Annotated[int, Field(gt=0)] | None = None
    partitions: int | None = None
    producersPerTopic: int | None = None  # noqa: N815
    consumersPerTopic: int | None = None  # noqa: N815
    publishRate: Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], Field(min_length=1)]  # noqa: N815
    aggregatedPublishLatency50pct: float  # noqa: N815
    aggregatedPublishLatency99pct: float  # noqa: N815

    @property
    def shape(self) -> dict[str, int | None]:
        """Of what shape the load was, over all topics; None where the file does not tell."""
        return {
            "message_bytes": self.messageSize,
            "topics": self.topics,
            "partitions": self.partitions,
            "producers": self._over_topics(self.producersPerTopic),
            "consumers": self._over_topics(self.consumersPerTopic),
        }

    def _over_topics(self, number: int | None) -> int | None:
        return None if number is None or self.topics is None else self.topics * number


class ImportedTrials(NamedTuple):
    """Trials made of result files: their trial.json, and their rows of the table `trials`."""

    documents: list[Row]
    rows: list[Row]


def files_in(folder: Path) -> list[Path]:
    """Return the result files of a folder. Raises EventLogError where there is none."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise EventLogError(f"{folder}: there is no result file (*.json) of the OpenMessaging Benchmark here")
    return files


def read(files: Sequence[Path]) -> ImportedTrials:
    """Read result files: a trial a file, a case a driver, with what files of that name differ in.

    What such files do not tell stays empty: what was lost, settings, versions, the machine, and the pacing (OMB sends
    at a rate, but does not tell at which). Raises EventLogError naming file and key for one that is none.
    """
    results = [read_model(file, _File, _HINT) for file in files]
    lengths = {folder: _lengths(folder / PERIODS) for folder in {file.parent for file in files}}
    rounds = Counter[str]()
    imported = ImportedTrials([], [])
    for number, (file, result, case) in enumerate(zip(files, results, _cases(results), strict=True)):
        imported.documents.append(_document(number, rounds[case], case, file, result))
        period_s = lengths[file.parent].get(file.name, float(PERIOD_S))
        imported.rows.append(_row(imported.documents[-1], file, result, period_s))
        rounds[case] += 1
    return imported


def _cases(results: Sequence[_File]) -> Iterator[str]:
    """Name the case of each file: its driver, its workload where there are several, what of its shape is not the same.

    Files of one driver and workload that differ in shape are no rounds of one case.
    """
    several = len({result.workload for result in results}) > 1
    heads = [
        f"{result.driver}, {result.workload}" if several and result.workload else result.driver
        for result in results
    ]
    for head, result in zip(heads, results, strict=True):
        shapes = [candidate.shape for name, candidate in zip(heads, results, strict=True) if name == head]
        parts = (
            f"{name}={'unknown' if value is None else value}"
            for name, value in result.shape.items()
            if any(shape[name] != value for shape in shapes)
        )
        yield " ".join((head, *parts))


def write(imported: ImportedTrials, run: Path) -> None:
    """Write results, plan and trial.json below `run`."""
    for document in imported.documents:
        trial = run / "trials" / f"{document['trial']:04d}"
        trial.mkdir(parents=True)
        tables.write_json(trial, "trial", document)
    rounds = 1 + max(document["round"] for document in imported.documents)
    tables.write_json(run, "plan", {"format": 1, "swept": {}, "trials": [], "left_out": [], "rounds": rounds})
    with durable_files.replace_folder(run / "results") as fresh:
        trials = [TrialRecord.model_validate(document) for document in imported.documents]
        _write(fresh, trials, imported.rows)


def _lengths(file: Path) -> dict[str, float]:
    """Read how long the periods of each file are, by its name; OMB itself has no such file, and ten seconds."""
    if not file.is_file():
        return {}
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            return {row["file"]: float(row["period_s"]) for row in csv.DictReader(opened)}
    except (KeyError, TypeError, ValueError) as error:
        raise EventLogError(
            f"reading {file}: it has no columns file and period_s (seconds); export the run again, or delete it if "
            f"all periods last {PERIOD_S} s"
        ) from error


def _document(number: int, turn: int, case: str, file: Path, result: _File) -> Row:
    shape = {name: value for name, value in result.shape.items() if value is not None}
    one_topic = shape.get("topics") == 1  # as in all runs of the suite, which do not say so
    return {
        "format": 1,
        "trial": number,
        "round": turn,
        "case": {
            "system": _system(result.driver),
            "name": case,
            "settings": {},
            "configuration": _part(shape, "partitions", *(() if one_topic else ("topics",))),
        },
        "load": {"pacing": None, **_part(shape, "message_bytes", "producers", "consumers")},
        "state": "finished",
        "verdict": "valid",
        "verdicts": [{"check": "import", "verdict": "valid", "reason": f"read from {file.name}"}],
    }


def _part(shape: Mapping[str, int], *names: str) -> dict[str, int]:
    return {name: shape[name] for name in names if name in shape}


def _system(driver: str) -> str:
    words = driver.lower()
    return next(
        (system for system in INSTALLED if system in words), words.split(maxsplit=1)[0] if words else "other"
    )


def _row(document: Mapping[str, Any], file: Path, result: _File, period_s: float) -> Row:
    rate = mean(result.publishRate)
    return {
        **{name: document[name] for name in ("trial", "round", "state", "verdict")},
        "system": document["case"]["system"],
        "case": document["case"]["name"],
        "window_s": round(period_s * len(result.publishRate), 9),
        "throughput_msgs_per_s": rate,
        "throughput_bytes_per_s": None if result.messageSize is None else rate * result.messageSize,
        **dict(_times(file, result)),
        "account_complete": False,
        "bottleneck": "unknown",
        "bottleneck_evidence": "such files do not tell",
    }


def _times(file: Path, result: _File) -> Iterator[tuple[str, int]]:
    """Give the times of what was timed: such files have 0 for the longest of nothing, or NaN."""
    values = result.model_dump()
    for measure, head in _MEASURES.items():
        nothing = values.get(f"{head}{_POINTS['max']}") == 0
        for point, name in () if nothing else _POINTS.items():
            if (value_ms := _number(file, f"{head}{name}", values)) is not None:
                yield f"{measure}_{point}_ns", round(value_ms * _NS_PER_MS)


def _number(file: Path, key: str, values: Mapping[str, Any]) -> float | None:
    """Return a number of a file, of which Java may have made the text NaN; None where it has none."""
    if (value := values.get(key)) is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise EventLogError(f"reading {file}: {key}: {value!r} is no number{_HINT}") from error
    return number if math.isfinite(number) else None


def _write(fresh: Path, trials: Sequence[TrialRecord], rows: Sequence[Row]) -> None:
    rows_by_table = {"trials": rows, "cases": case_rows(trials, rows, [])}
    for name in TABLES:
        tables.write_rows(fresh, name, rows_by_table.get(name, ()))
    tables.write_json(fresh, "expectations", [])
    tables.write_json(fresh, "summary", {"rounds_needed": None, "figure": "throughput"})
