"""Clusters that somebody else runs, as a run uses and keeps them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter

from bench.errors import ClusterError, LoadError
from bench.model import Cluster, Settings
from bench.run import wiring
from bench.run.folder import RunFolder
from bench.scenario.cluster_file import ClusterFile, read_cluster_file
from bench.systems.endpoint import resolve
from bench.systems.external_access import ClusterFacts, ExternalAccess

_AT_ONCE = 8
_NUMBERED = r"(trial|warm-up)-\d+.*"
"""How the names of a run's topics end."""
FILE = "clusters.json"
"""Where a run folder keeps its external clusters; one of the suite's own clusters has none."""


@dataclass(frozen=True, slots=True)
class ExternalCluster:
    """A cluster that somebody else runs, as a run folder keeps it; `endpoint` has references in place of secrets.

    `stated` are server properties by role that its operator states, for what `facts` lack. `nodes` are those that may
    be broken, each with its address and commands.
    """

    file: str
    system: str
    endpoint: str
    topic_prefix: str
    most_messages_per_s: float
    facts: ClusterFacts
    stated: Mapping[str, Settings]
    nodes: Mapping[str, Settings] = field(default_factory=dict)

    @property
    def spec(self) -> Cluster:
        """The cluster as cases have it."""
        roles = dict.fromkeys([*self.facts.settings, *self.stated])
        return Cluster(
            system=self.system,
            version=self.facts.version,
            nodes=self.facts.nodes,
            settings={
                role: {**self.facts.settings.get(role, {}), **self.stated.get(role, {})} for role in roles
            },
            external=self.endpoint,
            topic_prefix=self.topic_prefix,
            external_nodes=self.nodes,
        )


External = Mapping[str, ExternalCluster]
"""The external clusters of a run, by system; empty for a run on clusters of the suite's own."""
_CLUSTERS = TypeAdapter(dict[str, ExternalCluster])


def connect(files: Sequence[Path]) -> External:
    """Read the files of external clusters, and ask each cluster for its facts.

    Raises ScenarioError or ClusterError, naming the file, for one that cannot be used.
    """
    clusters: dict[str, ExternalCluster] = {}
    for file in files:
        cluster_file = read_cluster_file(file)
        system = cluster_file.system
        if system in clusters:
            message = f"two clusters of {system} are given, {clusters[system].file} and {file}: give one"
            raise cluster_file.error(("system",), message)
        clusters[system] = _connect_cluster(cluster_file)
    return clusters


def _connect_cluster(file: ClusterFile) -> ExternalCluster:
    endpoint = str(file.endpoint)
    try:
        resolve(endpoint)
    except LoadError as error:
        raise file.error(("client",), str(error)) from error
    access = _access(file.system, endpoint)
    for name, wrong in access.wrong_properties():
        raise file.error(("client", name), wrong)
    try:
        facts = access.facts()
    except (ClusterError, LoadError) as error:
        raise ClusterError(f"{file.file}: {error}") from error
    if reason := access.why_no_topics(file.topic_prefix):
        raise ClusterError(f"{file.file}: topics {file.topic_prefix}… cannot be created there: {reason}")
    if file.version:
        facts = replace(facts, version=file.version)
    return ExternalCluster(
        file=str(file.file),
        system=file.system,
        endpoint=endpoint,
        topic_prefix=file.topic_prefix,
        most_messages_per_s=file.most_messages_per_s,
        facts=facts,
        stated=file.settings,
        nodes={name: node.model_dump() for name, node in file.nodes.items()},
    )


def _access(system: str, endpoint: str) -> ExternalAccess:
    """Return access to a cluster. Raises ClusterError for a system that cannot be used so."""
    access = wiring.system(system).external(endpoint)
    if access is None:
        message = f"{system}: clusters that somebody else runs cannot be used yet"
        raise ClusterError(message)
    return access


def access_to(spec: Cluster) -> ExternalAccess:
    """Return access to the external cluster that cases have. Raises ClusterError."""
    return _access(spec.system, spec.external)


def left_topics(cluster: ExternalCluster) -> list[str]:
    """Return the names of the topics on a cluster that runs of the suite made. Raises ClusterError."""
    return _matching_topics(cluster.spec, rf"{re.escape(cluster.topic_prefix)}\d{{8}}-\d{{6}}-.*-{_NUMBERED}")


def _matching_topics(spec: Cluster, pattern: str) -> list[str]:
    """Return the names of the topics on an external cluster that match a pattern as a whole. Raises ClusterError."""
    return [name for name in access_to(spec).topics(spec.topic_prefix) if re.fullmatch(pattern, name)]


def delete(cluster: ExternalCluster, names: Iterable[str]) -> None:
    """Delete topics on a cluster, all that can be. Raises ClusterError for those that stay."""
    _delete_all(_access(cluster.system, cluster.endpoint), names)


def _delete_all(access: ExternalAccess, names: Iterable[str]) -> None:
    def failure(name: str) -> str:
        try:
            access.delete(name)
        except (ClusterError, LoadError) as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        failures = [error for error in pool.map(failure, names) if error]
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise ClusterError(f"{failures[0]}{more}")


def own_topics(spec: Cluster, run: str) -> str:
    """Return how the names of a run's topics on an external cluster begin."""
    return f"{spec.topic_prefix}{run}-"


def topics_of_run(spec: Cluster, run: str) -> list[str]:
    """Return the names of the topics on an external cluster that are called as a run's are. Raises ClusterError."""
    return _matching_topics(spec, re.escape(own_topics(spec, run)) + _NUMBERED)


def require_unused(clusters: External, run: str) -> None:
    """Raise ClusterError where a topic of a cluster is called as those of a run that begins will be."""
    for cluster in clusters.values():
        if names := topics_of_run(cluster.spec, run):
            raise ClusterError(
                f"{cluster.file}: topic {names[0]} exists already, and this run has not created it. Nothing was "
                "changed. Another run with the same topic_prefix may have started in the same second: start this one "
                "again, or give the file a topic_prefix of its own."
            )


def delete_topics(spec: Cluster, names: Collection[str]) -> None:
    """Delete those of some topics that are on an external cluster, all that can be.

    Raises ClusterError for those that stay.
    """
    access = access_to(spec)
    _delete_all(access, [name for name in access.topics(spec.topic_prefix) if name in names])


def keep(folder: RunFolder, clusters: External) -> None:
    """Write a run's external clusters down, if there are any."""
    if clusters:
        folder.write(FILE, _CLUSTERS.dump_python(dict(clusters), mode="json"))


def changes(clusters: External) -> list[str]:
    """Say in what clusters are not as they were when the run was begun. Raises ClusterError, LoadError."""
    differences: list[str] = []
    for cluster in clusters.values():
        facts = _access(cluster.system, cluster.endpoint).facts()
        differences += [
            f"{cluster.system}: {name} was {old_value} and is {new_value}"
            for name, old_value, new_value in (
                ("nodes", dict(cluster.facts.nodes), dict(facts.nodes)),
                ("settings", dict(cluster.facts.settings), dict(facts.settings)),
            )
            if old_value != new_value
        ]
    return differences


def read_clusters(folder: RunFolder) -> External:
    """Return a run's external clusters."""
    file = folder.path / FILE
    return _CLUSTERS.validate_json(file.read_bytes()) if file.is_file() else {}
