"""How long a send takes at shares of the capacity, and where that begins to grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench import numbers
from bench.report import sweep
from bench.report.load_curves import KNEE, LoadCurve
from bench.report.table import Cell, Column, Table, case_table

_LOADS = (0.25, 0.5, 0.75, 0.9, 1.0)
_P99 = "p99 response time (ms) at a load of"


def tables(curves: Mapping[str, LoadCurve], parts: Sequence[sweep.Part]) -> list[Table]:
    """Return a table a system with a row a case that has a curve; none without."""
    shown = [part.with_cases(curves) for part in parts]
    return [_table(curves, part) for part in shown if len(part.cases)]


def _table(curves: Mapping[str, LoadCurve], part: sweep.Part) -> Table:
    columns = (
        Column("lightest load held", "text", _P99),
        *(Column(numbers.share(load), "number", _P99) for load in _LOADS),
        Column(f"p99 is {KNEE:g} times that of the lightest at"),
    )
    cells = [_cells(curves[str(case)]) for case in part.cases["case"]]
    return case_table(part, columns, cells)


def _cells(curve: LoadCurve) -> list[Cell]:
    knee, (load, p99_ns) = curve.knee, curve.lightest
    return [
        Cell(f"{numbers.ms(p99_ns)} at {numbers.share(load)}", "quiet", sort=p99_ns),
        *(Cell(numbers.ms(curve.p99_at(load)), sort=curve.p99_at(load)) for load in _LOADS),
        Cell(numbers.NOTHING if knee is None else numbers.share(knee), "strong", sort=knee),
    ]
