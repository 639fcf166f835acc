"""The page of a cluster's size: how many nodes of each role carry a requirement, and what decides that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from bench import numbers
from bench.report import pdf, style, templates
from bench.report.pages.size_answer import NAMES, ClusterSize, Sizing
from bench.report.pages.size_rules import rules_tables
from bench.report.pages.terminal import rich_table
from bench.report.table import Cell, Column, Row, Table
from bench.sizing.cluster import RoleSize
from bench.sizing.requirement import Requirement

_BEYOND = "?"
"""Marks numbers of nodes for what lies far beyond what was measured."""


def use_table(cluster: ClusterSize) -> Table:
    """A row for each resource of a role: how much of it the peak takes."""
    requirement = cluster.requirement
    gone = f"with {requirement.node_failures} gone"
    columns = (
        *(Column("role", "name"), Column("resource", "name")),
        *(Column("at the peak"), Column(gone), Column("limit")),
    )
    rows = tuple(row for role in cluster.roles for row in _use_rows(role, requirement))
    return Table(f"{cluster.title}, share of each resource", columns, rows, cluster.system)


def _use_rows(role: RoleSize, requirement: Requirement) -> Iterator[Row]:
    for number, name in enumerate(name for name in NAMES if name in role.use):
        tone = "strong" if name == role.binding else "plain"
        shares = map(numbers.share, (role.use[name], role.left[name], requirement.limit(name)))
        texts = (role.role, NAMES[name], *shares)
        yield Row(tuple(Cell(text, tone) for text in texts), opens=number == 0)


def deciding_table(cluster: ClusterSize) -> Table:
    """A row a role: its nodes, and how much the peak takes of what decides their number."""
    gone = f"with {cluster.requirement.node_failures} gone"
    columns = (
        *(Column("role", "name"), Column("nodes"), Column("by the costs themselves")),
        *(Column("decided by", "name"), Column("at the peak"), Column(gone)),
    )
    rows = []
    for role in cluster.roles:
        shares = (numbers.share(shares.get(role.binding)) for shares in (role.use, role.left))
        counts = (Cell(str(role.nodes), "strong"), Cell(str(role.likely)))
        rows.append(Row((Cell(role.role), *counts, Cell(NAMES[role.binding]), *map(Cell, shares))))
    return Table(cluster.title, columns, tuple(rows), cluster.system)


def variation_table(cluster: ClusterSize) -> Table:
    """A row a role: how many nodes with one input changed."""
    columns = (Column("role", "name"), Column("as asked"), *map(Column, cluster.variations))
    rows = tuple(
        Row((Cell(role.role), Cell(str(role.nodes), "strong"), *_variation_cells(cluster, role.role)))
        for role in cluster.roles
    )
    title = f"{cluster.title}, nodes with one input changed ({_BEYOND}: more than 2 times beyond what was measured)"
    return Table(title, columns, rows, cluster.system)


def _variation_cells(cluster: ClusterSize, role: str) -> Iterator[Cell]:
    for by_role in cluster.variations.values():
        size = by_role[role]
        if size is None:
            yield Cell("never enough", "bad")
        elif size.outside:
            yield Cell(f"{size.nodes}{_BEYOND}", "warn", note="; ".join(size.outside))
        else:
            yield Cell(str(size.nodes))


def terminal_output(sizing: Sizing) -> RenderableType:
    """Answers and tables for a terminal."""
    shown: list[RenderableType] = [
        *(Text(answer, "bold") for answer in sizing.answers),
        *(Text(f"not sized: {words}", "red") for words in sizing.refused),
        Text(f"Asked for: {sizing.summary}", "dim"),
        *(Text(words) for words in (*sizing.accuracy, *sizing.reasons)),
    ]
    of_clusters = (
        table for cluster in sizing.clusters for table in (deciding_table(cluster), variation_table(cluster))
    )
    for table in (*of_clusters, *rules(sizing)):
        shown += [Text(f"\n{table.title}", "bold"), rich_table(table)]
    if sizing.partitions:
        shown.append(Text(sizing.partitions))
    shown += [Text(f"\nbeyond what was measured: {line}", "yellow") for line in sizing.warnings]
    return Group(*shown)


def rules(sizing: Sizing) -> list[Table]:
    """Tables of published rules, one for each system and number of copies."""
    clusters = [
        (cluster.system, cluster.title, cluster.requirement, cluster.roles) for cluster in sizing.clusters
    ]
    return rules_tables(clusters, sizing.requirement_file.nodes)


def write(sizing: Sizing) -> tuple[Path, Path]:
    """Write HTML and PDF beside the requirement's file; return their paths. Raises ReportError."""
    of_clusters = (
        table
        for cluster in sizing.clusters
        for table in (deciding_table(cluster), variation_table(cluster), use_table(cluster))
    )
    tables = [*of_clusters, *rules(sizing)]
    looks = {cluster.system: style.look(cluster.system) for cluster in sizing.clusters}
    html = templates.page("size.html.j2", {"sizing": sizing, "tables": tables, "looks": looks})
    page, paper = (sizing.requirement_file.file.with_suffix(end) for end in (".html", ".pdf"))
    page.write_text(html, encoding="utf-8")
    pdf.write(html, paper)
    return page, paper
