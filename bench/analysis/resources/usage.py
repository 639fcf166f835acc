"""The use of machine and servers in a trial's window, for each acknowledged message and byte."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bench.analysis.resources.telemetry import CLIENTS, MACHINE, NO_SERVERS, NodeFigure
from bench.columns import BROKER_SPREAD, REQUEST_MESSAGES
from bench.model import NANOS
from bench.systems.description import Description

Row = dict[str, object]

_SUITE = "suite"
_MOVED = {"net_in_bytes", "net_out_bytes"}
_OVER = 1.1
"""So much more than its rate a narrow link may seem to have carried, for its packets' heads and the window's ends."""
_CONSUMERS = "consumers"


class NodeShares(NamedTuple):
    """What nodes got less of than the machine has, by node.

    `links`: bytes a second that a link carries, of those that were made narrow; `cores`: of those with a quota.
    """

    links: Mapping[str, float]
    cores: Mapping[str, float]


def usage(
    rows: Sequence[NodeFigure],
    messages_per_s: float | None,
    bytes_per_s: float | None,
    limits: NodeShares,
    system: Description,
) -> Row:
    """Return the columns of results/trials that telemetry gives (docs/tables.md); none without samples.

    `system` names the roles that keep messages and that clients wait for.
    """
    if not rows:
        return {}
    machine = {row.metric: row.value for row in rows if row.role == MACHINE}
    servers = _servers(rows)
    client = [row for row in rows if row.role in CLIENTS]
    suite = [row for row in rows if row.role == _SUITE]
    keepers = [row for row in servers if row.role == system.storage_role]
    flushes, flush_s = _sum(keepers, "flushes"), _sum(keepers, "flush_s")
    flushing = sum(row.metric == "flushes" and row.value > 0 for row in keepers)
    cpu = _sum(servers, "cpu_s")
    client_cpu, suite_cpu = _sum(client, "cpu_s"), _sum(suite, "cpu_s")
    busy = _sum((row for row in rows if row.role == MACHINE), "cpu_busy_s", "cpu_steal_s")
    moved = _sum(servers, "net_in_bytes", "net_out_bytes")
    front = [row for row in servers if row.role == system.front_role]
    return {
        "machine_cpu_share": _ratio(busy, machine.get("cores")),
        "machine_disk_share": machine.get("disk_busy_s"),
        "network_share": _busiest_link(servers, limits.links, machine.get("net_link_bytes_per_s")),
        "node_cpu_share": _busiest_node(servers, limits.cores),
        "servers_cpu": cpu,
        "keepers_cpu": _sum(keepers, "cpu_s"),
        "client_cpu": client_cpu,
        "consumers_cpu": _sum((row for row in client if row.node.split("-")[0] == _CONSUMERS), "cpu_s"),
        "suite_cpu": suite_cpu,
        "other_cpu": None
        if busy is None
        else max(0.0, busy - sum(cores or 0.0 for cores in (cpu, client_cpu, suite_cpu))),
        "cpu_waiting_share": machine.get("cpu_waiting_s"),
        "cpu_per_message_ns": _ratio(cpu, messages_per_s, NANOS),
        "disk_bytes_per_byte": _ratio(_sum(servers, "disk_write_bytes"), bytes_per_s),
        "network_bytes_per_byte": _ratio(
            None if moved is None else moved - (_sum(servers, "scraped_bytes") or 0.0), bytes_per_s
        ),
        "flushes_per_message": _ratio(flushes, messages_per_s),
        "flush_ns": _ratio(flush_s, flushes, NANOS),
        "flush_most_ns": _ratio(machine.get("disk_busy_s"), flushes, flushing * NANOS),
        "request_ns": _ratio(_sum(front, "request_s"), _sum(front, "requests"), NANOS),
        BROKER_SPREAD: _spread(front),
        REQUEST_MESSAGES: _ratio(messages_per_s, _sum(front, "requests")),
        "gc_share": _most(servers, "gc_s"),
        "flush_share": _most(keepers, "flush_s"),
    }


def use_by_role(rows: Iterable[NodeFigure]) -> list[Row]:
    """Return the columns of results/use of one trial: each figure of a role's servers, added up over them."""
    by_role: dict[tuple[str, str], list[float]] = {}
    for row in _servers(rows):
        by_role.setdefault((row.role, row.metric), []).append(row.value)
    return [
        {"role": role, "nodes": len(values), "metric": metric, "value": sum(values)}
        for (role, metric), values in sorted(by_role.items())
    ]


def _servers(rows: Iterable[NodeFigure]) -> list[NodeFigure]:
    return [row for row in rows if row.role not in NO_SERVERS]


def _sum(rows: Iterable[NodeFigure], *metrics: str) -> float | None:
    values = [row.value for row in rows if row.metric in metrics]
    return sum(values) if values else None


def _most(rows: Iterable[NodeFigure], metric: str) -> float | None:
    return max((row.value for row in rows if row.metric == metric), default=None)


def _spread(front: Iterable[NodeFigure]) -> float | None:
    """Return how far the broker that takes most or least in is from the mean of all, as a share of it."""
    rates = [row.value for row in front if row.metric == "bytes_in"]
    mean = sum(rates) / len(rates) if rates else 0.0
    return max(abs(value / mean - 1) for value in rates) if len(rates) > 1 and mean else None


def _ratio(part: float | None, total: float | None, times: float = 1.0) -> float | None:
    return part / total * times if part is not None and total else None


def _busiest_node(servers: Iterable[NodeFigure], cores: Mapping[str, float]) -> float | None:
    """Return the share of its CPU quota that is used on the node where most is; None without quotas."""
    shares = [row.value / cores[row.node] for row in servers if row.metric == "cpu_s" and row.node in cores]
    return max(shares, default=None)


def _busiest_link(
    servers: Iterable[NodeFigure], links: Mapping[str, float], usual: float | None
) -> float | None:
    """The share of a link's rate, in one direction, that is used where most is: a link carries both ways at once.

    A link may be narrow to some of the others only: where more passed than that, it went to the rest.
    """
    rates = [
        (row.value, narrow if row.value <= (narrow := links.get(row.node, 0.0)) * _OVER else usual)
        for row in servers
        if row.metric in _MOVED
    ]
    return max((value / rate for value, rate in rates if rate), default=None)
