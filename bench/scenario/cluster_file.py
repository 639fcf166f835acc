"""The file of a cluster that somebody else runs: where it is, and how much it may be loaded.

See docs/how-to/external-clusters.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from bench.errors import ScenarioError, did_you_mean
from bench.model import Settings
from bench.scenario import yaml_source
from bench.scenario.document_check import check_document
from bench.scenario.values import UNLIMITED, Rate, Scalar, StrictModel
from bench.scenario.yaml_source import KeyPath, YamlDocument
from bench.systems.description import Description
from bench.systems.endpoint import Endpoint
from bench.systems.registry import DESCRIPTIONS, describe

_SYSTEM = "system"
_SECRET = re.compile(r"(password|passphrase|secret|jaas\.config|key\.pem|oauthbearer\.config)$|^token$")
_REFERENCE = re.compile(r"\$\{(env|file):[^}]+\}")
_PREFIX = r"^[a-z0-9][a-z0-9-]{2,30}-$"


class NodeCommands(StrictModel):
    """A node that the suite may break, and the shell commands for that; each ends once it is done.

    `state` prints the state of the node's process as ps does: T while it is paused.
    """

    address: Annotated[str, Field(pattern=r"^[^\s:]+:\d{1,5}$")]
    kill: str = ""
    stop: str = ""
    start: str = ""
    pause: str = ""
    resume: str = ""
    state: str = ""


class _ClusterSpec(StrictModel):
    """The keys that files of all systems have; those of one system are added to them."""

    system: str
    address: str
    client: Annotated[dict[str, Any], Field(default_factory=dict)]
    topic_prefix: Annotated[str, Field(pattern=_PREFIX)] = "bench-"
    most_messages_per_s: Rate | Literal["unlimited"]
    version: str = ""
    settings: Annotated[dict[str, dict[str, Scalar]], Field(default_factory=dict)]
    nodes: Annotated[dict[str, NodeCommands], Field(default_factory=dict)]


def _model(description: Description) -> type[_ClusterSpec]:
    """Return the model of a system's file: where the cluster is has the system's own keys."""
    text: Any = Annotated[str, Field(min_length=1)]
    own_fields: dict[str, Any] = {"address": (text, Field(alias=description.address_key))}
    if description.admin_key:
        own_fields["admin"] = (text, Field(alias=description.admin_key))
    if description.has_tenants:
        own_fields["tenant"] = (str, "")
    return create_model("ClusterFile", __base__=_ClusterSpec, **own_fields)


@dataclass(frozen=True, slots=True)
class ClusterFile:
    """What a file says of an external cluster.

    `topic_prefix` begins the names of all topics that the suite creates there. `most_messages_per_s` is how much it may
    be loaded, 0 without a limit. `version` and `settings` (server properties by role) are what its operator states
    about it, for what cannot be read back. `nodes` are those that the suite may break, by name.
    """

    file: Path
    system: str
    endpoint: Endpoint
    topic_prefix: str
    most_messages_per_s: float
    version: str
    settings: Mapping[str, Settings]
    nodes: Mapping[str, NodeCommands]
    document: YamlDocument

    def error(self, path: KeyPath, message: str) -> ScenarioError:
        """Build the error for something wrong at `path` of the file."""
        return ScenarioError(f"{self.document.place(path)}: {'.'.join(map(str, path))}: {message}")


def read_cluster_file(file: Path) -> ClusterFile:
    """Read the file of an external cluster. Raises ScenarioError naming file, line and key."""
    document = yaml_source.read(file)
    description = _description(document)
    spec = check_document(document, _model(description))
    unlimited = spec.most_messages_per_s == UNLIMITED
    cluster_file = ClusterFile(
        file=file,
        system=description.name,
        endpoint=Endpoint(spec.address, getattr(spec, "admin", ""), spec.client, getattr(spec, "tenant", "")),
        topic_prefix=spec.topic_prefix,
        most_messages_per_s=0.0 if unlimited else float(spec.most_messages_per_s),
        version=spec.version,
        settings=spec.settings,
        nodes=spec.nodes,
        document=document,
    )
    for path, message in _mistakes(cluster_file, description):
        raise cluster_file.error(path, message)
    return cluster_file


def _description(document: YamlDocument) -> Description:
    allowed = [name for name, description in DESCRIPTIONS.items() if description.address_key]
    name = document.value.get(_SYSTEM)
    if name in allowed:
        return describe(str(name))
    hint = did_you_mean(str(name), allowed)
    place, system_text = document.place((_SYSTEM,)), f"{name!r}" if name is not None else "missing"
    raise ScenarioError(f"{place}: {_SYSTEM}: it is {system_text}{hint}; one of {', '.join(allowed)}")


def _mistakes(cluster_file: ClusterFile, description: Description) -> Iterator[tuple[KeyPath, str]]:
    roles = {role.name for role in description.roles}
    for role in cluster_file.settings.keys() - roles:
        yield (
            ("settings", role),
            f"{cluster_file.system} has no role {role}; its roles are {', '.join(sorted(roles)) or 'none'}",
        )
    yield from _wrong_nodes(cluster_file, description)
    for key, address in (
        (description.address_key, cluster_file.endpoint.address),
        (description.admin_key, cluster_file.endpoint.admin),
    ):
        if "@" in address:
            yield (key,), "an address has no user and password in it: they stand below client"
    for path, value in _secrets(cluster_file.endpoint.client, ("client",)):
        if not (isinstance(value, str) and _REFERENCE.fullmatch(value)):
            yield (
                path,
                "write ${env:NAME} or ${file:PATH}: a secret does not stand in this file, which is copied into the run",
            )


def _wrong_nodes(cluster_file: ClusterFile, description: Description) -> Iterator[tuple[KeyPath, str]]:
    roles = [role.name for role in description.roles]
    for name, node in cluster_file.nodes.items():
        path = ("nodes", name)
        if not re.fullmatch(rf"({'|'.join(roles)})-[1-9]\d*", name):
            yield path, f"a node is called by its role and a number, such as {roles[-1]}-1"
        if (node.kill or node.stop) and not node.start:
            yield path, "start is missing: without it the node would stay away"
        if bool(node.pause) != bool(node.resume) or (node.pause and not node.state):
            yield path, "pause, resume and state go together: state shows that the node stands still"


def _secrets(client: Mapping[str, Any], path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every secret property, with its path."""
    for name, value in client.items():
        if isinstance(value, Mapping):
            yield from _secrets(value, (*path, name))
        elif _SECRET.search(name):
            yield (*path, name), value
