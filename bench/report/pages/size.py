"""The page of a cluster's size: how many nodes of each role carry a requirement, and what decides that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from bench import numbers
from bench.report import pdf, style, templates
from bench.report.pages.terminal import rich_table
from bench.report.table import Cell, Column, Row, Table
from bench.sizing.cluster import COPIES, DISK_SPACE, NodeType, Requirement, RoleSize
from bench.sizing.published_rules import published

NAMES = {
    "cpu_s": "CPU",
    "net_in_bytes": "network in",
    "net_out_bytes": "network out",
    "disk_write_bytes": "disk writes",
    DISK_SPACE: "disk space",
    COPIES: "the number of copies",
}
"""What each resource, and what else decides the number of nodes, is called."""
_BEYOND = "?"
"""Marks numbers of nodes for what lies far beyond what was measured."""


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """The sizes of a system's roles, in one configuration.

    `variations` has the size of each role with one input of the requirement changed, by what was changed; None where
    no number of nodes would be enough. `errors` are those of the models (Demand.errors), of all roles and resources.
    """

    system: str
    configuration: str
    roles: Sequence[RoleSize]
    variations: Mapping[str, Mapping[str, RoleSize | None]]
    errors: Sequence[float]

    @property
    def title(self) -> str:
        """The system, and its configuration where a run has several."""
        return f"{self.system.capitalize()} {self.configuration}".strip()


@dataclass(frozen=True, slots=True)
class Sizing:
    """All clusters that would carry a requirement, read from `file`, by the costs that `run` measured."""

    run: str
    file: Path
    requirement: Requirement
    nodes: Mapping[str, NodeType]
    clusters: Sequence[ClusterSize]

    @property
    def summary(self) -> str:
        """The requirement, in a sentence."""
        peak = self.requirement.peak
        batches = f", {numbers.rate(peak.batch)} in a batch" if peak.batch > 1 else ""
        return (
            f"{numbers.rate(peak.messages_per_s)} messages/s of {numbers.count(peak.message_bytes)} bytes at the peak"
            f"{batches}; copies of each: {peak.copies}; {numbers.plural(peak.groups, 'consumer group')}; "
            f"retention {numbers.seconds(self.requirement.retention_s)}; "
            f"{numbers.plural(self.requirement.node_failures, 'node')} of each role may be gone."
        )

    @property
    def answers(self) -> list[str]:
        """A sentence for each cluster."""
        return [
            f"{cluster.title} needs {' and '.join(map(self._role, cluster.roles))}{self._price(cluster)}."
            for cluster in self.clusters
        ]

    @property
    def accuracy(self) -> list[str]:
        """A sentence for each cluster on how far its models are off."""
        return [
            f"{cluster.title}: predicted from the other cases, the use of a case was off by {middle} in the median and "
            f"{tenth} in the worst tenth."
            for cluster in self.clusters
            if cluster.errors
            for middle, tenth in [_off(cluster.errors)]
        ]

    @property
    def warnings(self) -> list[str]:
        """What lies beyond what was measured, by cluster and role; empty where all lies within."""
        return [
            f"{cluster.title}, {role.role}: {line}"
            for cluster in self.clusters
            for role in cluster.roles
            for line in role.outside
        ]

    def _role(self, role: RoleSize) -> str:
        span = f"{role.least} to {role.nodes}" if role.least < role.nodes else f"{role.nodes}"
        return (
            f"{numbers.plural(role.nodes, role.role)} (95 % interval of the model: {span}; "
            f"{NAMES[role.binding]} decides)"
        )

    def _price(self, cluster: ClusterSize) -> str:
        prices = [self.nodes[role.role].price for role in cluster.roles]
        if None in prices:
            return ""
        total = sum((price or 0.0) * role.nodes for price, role in zip(prices, cluster.roles, strict=True))
        return f", at a price of {numbers.rate(total)}"


def _off(errors: Sequence[float]) -> tuple[str, str]:
    """Return the median and the 90th percentile of the sizes of errors."""
    sizes = np.abs(errors)
    middle, tenth = float(np.median(sizes)), float(np.quantile(sizes, 0.9, method="higher"))
    return numbers.percent(middle), numbers.percent(tenth)


def use_table(cluster: ClusterSize, requirement: Requirement) -> Table:
    """A row for each resource of a role: how much of it the peak takes."""
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


def deciding_table(cluster: ClusterSize, requirement: Requirement) -> Table:
    """A row a role: its nodes, and how much the peak takes of what decides their number."""
    gone = f"with {requirement.node_failures} gone"
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
        Row((Cell(role.role), Cell(str(role.nodes), "strong"), *_varied(cluster, role.role)))
        for role in cluster.roles
    )
    title = f"{cluster.title}, nodes with one input changed ({_BEYOND}: more than 2 times beyond what was measured)"
    return Table(title, columns, rows, cluster.system)


def _varied(cluster: ClusterSize, role: str) -> Iterator[Cell]:
    for by_role in cluster.variations.values():
        size = by_role[role]
        if size is None:
            yield Cell("never enough", "bad")
        elif size.outside:
            yield Cell(f"{size.nodes}{_BEYOND}", "warn", note="; ".join(size.outside))
        else:
            yield Cell(str(size.nodes))


def rules_table(sizing: Sizing) -> Table | None:
    """A row a published rule: the brokers that it asks for, beside those by measured costs; None without Kafka.

    Of several configurations of Kafka each has its row.
    """
    sizes = [
        (cluster.title, role)
        for cluster in sizing.clusters
        if cluster.system == "kafka"
        for role in cluster.roles
    ]
    if not sizes:
        return None
    by_rule = published(sizing.requirement, sizing.nodes[sizes[0][1].role])
    rows = [
        *(Row((Cell(one.rule), Cell(one.counts), Cell(str(one.nodes)))) for one in by_rule),
        *(
            Row((Cell(f"{title}, this run"), Cell("measured costs"), Cell(str(role.nodes), "strong")))
            for title, role in sizes
        ),
    ]
    columns = (Column("rule", "name"), Column("it counts", "name"), Column("brokers"))
    return Table("Kafka by published rules (none is known for Pulsar)", columns, tuple(rows), "kafka")


def printed(sizing: Sizing) -> RenderableType:
    """Answers and tables for a terminal."""
    shown: list[RenderableType] = [
        Text(sizing.summary, "dim"),
        *(Text(answer, "bold") for answer in sizing.answers),
        *(Text(words) for words in sizing.accuracy),
    ]
    for cluster in sizing.clusters:
        for table in (deciding_table(cluster, sizing.requirement), variation_table(cluster)):
            shown += [Text(f"\n{table.title}", "bold"), rich_table(table)]
    if rules := rules_table(sizing):
        shown += [Text(f"\n{rules.title}", "bold"), rich_table(rules)]
    shown += [Text(f"\nbeyond what was measured: {line}", "yellow") for line in sizing.warnings]
    return Group(*shown)


def write(sizing: Sizing) -> tuple[Path, Path]:
    """Write HTML and PDF beside the requirement's file; return their paths. Raises ReportError."""
    tables = [
        table
        for cluster in sizing.clusters
        for table in (
            deciding_table(cluster, sizing.requirement),
            variation_table(cluster),
            use_table(cluster, sizing.requirement),
        )
    ]
    if rules := rules_table(sizing):
        tables.append(rules)
    looks = {cluster.system: style.look(cluster.system) for cluster in sizing.clusters}
    html = templates.page("size.html.j2", {"sizing": sizing, "tables": tables, "looks": looks})
    page, paper = (sizing.file.with_suffix(end) for end in (".html", ".pdf"))
    page.write_text(html, encoding="utf-8")
    pdf.write(html, paper)
    return page, paper
