"""A folder of the OpenMessaging Benchmark's result files as a run, to compare with."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bench.analysis import tables
from bench.analysis.cases import case_rows
from bench.analysis.exchange.omb import PERIOD_S, PERIODS
from bench.analysis.folder import TrialRecord, read_model
from bench.errors import EventLogError

Row = dict[str, Any]

_SYSTEMS = ("kafka", "pulsar")
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
    """What is needed of a result file; the percentiles are looked up by name."""

    model_config = ConfigDict(extra="allow", frozen=True)

    workload: str
    driver: str
    messageSize: Annotated[int, Field(gt=0)]  # noqa: N815 - OMB's name
    topics: Annotated[int, Field(gt=0)] = 1
    partitions: int | None = None
    producersPerTopic: int | None = None  # noqa: N815
    consumersPerTopic: int | None = None  # noqa: N815
    publishRate: Annotated[list[float], Field(min_length=1)]  # noqa: N815
    aggregatedPublishLatency50pct: float  # noqa: N815
    aggregatedPublishLatency99pct: float  # noqa: N815


def files_in(folder: Path) -> list[Path]:
    """Return the result files of a folder. Raises EventLogError where there is none."""
    found = sorted(folder.glob("*.json"))
    if not found:
        raise EventLogError(f"{folder}: there is no result file (*.json) of the OpenMessaging Benchmark here")
    return found


def read_in(files: Sequence[Path], run: Path) -> None:
    """Write results, plan and trial.json below `run`: a trial a file, a case a driver (with its workload, if several).

    What such files do not tell stays empty: what was lost, settings, versions, the machine, and the pacing (OMB sends
    at a rate, but does not tell at which). Raises EventLogError naming file and key for one that is none.
    """
    results = [read_model(file, _File, _HINT) for file in files]
    lengths = {folder: _lengths(folder / PERIODS) for folder in {file.parent for file in files}}
    several = len({result.workload for result in results}) > 1
    rounds = Counter[str]()
    documents, rows = [], []
    for number, (file, result) in enumerate(zip(files, results, strict=True)):
        case = f"{result.driver}, {result.workload}" if several else result.driver
        documents.append(_document(number, rounds[case], case, file, result))
        period_s = lengths[file.parent].get(file.name, float(PERIOD_S))
        rows.append(_row(documents[-1], result, period_s))
        rounds[case] += 1
    for document in documents:
        trial = run / "trials" / f"{document['trial']:04d}"
        trial.mkdir(parents=True)
        tables.write_json(trial, "trial", document)
    tables.write_json(
        run, "plan", {"format": 1, "swept": {}, "trials": [], "left_out": [], "rounds": max(rounds.values())}
    )
    with tables.replaced(run / "results") as fresh:
        _write(fresh, [TrialRecord.model_validate(document) for document in documents], rows)


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
    return {
        "format": 1,
        "trial": number,
        "round": turn,
        "case": {
            "system": _system(result.driver),
            "name": case,
            "settings": {},
            "configuration": _told(
                partitions=result.partitions, topics=result.topics if result.topics > 1 else None
            ),
        },
        "load": {
            "pacing": None,
            "message_bytes": result.messageSize,
            **_told(
                producers=_over_topics(result, result.producersPerTopic),
                consumers=_over_topics(result, result.consumersPerTopic),
            ),
        },
        "state": "finished",
        "verdict": "valid",
        "verdicts": [{"check": "import", "verdict": "valid", "reason": f"read from {file.name}"}],
    }


def _told(**values: int | None) -> dict[str, int]:
    return {name: value for name, value in values.items() if value is not None}


def _over_topics(result: _File, number: int | None) -> int | None:
    return None if number is None else result.topics * number


def _system(driver: str) -> str:
    words = driver.lower()
    return next(
        (system for system in _SYSTEMS if system in words), words.split(maxsplit=1)[0] if words else "other"
    )


def _row(document: Mapping[str, Any], result: _File, period_s: float) -> Row:
    rate = mean(result.publishRate)
    return {
        **{name: document[name] for name in ("trial", "round", "state", "verdict")},
        "system": document["case"]["system"],
        "case": document["case"]["name"],
        "window_s": round(period_s * len(result.publishRate), 9),
        "throughput_msgs_per_s": rate,
        "throughput_bytes_per_s": rate * result.messageSize,
        **dict(_times(result)),
        "account_complete": False,
        "bottleneck": "unknown",
        "bottleneck_evidence": "such files do not tell",
    }


def _times(result: _File) -> Iterator[tuple[str, int]]:
    """Give the times of what was timed: such files have 0 for the longest of nothing."""
    told = result.model_dump()
    for measure, head in _MEASURES.items():
        nothing = told.get(f"{head}{_POINTS['max']}") == 0
        for point, name in () if nothing else _POINTS.items():
            if (value := told.get(f"{head}{name}")) is not None:
                yield f"{measure}_{point}_ns", round(value * _NS_PER_MS)


def _write(fresh: Path, trials: Sequence[TrialRecord], rows: Sequence[Row]) -> None:
    tables.write_table(fresh, "trials", tables.table(rows, tables.trial_fields([])))
    tables.write_table(fresh, "cases", tables.table(case_rows(trials, rows, []), tables.case_fields([])))
    for name, fields in tables.OTHERS.items():
        tables.write_table(fresh, name, tables.table([], fields))
    tables.write_json(fresh, "expectations", [])
    tables.write_json(fresh, "summary", {"headline": [], "rounds_needed": None, "figure": "throughput"})
