"""The course of trials that were measured in slices: throughput of each slice over the time of the cluster start."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bench.report import sweep
from bench.report.figures import multiples
from bench.report.figures.dots import dots
from bench.report.figures.scale import fit_scale
from bench.report.figures.slices import with_case
from bench.report.figures.timeline import representative
from bench.report.results import Results

RUNNING = 5
"""The line is the running median of so many slices of a case."""


def course(results: Results, parts: Sequence[sweep.Part]) -> list[Figure]:
    """Draw each case's representative trial, a dot a slice; none where no trial was measured in slices."""
    table = _representative(results)
    blocks = [block for part in parts if (block := sweep.panels(part.with_cases(table["case"]))).shown]
    y = fit_scale(table["rate"][table["rate"] > 0])
    if y is None or not blocks:
        return []
    labels = ("minutes since the cluster's first slice", "acknowledged messages per second")
    figures, cells = multiples.grid(blocks, labels, y, flat=True)
    for cell in cells:
        cell.axes.set_xlim(0, float(table["minutes"].max()) * 1.01)
        cell.axes.xaxis.set_major_locator(MaxNLocator(6))
        multiples.name_lines(cell, _lines(cell, table))
    return figures


def _representative(results: Results) -> pd.DataFrame:
    """Return the slices of the trial of each case whose throughput is the case's median, in their order."""
    rates = results.valid.set_index("trial")["throughput_msgs_per_s"]
    table = with_case(results).rename(columns={"throughput_msgs_per_s": "rate"})
    table = table.assign(
        rate=table["rate"].astype(float), throughput_msgs_per_s=table["trial"].map(rates).astype(float)
    )
    trial_numbers = {representative(case_slices) for _, case_slices in table.groupby("case")}
    return table[table["trial"].isin(trial_numbers)].sort_values(["case", "minutes"])


def _lines(cell: multiples.PanelAxes, table: pd.DataFrame) -> multiples.Ends:
    """Draw a panel's lines; return where each ends."""
    ends: dict[str, tuple[float, float]] = {}
    for case in cell.panel.lines.values():
        case_slices = table[table["case"] == case]
        running = case_slices["rate"].rolling(RUNNING, center=True, min_periods=1).median()
        dots(cell.axes, case_slices[["minutes", "rate"]], cell.colours[case], size=1.4)
        cell.axes.plot(
            case_slices["minutes"],
            running,
            color=cell.colours[case],
            linestyle=cell.dashes[case],
            linewidth=1.1,
        )
        ends[case] = (float(case_slices["minutes"].iloc[-1]), float(running.iloc[-1]))
    return ends
