"""The file that says what a cluster must carry, and on which nodes (docs/method.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from bench.scenario import located
from bench.scenario.load import checked
from bench.scenario.values import (
    Count,
    CountOrNone,
    Duration,
    Share,
    Strict,
    bytes_per_s,
    disk_bytes_per_s,
    stored_bytes,
)
from bench.sizing.cluster import NodeType, Requirement
from bench.sizing.workload import Workload

_Positive = Annotated[float, Field(gt=0, strict=False)]


class _NodeSpec(Strict):
    """One node of a role."""

    cores: _Positive
    network: Annotated[float, BeforeValidator(bytes_per_s)]
    disk_write: Annotated[float, BeforeValidator(disk_bytes_per_s)]
    disk: Annotated[float, BeforeValidator(stored_bytes)]
    price: _Positive | None = None


class _RequirementSpec(Strict):
    messages_per_s: _Positive
    message_bytes: Count
    copies: Count
    groups: CountOrNone
    retention: Duration
    nodes: Annotated[dict[str, _NodeSpec], Field(min_length=1)]
    peak_over_mean: Annotated[float, Field(ge=1, strict=False)] = 1.0
    growth: _Positive = 1.0
    messages_per_batch: Annotated[float, Field(ge=1, strict=False)] = 1.0
    node_failures: CountOrNone = 1
    utilisation: Share = 0.6
    disk_filled: Share = 0.75


def read_requirement(file: Path) -> tuple[Requirement, Mapping[str, NodeType]]:
    """Read a requirement and the type of node of each role. Raises ScenarioError naming file, line and key."""
    spec = checked(located.read(file), _RequirementSpec)
    wanted = Requirement(
        mean=Workload(
            spec.messages_per_s, spec.message_bytes, spec.copies, spec.groups, spec.messages_per_batch
        ),
        peak_over_mean=spec.peak_over_mean,
        growth=spec.growth,
        retention_s=spec.retention,
        node_failures=spec.node_failures,
        utilisation=spec.utilisation,
        disk_filled=spec.disk_filled,
    )
    return wanted, {role: NodeType(**node.model_dump()) for role, node in spec.nodes.items()}
