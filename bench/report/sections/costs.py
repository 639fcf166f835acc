"""What a message, a byte and a batch take of each resource, by role: the fitted costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from bench import numbers
from bench.report.results import Results
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Row, Table, heading, without_empty
from bench.systems.registry import system_title

_Cost = Mapping[Any, Any]

_RESOURCES = {
    "cpu_s": ("CPU, µs", 1e6),
    "disk_write_bytes": ("to disk, bytes", 1.0),
    "net_in_bytes": ("received, bytes", 1.0),
    "net_out_bytes": ("sent, bytes", 1.0),
    "flushes": ("fsyncs", 1.0),
}
"""How each resource is headed, and in which of its units it is shown."""
_UNITS = {"node": "a second", "message": "a message", "byte": "a byte", "batch": "a batch"}


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
    rows = [row for role, of_role in costs.groupby("role", sort=False) for row in _role(str(role), of_role)]
    title = f"{system_title(system)} {configuration}".strip()
    return without_empty(Table(title, columns, tuple(rows), system))


def _role(role: str, costs: pd.DataFrame) -> Iterator[Row]:
    yield heading(role, opens=True)
    for (work, unit), of_work in costs.groupby(["work", "unit"], sort=False):
        yield Row((Cell(str(work)), Cell(_UNITS[str(unit)]), *_by_resource(of_work, _cost)))
    once = costs.drop_duplicates("resource")
    heads = (Cell("measured over predicted", "quiet"), Cell("lowest to highest trial", "quiet"))
    yield Row((*heads, *_by_resource(once, _residuals)))
    heads = (Cell("error for a case not fitted", "quiet"), Cell("median; worst tenth", "quiet"))
    yield Row((*heads, *_by_resource(once, _errors)))


def _by_resource(costs: pd.DataFrame, cell: Callable[[_Cost, float], Cell]) -> list[Cell]:
    """Write the cost of each resource into a cell, in the unit in which the resource is shown."""
    cost_of: dict[str, _Cost] = {cost["resource"]: cost for cost in costs.to_dict("records")}
    return [
        cell(cost_of[name], factor) if name in cost_of else Cell(numbers.NOTHING, "quiet")
        for name, (_, factor) in _RESOURCES.items()
    ]


def _cost(cost: _Cost, factor: float) -> Cell:
    value, low, high = (float(cost[name]) * factor for name in ("value", "low", "high"))
    return Cell(f"{numbers.rate(value)} ({numbers.rate(low)} to {numbers.rate(high)})", sort=value)


def _residuals(cost: _Cost, _: float) -> Cell:
    low, high = float(cost["residual_low"]), float(cost["residual_high"])
    return Cell(f"{numbers.factor(low)} to {numbers.factor(high)}", "quiet")


def _errors(cost: _Cost, _: float) -> Cell:
    return Cell("; ".join(_error(float(cost[name])) for name in ("error_median", "error_p90")), "quiet")


def _error(value: float) -> str:
    return "not a share, as 0 was measured" if math.isinf(value) else numbers.percent(value)


def _content(report: ReportInput) -> list[Table] | None:
    return tables(report.results) or None


SECTION = Section("costs", "What messages, bytes and batches cost", _content)
