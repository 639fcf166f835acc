"""Which cases share their cluster, as a round measures them on the same start, and which vary alike."""

from __future__ import annotations

import json
from collections.abc import Iterable

from bench.analysis.folder import TrialRecord
from bench.analysis.statistics.round_ratios import Group
from bench.guarantee import kafka_acks

_SERVERS = ("version", "nodes", "heap_mib", "jit", "cluster_settings")
"""What of a case's configuration needs other server processes when it changes (bench.model.Cluster)."""
_EQUIPMENT = ("processor", "disk")
"""What servers are started with, or without, whatever its settings are."""


def clusters(trials: Iterable[TrialRecord]) -> dict[str, Group]:
    """Return each case's group: its cluster, as a text that is equal for cases with equal servers, and its kind."""
    return {trial.case.name: Group(_cluster(trial), _kind(trial)) for trial in trials}


def _kind(trial: TrialRecord) -> str:
    """Name the system, and with acks=0 that nobody waits: such sends go no further than the client's connection."""
    return f"{trial.case.system}, acks=0" if kafka_acks(trial.configured) == "0" else trial.case.system


def _cluster(trial: TrialRecord) -> str:
    configuration = trial.case.configuration
    servers = {key: configuration.get(key) for key in _SERVERS}
    equipment = {key: bool(configuration.get(key)) for key in _EQUIPMENT}
    fault_kinds = sorted({kind for step in configuration.get("faults") or () for kind in step})
    return json.dumps([trial.case.system, servers, equipment, fault_kinds], sort_keys=True)
