"""The tidy table: a row a trial and figure, with all that is needed to read it (docs/results.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.columns import METRICS, SHARES, TABLES

_HEAD = ("system", "case")
_TRIAL = ("round", "trial", "verdict", "bottleneck", "flags")
_FIGURES = (*METRICS, "due_unsent", *SHARES, "flush_ns", "request_ns", "drift")
_UNITS = {column.name: column.unit or "count" for column in TABLES["trials"].columns}


def rows(
    run: str, manifest: Mapping[str, Any], settings: Sequence[str], trials: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Give a row for each known figure of the table `trials`; settings that a system does not have are empty.

    `fsync_ns` is what one fsync cost: in the trial where disks were emulated, else on the run's disk.
    """
    disk_ns = (manifest.get("fsync_ns") or {}).get("p50")
    for trial in trials:
        head = {
            "run": run,
            "scenario": manifest.get("scenario"),
            "profile": manifest.get("profile"),
            **{name: trial.get(name) for name in (*_HEAD, *settings, *_TRIAL)},
            "fsync_ns": disk_ns if trial.get("fsync_ns") is None else trial["fsync_ns"],
        }
        for metric in _FIGURES:
            if trial.get(metric) is not None:
                yield {**head, "metric": metric, "value": float(trial[metric]), "unit": _UNITS[metric]}
