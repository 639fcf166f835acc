"""The fitted costs of a run in few rows: what a batch takes of the CPU of each role, and each byte of its network."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bench import numbers
from bench.report.batch_costs import WorkCost, work_costs
from bench.report.results import Results
from bench.report.table import Cell, Column, Row, Table, without_empty
from bench.systems.registry import system_title

_BYTES = (
    ("disk_write_bytes", "to disk"),
    ("net_in_bytes", "received"),
    ("net_out_bytes", "sent"),
)


def summary(results: Results) -> Table:
    """Return a row a role and work: CPU of a batch, and bytes on disks and networks for each byte of messages."""
    columns = (
        Column("servers", "name"),
        Column("work", "name"),
        Column("CPU of a batch, µs"),
        *(Column(head, group="bytes for each byte of messages") for _, head in _BYTES),
    )
    return without_empty(Table("What a batch and a byte take", columns, tuple(_rows(results))))


def _rows(results: Results) -> Iterator[Row]:
    by_byte = results.costs[results.costs["unit"] == "byte"].set_index(
        ["system", "role", "work", "resource"]
    )["value"]
    previous = ""
    for cost in work_costs(results):
        servers = f"{system_title(cost.system)} {cost.role}"
        yield Row(
            (
                Cell("" if servers == previous else servers),
                Cell(cost.work),
                Cell(_with_interval(cost), sort=cost.value_us),
                *(_bytes(by_byte, cost, resource) for resource, _ in _BYTES),
            ),
            opens=bool(previous) and servers != previous,
        )
        previous = servers


def _with_interval(cost: WorkCost) -> str:
    value, low, high = map(numbers.rate, (cost.value_us, cost.low_us, cost.high_us))
    return f"{value} ({low} to {high})"


def _bytes(by_byte: pd.Series[float], cost: WorkCost, resource: str) -> Cell:
    value = float(by_byte.get((cost.system, cost.role, cost.work, resource), 0.0))
    return Cell(f"{value:.2f}", sort=value) if value >= 0.005 else Cell(numbers.NOTHING, "quiet")
