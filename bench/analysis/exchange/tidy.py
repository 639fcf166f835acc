"""The tidy table: a row a trial and figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.model import METRICS, SHARES

_HEAD = ("system", "case")
_TRIAL = ("round", "trial", "verdict")
_FIGURES = (*METRICS, *SHARES, "flush_ns", "request_ns")
_UNITS = {
    "_ns": "ns",
    "_msgs_per_s": "messages/s",
    "_bytes_per_s": "bytes/s",
    "_share": "1",
    "_cpu": "cores",
}


def rows(
    run: str, manifest: Mapping[str, Any], settings: Sequence[str], trials: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Give a row for each known figure of the table `trials`; settings that a system does not have are empty."""
    for trial in trials:
        head = {
            "run": run,
            "scenario": manifest.get("scenario"),
            "profile": manifest.get("profile"),
            **{name: trial.get(name) for name in (*_HEAD, *settings, *_TRIAL)},
        }
        for metric in _FIGURES:
            if trial.get(metric) is not None:
                yield {**head, "metric": metric, "value": float(trial[metric]), "unit": _unit(metric)}


def _unit(metric: str) -> str:
    return next((unit for ending, unit in _UNITS.items() if metric.endswith(ending)), "count")
