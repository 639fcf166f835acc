"""Cases that need other servers: on one cluster where the system can do that, else on clusters side by side.

What differs from one minute to the next, and on one cluster from one start to the next, then falls on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import psutil

from bench.model import Case, Cluster
from bench.run import preflight, wiring

_MOST_MEMORY = 0.75
"""Servers and their load take no more of the machine's memory than this: other programs need some, too."""
_Value = TypeVar("_Value")
_Place = tuple[Cluster, Cluster, str]
"""A cluster, the one that its cases run on, and their group there."""


def on_shared_clusters(cases: Sequence[Case]) -> list[Case]:
    """Give cases that are measured in slices a shared cluster, and each its group there, where there can be one.

    Those that search for their capacity keep one of their own: servers that stood still for as long as rates are held
    would lose their sessions. Those that are loaded contiguously keep theirs, too: what stands beside a cluster would
    not be even for all. So do all where the larger cluster would take most of the machine's memory.
    """
    interleaved = [case for case in cases if _shares(case)]
    places = [
        place
        for system in _once(case.system for case in interleaved)
        for place in _shared_places(system, interleaved)
    ]
    return [_place_case(case, places) if _shares(case) else case for case in cases]


def side_by_side(cases: Sequence[Case]) -> list[list[Cluster]]:
    """Group the clusters of cases that are measured in slices: those of a group run side by side, one loaded at a time.

    A group has one cluster of each system, as nodes of one system have the same addresses. The first clusters of all
    systems are a group, so are the second, in the order of the cases. Where systems have not as many clusters each, all
    run alone, so that those of one system have the same beside them. Where the machine's memory does not hold a group
    each of its clusters runs alone, and so do those of cases that are loaded contiguously or search for their capacity.
    """
    groups: list[list[Cluster]] = []
    unshared = [case.cluster for case in cases if not _shares(case)]
    places: dict[str, int] = {}
    for cluster in _once(case.cluster for case in cases if _shares(case)):
        place = places[cluster.system] = places.get(cluster.system, -1) + 1
        if place == len(groups):
            groups.append([])
        groups[place].append(cluster)
    together = len(set(places.values())) == 1
    fitting = [[group] if together and _fits(group) else [[cluster] for cluster in group] for group in groups]
    return [*chain.from_iterable(fitting), *([cluster] for cluster in _once(unshared))]


def _shares(case: Case) -> bool:
    """Whether a case's servers can stand still while others are loaded, for a slice at a time."""
    return case.load.slices is not None and not case.capacity


def _fits(clusters: Iterable[Cluster]) -> bool:
    needed = preflight.memory_bytes(preflight.servers(clusters))
    return bool(needed <= _MOST_MEMORY * psutil.virtual_memory().total)


def _place_case(case: Case, places: Sequence[_Place]) -> Case:
    for own_cluster, shared, group in places:
        if own_cluster == case.cluster:
            return replace(case, cluster=shared, group=group)
    return case


def _shared_places(system: str, cases: Sequence[Case]) -> Iterator[_Place]:
    """Yield the clusters that share one; each joins the first that it can."""
    together: list[list[Cluster]] = []
    for cluster in _once(case.cluster for case in cases if case.system == system):
        fitting = next((members for members in together if _can_share(system, [*members, cluster])), None)
        if fitting is None:
            together.append([cluster])
        else:
            fitting.append(cluster)
    for members in together:
        shared_layout = wiring.system(system).shared_cluster(members) if len(members) > 1 else None
        if shared_layout is not None:
            shared, groups = shared_layout
            yield from (
                (own_cluster, shared, group) for own_cluster, group in zip(members, groups, strict=True)
            )


def _can_share(system: str, clusters: Sequence[Cluster]) -> bool:
    shared_layout = wiring.system(system).shared_cluster(clusters)
    return shared_layout is not None and _fits([shared_layout[0]])


def _once(values: Iterable[_Value]) -> list[_Value]:
    """Return each value once, in order; clusters hold mappings and have no hash."""
    distinct_values: list[_Value] = []
    for value in values:
        if value not in distinct_values:
            distinct_values.append(value)
    return distinct_values
