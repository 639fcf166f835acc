"""The CPU that the servers of each role used while a rate was held, of what their nodes have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.folder import Held, NodeSizeRecord, TrialRecord
from bench.analysis.resources.telemetry import NO_SERVERS
from bench.model import NANOS
from bench.systems.registry import WORKING_ROLES


def held_cpu(samples: DataFrame, trials: Iterable[TrialRecord]) -> dict[Held, dict[str, float]]:
    """Return the share of their CPU quota that the nodes of a role used together, by hold: columns of `holds`.

    The growth between the looks before and after a hold counts as used while its load ran, as in a slice. A role has
    none where a node of it was not looked at twice, or has no quota.
    """
    held = {(trial.trial, hold.slice): (trial, hold) for trial in trials for hold in trial.holds or ()}
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
    used: dict[Held, dict[str, float]] = {}
    for row in rows:
        used.setdefault((row.trial, row.slice), {})[row.node] = row.grown
    return {
        place: _by_role(used[place], trial.node_size or NodeSizeRecord(), hold.end_ns - hold.begun_ns)
        for place, (trial, hold) in held.items()
        if place in used
    }


def _by_role(cpu_s: Mapping[str, float], size: NodeSizeRecord, load_ns: int) -> dict[str, float]:
    """Return each role's share by its column; `cpu_s` are CPU seconds by node."""
    shares = {}
    for role in WORKING_ROLES:
        cores = {node: got for node, got in size.cores.items() if node.rpartition("-")[0] == role}
        if cores and cores.keys() <= cpu_s.keys():
            used_s = sum(cpu_s[node] for node in cores)
            shares[f"{role}_cpu_share"] = used_s / (sum(cores.values()) * load_ns / NANOS)
    return shares
