"""The file that says what a cluster must carry, and on which nodes (docs/method/sizing.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from bench.errors import ScenarioError
from bench.guarantee import LEVELS, Guarantee, find_guarantee
from bench.scenario import yaml_source
from bench.scenario.document_check import check_document
from bench.scenario.values import (
    Count,
    CountOrNone,
    Duration,
    Share,
    StrictModel,
    bytes_per_s,
    disk_bytes_per_s,
    stored_bytes,
)
from bench.scenario.yaml_source import YamlDocument
from bench.sizing.requirement import NodeType, Requirement
from bench.sizing.workload import Workload

_Positive = Annotated[float, Field(gt=0, strict=False)]


class _NodeSpec(StrictModel):
    """One node of a role."""

    cores: _Positive
    network: Annotated[float, BeforeValidator(bytes_per_s)]
    disk_write: Annotated[float, BeforeValidator(disk_bytes_per_s)]
    disk: Annotated[float, BeforeValidator(stored_bytes)]
    price: _Positive | None = None


class _PartitionSpec(StrictModel):
    """What one partition carries: bytes a second written to it, and read from it by one consumer."""

    write: Annotated[float, BeforeValidator(disk_bytes_per_s)]
    read: Annotated[float, BeforeValidator(disk_bytes_per_s)]


def _check_guarantee(words: str) -> str:
    if find_guarantee(words) is None:
        examples = ", ".join(LEVELS)
        raise ValueError(
            f"say what an acknowledged message survives: {examples}; or as reports say it, such as "
            f"'{LEVELS['survives one node'].in_nodes}'"
        )
    return words


class _RequirementSpec(StrictModel):
    messages_per_s: _Positive
    message_bytes: Count
    copies: Count | None = None
    guarantee: Annotated[str, AfterValidator(_check_guarantee)] | None = None
    p99: Duration | None = None
    groups: CountOrNone
    retention: Duration
    nodes: Annotated[dict[str, _NodeSpec], Field(min_length=1)]
    peak_over_mean: Annotated[float, Field(ge=1, strict=False)] = 1.0
    growth: _Positive = 1.0
    messages_per_batch: Annotated[float, Field(ge=1, strict=False)] = 1.0
    node_failures: CountOrNone = 1
    utilisation: Share = 0.6
    disk_filled: Share = 0.75
    partition: _PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class RequirementFile:
    """What a file asks for: what must be carried, on which type of node for each role, and with which guarantee.

    Without `copies` the guarantee decides their number, and `requirement` has the fewest that may give it. `p99_s` is
    the response time to keep. `partition_rates` are bytes a second that one partition takes in, and hands to a
    consumer.
    """

    file: Path
    requirement: Requirement
    nodes: Mapping[str, NodeType]
    copies: int | None
    guarantee: Guarantee | None
    p99_s: float | None
    partition_rates: tuple[float, float] | None


def read_requirement(file: Path) -> RequirementFile:
    """Read a requirement. Raises ScenarioError naming file, line and key."""
    document = yaml_source.read(file)
    spec = check_document(document, _RequirementSpec)
    promise = None if spec.guarantee is None else find_guarantee(spec.guarantee)
    copies = _copies(document, spec, promise)
    requirement = Requirement(
        mean=Workload(spec.messages_per_s, spec.message_bytes, copies, spec.groups, spec.messages_per_batch),
        peak_over_mean=spec.peak_over_mean,
        growth=spec.growth,
        retention_s=spec.retention,
        node_failures=spec.node_failures,
        utilisation=spec.utilisation,
        disk_filled=spec.disk_filled,
    )
    return RequirementFile(
        file=file,
        requirement=requirement,
        nodes={role: NodeType(**node.model_dump()) for role, node in spec.nodes.items()},
        copies=spec.copies,
        guarantee=promise,
        p99_s=spec.p99,
        partition_rates=(spec.partition.write, spec.partition.read) if spec.partition else None,
    )


def _copies(document: YamlDocument, spec: _RequirementSpec, promise: Guarantee | None) -> int:
    """Return how many copies are asked for, or else the fewest that may give the guarantee. Raises ScenarioError."""
    if spec.p99 is not None and promise is None:
        raise _wrong(
            document, "p99", "add guarantee, as nodes may be as busy as it allows: survives one node"
        )
    if promise is None:
        if spec.copies is None:
            raise _wrong(document, "copies", "the key is missing: give copies, or guarantee, or both")
        return spec.copies
    if spec.copies is None:
        return promise.fewest_copies
    contradiction = _contradiction(spec.copies, promise)
    if contradiction:
        raise _wrong(
            document, "copies", f"{contradiction}; guarantee: {spec.guarantee}. Leave one of both keys out"
        )
    return spec.copies


def _contradiction(copies: int, promise: Guarantee) -> str:
    if copies < promise.fewest_copies:
        return f"{copies} is too few for a message that survives {promise.in_nodes}: it takes {promise.fewest_copies}"
    if copies > 1 and promise.one_copy:
        return f"{copies} promise more than a message that survives {promise.in_nodes}: that is one copy"
    return ""


def _wrong(document: YamlDocument, key: str, message: str) -> ScenarioError:
    return ScenarioError(f"{document.place((key,))}: {key}: {message}")
