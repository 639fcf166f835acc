"""How soon a node that was started under load takes its part of it, by what the servers themselves say they take in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.records.trial import TrialRecord

Row = dict[str, object]

_START = "start"
_BYTES_IN = "bytes_in"
_PART = 0.5
"""A node has its part from when it takes this share of the mean of all nodes of its role."""


class _ByteRate(NamedTuple):
    """The rate at which a node took bytes in between two looks, and when the later look was."""

    at_ns: int
    node: str
    rate: float


def share_times(
    stepped: DataFrame, trials: Iterable[TrialRecord], first_ns: Mapping[int, int]
) -> dict[tuple[int, int], Row]:
    """Return what came of each step that started nodes, by trial and place of the step.

    `share_ns`: from when it was asked for until each of the nodes took half of the mean of its role's nodes, or
    more; null where one never did. Servers are asked every few seconds. `stepped` are the steps of telemetry.py.
    """
    asked_ns = {
        (trial.trial, number): fault
        for trial in trials
        for number, fault in trial.strikes.items()
        if fault.kind == _START and fault.took_effect
    }
    if not asked_ns:
        return {}
    looks_by_trial: dict[int, list[Any]] = {}
    for row in (
        stepped.where(F.col("trial").isin(sorted({trial for trial, _ in asked_ns})))
        .where((F.col("metric") == _BYTES_IN) & F.col("grown").isNotNull())
        .select("trial", "at_ns", "node", "role", "grown", "took_ns")
        .orderBy("at_ns")
        .collect()
    ):
        looks_by_trial.setdefault(row["trial"], []).append(row)
    return {
        (trial, number): _row(
            looks_by_trial.get(trial, []), fault.nodes, fault.asked_ns - first_ns.get(trial, 0)
        )
        for (trial, number), fault in asked_ns.items()
    }


def _row(looks: Sequence[Any], nodes: Sequence[str], asked_ns: int) -> Row:
    roles = {row["role"] for row in looks if row["node"] in nodes}
    rates = [
        _ByteRate(row["at_ns"], row["node"], row["grown"] / row["took_ns"])
        for row in looks
        if row["role"] in roles and row["took_ns"]
    ]
    first = [_first_ns(rates, node, asked_ns) for node in nodes]
    known_ns = [at_ns for at_ns in first if at_ns is not None]
    return {"share_ns": max(known_ns) - asked_ns if known_ns and len(known_ns) == len(nodes) else None}


def _first_ns(rates: Iterable[_ByteRate], node: str, since_ns: int) -> int | None:
    """Return when a node first took its part of the mean of what all had last taken."""
    last: dict[str, float] = {}
    for look in rates:
        last[look.node] = look.rate
        usual = mean(last.values())
        if look.node == node and look.at_ns >= since_ns and usual and look.rate >= _PART * usual:
            return look.at_ns
    return None
