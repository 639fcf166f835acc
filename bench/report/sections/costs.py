"""What a message and a byte take of each resource, by role: the fitted costs."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bench import numbers
from bench.report.results import Results
from bench.report.table import Cell, Column, Row, Table, heading, without_empty

_RESOURCES = {
    "cpu_s": ("CPU, µs", 1e6),
    "disk_write_bytes": ("to disk, bytes", 1.0),
    "net_in_bytes": ("received, bytes", 1.0),
    "net_out_bytes": ("sent, bytes", 1.0),
    "flushes": ("fsyncs", 1.0),
}
"""How each resource is headed, and in which of its units it is shown."""
_UNITS = {"node": "a second", "message": "a message", "byte": "a byte"}


def tables(results: Results) -> list[Table]:
    """Return a table a system and configuration; none where the run's trials could not tell costs."""
    groups = results.costs.groupby(["system", "configuration"], sort=False)
    return [_table(str(system), str(configuration), costs) for (system, configuration), costs in groups]


def _table(system: str, configuration: str, costs: pd.DataFrame) -> Table:
    columns = (
        Column("work", "name"),
        Column("for each", "text"),
        *(Column(head, "number") for head, _ in _RESOURCES.values()),
    )
    rows = [row for role, own in costs.groupby("role", sort=False) for row in _role(str(role), own)]
    title = f"{system.capitalize()} {configuration}".strip()
    return without_empty(Table(title, columns, tuple(rows), system))


def _role(role: str, costs: pd.DataFrame) -> Iterator[Row]:
    yield heading(role, opens=True)
    for (work, unit), own in costs.groupby(["work", "unit"], sort=False):
        by_resource = own.set_index("resource")
        yield Row(
            (
                Cell(str(work)),
                Cell(_UNITS[str(unit)]),
                *(_cost(by_resource, name, factor) for name, (_, factor) in _RESOURCES.items()),
            )
        )
    by_resource = costs.drop_duplicates("resource").set_index("resource")
    yield Row(
        (
            Cell("measured over predicted", "quiet"),
            Cell("lowest to highest trial", "quiet"),
            *(_residuals(by_resource, name) for name in _RESOURCES),
        )
    )


def _cost(costs: pd.DataFrame, resource: str, factor: float) -> Cell:
    if resource not in costs.index:
        return Cell(numbers.NOTHING, "quiet")
    cost = dict(costs.loc[resource])
    value, low, high = (float(cost[name]) * factor for name in ("value", "low", "high"))
    return Cell(f"{numbers.rate(value)} ({numbers.rate(low)} to {numbers.rate(high)})", sort=value)


def _residuals(costs: pd.DataFrame, resource: str) -> Cell:
    if resource not in costs.index:
        return Cell(numbers.NOTHING, "quiet")
    cost = dict(costs.loc[resource])
    low, high = float(cost["residual_low"]), float(cost["residual_high"])
    return Cell(f"{numbers.factor(low)} to {numbers.factor(high)}", "quiet")
