"""The CPU that the servers of each role used while a rate was held, of what their nodes have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.resources.telemetry import MACHINE, NO_SERVERS
from bench.model import NANOS
from bench.records.trial import HoldKey, HoldRecord, NodeSizeRecord, TrialRecord
from bench.systems.registry import WORKING_ROLES


def held_cpu(
    samples: DataFrame, trials: Iterable[TrialRecord], ends_ns: Mapping[HoldKey, int]
) -> dict[HoldKey, dict[str, float]]:
    """Return the share of their CPU quota that the nodes of a role used together, by hold: columns of `holds`.

    The growth between the looks before and after a hold counts as used from when its load began until its last send had
    ended (`ends_ns`, window.last_ends), as in a slice. A role has none where a node of it was not looked at twice, or
    has no quota.
    """
    held = _holds(trials)
    if not held:
        return {}
    rows = (
        samples.where((F.col("metric") == "cpu_s") & ~F.col("role").isin(*NO_SERVERS))
        .where(F.col("trial").isin(sorted({number for number, _ in held})))
        .groupBy("trial", "slice", "node")
        .agg(F.count("value").alias("looks"), (F.max("value") - F.min("value")).alias("grown"))
        .where(F.col("looks") > 1)
        .collect()
    )
    used: dict[HoldKey, dict[str, float]] = {}
    for row in rows:
        used.setdefault((row.trial, row.slice), {})[row.node] = row.grown
    return {
        place: _by_role(used[place], trial.node_size or NodeSizeRecord(), _load_ns(place, hold, ends_ns))
        for place, (trial, hold) in held.items()
        if place in used
    }


def _holds(trials: Iterable[TrialRecord]) -> dict[HoldKey, tuple[TrialRecord, HoldRecord]]:
    return {(trial.trial, hold.slice): (trial, hold) for trial in trials for hold in trial.holds or ()}


def _load_ns(place: HoldKey, hold: HoldRecord, ends_ns: Mapping[HoldKey, int]) -> int:
    return max(hold.end_ns, ends_ns.get(place, 0)) - hold.begun_ns


def held_machine(
    samples: DataFrame, trials: Iterable[TrialRecord], ends_ns: Mapping[HoldKey, int]
) -> dict[int, float]:
    """Return how busy all cores of the machine were in the holds on which a search's result rests, by trial."""
    held = {place: hold for place, (_, hold) in _holds(trials).items() if hold.confirms}
    if not held:
        return {}
    machine = samples.where(F.col("role") == MACHINE).where(
        F.col("trial").isin(sorted({trial for trial, _ in held}))
    )
    cores = {
        row["trial"]: row["cores"]
        for row in _group_rows(machine, "cores", F.max("value").alias("cores"), "trial")
    }
    grown = (F.max("value") - F.min("value")).alias("grown")
    busy: dict[int, float] = {}
    for metric in ("cpu_busy_s", "cpu_steal_s"):
        for row in _group_rows(machine, metric, grown, "trial", "slice"):
            if (row["trial"], row["slice"]) in held:
                busy[row["trial"]] = busy.get(row["trial"], 0.0) + row["grown"]
    load_s: dict[int, float] = {}
    for (trial, number), hold in held.items():
        load_s[trial] = load_s.get(trial, 0.0) + _load_ns((trial, number), hold, ends_ns) / NANOS
    return {
        trial: seconds / (cores[trial] * load_s[trial]) for trial, seconds in busy.items() if cores.get(trial)
    }


def _group_rows(machine: DataFrame, metric: str, figure: Column, *keys: str) -> list[Row]:
    return machine.where(F.col("metric") == metric).groupBy(*keys).agg(figure).collect()


def _by_role(cpu_s: Mapping[str, float], size: NodeSizeRecord, load_ns: int) -> dict[str, float]:
    """Return each role's share by its column; `cpu_s` are CPU seconds by node."""
    shares = {}
    for role in WORKING_ROLES:
        cores = {node: got for node, got in size.cores.items() if node.rpartition("-")[0] == role}
        if cores and cores.keys() <= cpu_s.keys():
            used_s = sum(cpu_s[node] for node in cores)
            shares[f"{role}_cpu_share"] = used_s / (sum(cores.values()) * load_ns / NANOS)
    return shares
