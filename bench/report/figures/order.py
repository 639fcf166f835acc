"""Every trial against its case's middle, round by round: does the machine drift, does a round differ?"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from bench.report import style, sweep
from bench.report.results import Results


def order(results: Results, parts: Sequence[sweep.Part]) -> Figure | None:
    """Draw the figure; None with one round, where every trial is its own middle."""
    middle = results.cases.set_index("case")["throughput_msgs_per_s"]
    trials = results.trials.assign(
        share=pd.to_numeric(results.trials["throughput_msgs_per_s"]) / results.trials["case"].map(middle)
    )
    if results.rounds < 2 or trials["share"].isna().all():
        return None
    figure = Figure(figsize=(style.WIDTH_IN, 2.0))
    ax = figure.add_axes((0.1, 0.24, 0.79, 0.63))
    _frame(ax, trials, "trial" if results.has_slices else "trial, in the order run")
    ax.set_ylabel(f"throughput,\n% of case's {results.middle}")
    for part in parts:
        _dots(ax, part, trials[trials["system"] == part.system])
    _names(ax, parts)
    return figure


def _frame(ax: Axes, trials: pd.DataFrame, x_label: str) -> None:
    ax.axhline(1.0, color=style.SOFT, linewidth=0.6)
    ax.grid(visible=True, axis="y")
    for turn, first in trials.groupby("round")["trial"].min().items():
        ax.axvline(first - 0.5, color=style.GRID, linewidth=0.7)
        ax.annotate(
            f"round {int(str(turn)) + 1}",
            xy=(first, 1),
            xycoords=("data", "axes fraction"),
            color=style.SOFT,
            va="bottom",
        )
    ax.set_xlim(trials["trial"].min() - 0.5, trials["trial"].max() + 0.5)
    shares = trials["share"].dropna()
    low, high = min(0.95, shares.min()), max(1.05, shares.max())
    ax.set_ylim(low - 0.06 * (high - low), high + 0.06 * (high - low))
    ax.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.set_xlabel(x_label, labelpad=2)


def _dots(ax: Axes, part: sweep.Part, trials: pd.DataFrame) -> None:
    look = style.look(part.system)
    valid = trials["verdict"] == "valid"
    counted, invalid_trials = trials[valid], trials[~valid]
    ax.scatter(
        counted["trial"], counted["share"], s=9, marker=look.marker, color=look.base, linewidth=0, alpha=0.85
    )
    floor = invalid_trials["share"].fillna(0.0).where(invalid_trials["share"].notna(), counted["share"].min())
    ax.scatter(invalid_trials["trial"], floor, s=14, marker="x", color=style.BAD, linewidth=0.9)


def _names(ax: Axes, parts: Sequence[sweep.Part]) -> None:
    for index, part in enumerate(parts):
        look = style.look(part.system)
        y = 0.9 - 0.2 * index
        ax.plot(
            [1.012],
            [y],
            marker=look.marker,
            color=look.base,
            markersize=3,
            transform=ax.transAxes,
            clip_on=False,
        )
        ax.text(
            1.022, y, part.title, transform=ax.transAxes, va="center", color=look.ink, fontweight="semibold"
        )
