"""A folder of the OpenMessaging Benchmark's result files as a run, to compare with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bench.analysis import tables
from bench.analysis.cases import case_rows
from bench.analysis.exchange.omb import PERIOD_S
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

    What such files do not tell stays empty: what was lost, settings, versions, the machine. Raises EventLogError naming
    file and key for one that is none.
    """
    results = [read_model(file, _File, _HINT) for file in files]
    several = len({result.workload for result in results}) > 1
    rounds = Counter[str]()
    documents, rows = [], []
    for number, (file, result) in enumerate(zip(files, results, strict=True)):
        case = f"{result.driver}, {result.workload}" if several else result.driver
        documents.append(_document(number, rounds[case], case, file, result))
        rows.append(_row(documents[-1], result))
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


def _document(number: int, turn: int, case: str, file: Path, result: _File) -> Row:
    return {
        "format": 1,
        "trial": number,
        "round": turn,
        "case": {"system": _system(result.driver), "name": case, "settings": {}, "configuration": {}},
        "load": {"pacing": "closed", "message_bytes": result.messageSize},
        "state": "finished",
        "verdict": "valid",
        "verdicts": [{"check": "import", "verdict": "valid", "reason": f"read from {file.name}"}],
    }


def _system(driver: str) -> str:
    words = driver.lower()
    return next(
        (system for system in _SYSTEMS if system in words), words.split(maxsplit=1)[0] if words else "other"
    )


def _row(document: Mapping[str, Any], result: _File) -> Row:
    rate = mean(result.publishRate)
    return {
        **{name: document[name] for name in ("trial", "round", "state", "verdict")},
        "system": document["case"]["system"],
        "case": document["case"]["name"],
        "window_s": float(PERIOD_S * len(result.publishRate)),
        "throughput_msgs_per_s": rate,
        "throughput_bytes_per_s": rate * result.messageSize,
        **dict(_times(result)),
        "account_complete": False,
        "bottleneck": "unknown",
        "bottleneck_evidence": "such files do not tell",
    }


def _times(result: _File) -> Iterator[tuple[str, int]]:
    told = result.model_dump()
    for measure, head in _MEASURES.items():
        for point, name in _POINTS.items():
            if (value := told.get(f"{head}{name}")) is not None:
                yield f"{measure}_{point}_ns", round(value * _NS_PER_MS)


def _write(fresh: Path, trials: Sequence[TrialRecord], rows: Sequence[Row]) -> None:
    tables.write_table(fresh, "trials", tables.table(rows, tables.trial_fields([])))
    tables.write_table(fresh, "cases", tables.table(case_rows(trials, rows, []), tables.case_fields([])))
    for name, fields in tables.OTHERS.items():
        tables.write_table(fresh, name, tables.table([], fields))
    tables.write_json(fresh, "expectations", [])
    tables.write_json(fresh, "summary", {"headline": [], "rounds_needed": None, "figure": "throughput"})
