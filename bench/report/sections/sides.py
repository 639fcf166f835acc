"""Both systems side by side, at every point of a sweep that they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench import numbers
from bench.report.results import Json, Results
from bench.report.table import Cell, Column, Row, Table, without_empty

_SHOWN: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("throughput_msgs_per_s", "throughput, messages/s", numbers.rate),
    ("service_p99_ns", "service time, p99, ms", numbers.ms),
    ("e2e_p99_ns", "end to end, p99, ms", numbers.ms),
)


def sides(found: Results) -> Table | None:
    """Return medians of both systems and their ratios, a row a point; None where they do not sweep the same."""
    told = found.summary.get("sides")
    if not told:
        return None
    first, second = (str(system).capitalize() for system in told["systems"])
    heads = (first, second, f"{first} / {second}", "interval")
    columns = [Column(name, "name") for name in told["settings"]]
    columns += [Column(head, "number", group) for _, group, _ in _SHOWN for head in heads]
    title = ", ".join(told["settings"]) or "one configuration each"
    return without_empty(Table(title, tuple(columns), tuple(_row(point) for point in told["points"])))


def _row(point: Json) -> Row:
    cells = [Cell(str(value)) for value in point["values"].values()]
    for name, _, shown in _SHOWN:
        one = point[name]
        cells += [Cell(shown(one["first"])), Cell(shown(one["second"]))]
        cells += [Cell(numbers.ratio(one["ratio"]), "strong"), Cell(numbers.between(one["low"], one["high"]))]
    return Row(tuple(cells))
