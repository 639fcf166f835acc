"""Which cases share their cluster, as a round measures them on the same start, and which vary in the same way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench.statistics.round_ratios import Group

_SERVERS = ("version", "nodes", "heap_mib", "jit", "groups")
"""What of a case's configuration needs other server processes when it changes (bench.model.Cluster)."""
_EQUIPMENT = ("processor", "disk")
"""What servers are started with, or without, whatever its settings are."""


def group(system: str, configuration: Mapping[str, Any], *, waits: bool) -> Group:
    """Return a case's group: its cluster, as a text that is equal for cases with equal servers, and its kind.

    `configuration` is the whole of it (trial.json, `case`); `waits`: its sends wait for an acknowledgement.
    """
    return Group(_cluster(system, configuration), _kind(system, configuration, waits=waits))


def _kind(system: str, configuration: Mapping[str, Any], *, waits: bool) -> str:
    """Name the system, its group of storage nodes, and whether nobody waits.

    Nodes of another group vary by themselves; sends that nobody waits for go no further than the client's connection.
    """
    parts = (system, configuration.get("group"), "" if waits else "nobody waits")
    return ", ".join(filter(None, parts))


def _cluster(system: str, configuration: Mapping[str, Any]) -> str:
    servers = {key: configuration.get(key) or {} for key in _SERVERS} | {"settings": _common(configuration)}
    equipment = {key: bool(configuration.get(key)) for key in _EQUIPMENT}
    step_keys = sorted({key for step in configuration.get("faults") or () for key in step})
    return json.dumps([system, servers, equipment, step_keys], sort_keys=True)


def _common(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the servers' settings by role, without those of roles that stand in groups."""
    grouped = {role for settings in (configuration.get("groups") or {}).values() for role in settings}
    settings = configuration.get("cluster_settings") or {}
    return {role: values for role, values in settings.items() if role not in grouped}
