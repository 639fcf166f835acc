"""The tables of published sizing rules, beside the nodes by measured costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from bench import numbers
from bench.report.table import Cell, Column, Row, Table
from bench.sizing.cluster import RoleSize
from bench.sizing.published_rules import RuleSize
from bench.sizing.requirement import NodeType, Requirement
from bench.systems.registry import describe, system_title

SizedCluster: TypeAlias = tuple[str, str, Requirement, Sequence[RoleSize]]
"""A cluster: its system, its title, what is asked of it, and its roles."""

_COLUMNS = (Column("rule", "name"), Column("it counts", "name"), Column("it asks for"))


def rules_tables(clusters: Iterable[SizedCluster], nodes: Mapping[str, NodeType]) -> list[Table]:
    """Return a table for each number of copies of a system: the published rules, then this run's clusters."""
    grouped: dict[tuple[str, int], list[SizedCluster]] = {}
    for cluster in clusters:
        system, _, requirement, _ = cluster
        grouped.setdefault((system, requirement.mean.copies), []).append(cluster)
    return [_table(system, sized, nodes) for (system, _), sized in grouped.items()]


def _table(system: str, clusters: Sequence[SizedCluster], nodes: Mapping[str, NodeType]) -> Table:
    requirement = clusters[0][2]
    rules = describe(system).published_rules(requirement, nodes)
    rows = [
        *(_rule(rule) for rule in rules),
        *(row for cluster in clusters for row in _measured_rows(cluster)),
    ]
    return Table(f"{system_title(system)} by published rules", _COLUMNS, tuple(rows), system)


def _rule(rule: RuleSize) -> Row:
    return Row((Cell(rule.rule), Cell(rule.counts), Cell(numbers.plural(rule.number, rule.unit))))


def _measured_rows(cluster: SizedCluster) -> Iterator[Row]:
    _, title, _, roles = cluster
    for role in roles:
        asked_for = Cell(numbers.plural(role.nodes, role.role), "strong")
        yield Row((Cell(f"{title}, this run"), Cell("measured costs"), asked_for))
