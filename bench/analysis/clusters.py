"""Which cases share their cluster: those that a round measures on the same cluster start."""

from __future__ import annotations

import json
from collections.abc import Iterable

from bench.analysis.folder import TrialRecord

_SERVERS = ("version", "nodes", "heap_mib", "jit", "cluster_settings")
"""What of a case's configuration needs other server processes when it changes (bench.model.Cluster)."""
_EQUIPMENT = ("processor", "disk")
"""What servers are started with, or without, whatever its settings are."""


def clusters(trials: Iterable[TrialRecord]) -> dict[str, str]:
    """Return each case's cluster, as a text that is equal for cases with equal servers."""
    return {trial.case.name: _cluster(trial) for trial in trials}


def _cluster(trial: TrialRecord) -> str:
    configuration = trial.case.configuration
    servers = {key: configuration.get(key) for key in _SERVERS}
    equipment = {key: bool(configuration.get(key)) for key in _EQUIPMENT}
    fault_kinds = sorted({kind for step in configuration.get("faults") or () for kind in step})
    return json.dumps([trial.case.system, servers, equipment, fault_kinds], sort_keys=True)
