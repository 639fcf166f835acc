"""Bookies with other settings in one cluster: Pulsar's bookie affinity groups, of which a namespace may choose one.

Cases that differ in their bookies' settings alone, such as journalSyncData, then run on the same brokers at the
same time. What differs from one cluster start to the next falls on both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bench.model import Cluster, Node, Settings, text
from bench.systems.pulsar.nodes import BOOKIE, MOST_NODES, address

_RACK = "/default-rack"


def shared_cluster(clusters: Sequence[Cluster]) -> tuple[Cluster, list[str]] | None:
    """Return one cluster for clusters that differ in their bookies' settings alone, and the group of each."""
    common = [_without_bookies(cluster) for cluster in clusters]
    bookies = common[0].nodes.get(BOOKIE, 0) * len(clusters)
    if any(cluster != common[0] for cluster in common) or bookies > MOST_NODES[BOOKIE]:
        return None
    bookie_settings = [cluster.settings.get(BOOKIE, {}) for cluster in clusters]
    names = [_name(settings, bookie_settings) for settings in bookie_settings]
    groups = {name: {BOOKIE: settings} for name, settings in zip(names, bookie_settings, strict=True)}
    return replace(common[0], groups=groups), names


def _without_bookies(cluster: Cluster) -> Cluster:
    return replace(
        cluster, settings={role: settings for role, settings in cluster.settings.items() if role != BOOKIE}
    )


def _name(settings: Settings, all_settings: Sequence[Settings]) -> str:
    """Name a group by the settings that not all groups have; no comma, as that separates groups."""
    differing = {
        name
        for group_settings in all_settings
        for name in group_settings
        if any(other_settings.get(name) != group_settings[name] for other_settings in all_settings)
    }
    return (
        " ".join(f"{name}={text(settings[name])}" for name in sorted(differing) if name in settings)
        or "as shipped"
    )


def racks(bookies: Iterable[Node]) -> bytes:
    """Return what the znode /bookies says: which bookies are in which group."""
    groups: dict[str, dict[str, dict[str, str]]] = {}
    for node in bookies:
        if node.group:
            groups.setdefault(node.group, {})[address(node)] = {"rack": _RACK, "hostname": node.address}
    return json.dumps(groups).encode()


def affinity(group: str) -> dict[str, str]:
    """Return what lets a namespace use the bookies of this group only."""
    return {"bookkeeperAffinityGroupPrimary": group, "bookkeeperAffinityGroupSecondary": ""}
