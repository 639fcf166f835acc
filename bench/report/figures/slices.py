"""Every slice over the time of its cluster start: drift, and phases in which machine or servers were slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from bench import numbers
from bench.model import NANOS
from bench.report import style, sweep
from bench.report.figures.dots import dots
from bench.report.results import Results
from bench.systems.registry import system_title

_LEFT_IN, _GAP_IN, _HEAD_IN, _TITLE_IN, _PANEL_IN, _FOOT_IN = 0.6, 0.14, 0.34, 0.25, 1.05, 0.46
_COLUMNS, _MOST_PANELS = 3, 9
_INSIDE = (0.005, 0.995)
"""The axis holds the slices between these quantiles; those beyond lie at its edge."""
_LEAST_SPAN = (0.8, 1.25)
_TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_FINE_TICKS = (0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0)
_FINE_BELOW = 4.0
_MINUTE_NS = 60 * NANOS


@dataclass(frozen=True, slots=True)
class ClusterStart:
    """The slices measured on one start of a cluster: columns case, cycle, minutes and share.

    `minutes` count from the cluster's first slice. `share` is a slice's value over the median of its case's slices on
    this cluster start.
    """

    system: str
    title: str
    slices: pd.DataFrame

    @property
    def by_cycle(self) -> pd.DataFrame:
        """The median over all cases in each cycle: columns minutes and share, in the cycles' order."""
        return self.slices.groupby("cycle")[["minutes", "share"]].median()


def open_loop(results: Results) -> bool:
    """Whether the load of slices was paced: then throughput says nothing, and service times are drawn instead."""
    return bool(results.slices["response_p99_ns"].notna().any())


def with_case(results: Results) -> pd.DataFrame:
    """Return the slices of valid trials with system, case, round and minutes since their cluster's first slice."""
    trials = results.valid[["trial", "system", "case", "round"]]
    table = results.slices.merge(trials, on="trial")
    return table.assign(minutes=table["start_ns"].astype(float) / _MINUTE_NS)


def cluster_starts(results: Results, part: sweep.Part) -> list[ClusterStart]:
    """Return the cluster starts of a system in the order of rounds, its slices relative to their case."""
    value = "service_p50_ns" if open_loop(results) else "throughput_msgs_per_s"
    table = with_case(results)
    table = table[(table["system"] == part.system) & table[value].notna()]
    values = table[value].astype(float)
    table = table.assign(
        share=values / values.groupby(table["trial"]).transform("median"),
        cluster=[results.trial_records[trial].logs or "" for trial in table["trial"]],
    )
    table = table[np.isfinite(table["share"])]
    return [
        ClusterStart(part.system, f"round {turn + 1}{_settings_of(part, start_slices)}", start_slices)
        for (turn, _), start_slices in table.groupby(["round", "cluster"])
    ]


def slices(results: Results, parts: Sequence[sweep.Part]) -> Figure | None:
    """Draw a panel a cluster start, at most nine a system; None where no trial was measured in slices."""
    blocks = [shown for part in parts if (shown := _shown_starts(results, part))]
    if not blocks:
        return None
    columns = min(_COLUMNS, max(map(len, blocks)))
    rows = [-(-len(block) // columns) for block in blocks]
    beside = sum(_HEAD_IN + count * _TITLE_IN + _FOOT_IN for count in rows)
    panel = min(_PANEL_IN, (style.HEIGHT_IN - beside) / sum(rows))
    height = beside + panel * sum(rows)
    figure = Figure(figsize=(style.WIDTH_IN, height))
    limits, right = _limits(blocks), max(start.slices["minutes"].max() for block in blocks for start in block)
    top = height
    for block, count in zip(blocks, rows, strict=True):
        _heading(figure, block[0].system, top, paced=open_loop(results))
        for place, axes in enumerate(_axes(figure, len(block), (columns, panel), top - _HEAD_IN)):
            _panel(axes, block[place], limits)
            axes.set_xlim(0, right * 1.01)
            axes.tick_params(labelleft=place % columns == 0, labelbottom=place + columns >= len(block))
            if place + columns >= len(block):
                axes.set_xlabel("minutes since the cluster's first slice", labelpad=2)
        top -= _HEAD_IN + count * (panel + _TITLE_IN) + _FOOT_IN
    return figure


def cluster_start_counts(results: Results, part: sweep.Part) -> tuple[int, int]:
    """Return how many of a system's cluster starts are drawn, and how many there are."""
    return len(_shown_starts(results, part)), len(cluster_starts(results, part))


def swing(results: Results, part: sweep.Part) -> str:
    """Return in words between which shares the median over all cases moved; empty where no trial has slices."""
    medians = [share for start in cluster_starts(results, part) for share in start.by_cycle["share"]]
    if not medians:
        return ""
    return f"{part.title}: from {numbers.percent(min(medians))} to {numbers.percent(max(medians))}."


def _shown_starts(results: Results, part: sweep.Part) -> list[ClusterStart]:
    return sweep.evenly(cluster_starts(results, part), _MOST_PANELS)


def _settings_of(part: sweep.Part, start_slices: pd.DataFrame) -> str:
    """Return the swept settings that all cases of a cluster share and others of its system do not."""
    inside = part.cases[part.cases["case"].isin(start_slices["case"])]
    setting_words = [
        f"{name}={numbers.text(inside[name].iloc[0])}"
        for name in part.settings
        if inside[name].nunique(dropna=False) == 1 < part.cases[name].nunique(dropna=False)
    ]
    return f", {' '.join(setting_words)}" if setting_words and len(inside) > 1 else ""


def _limits(blocks: Sequence[Sequence[ClusterStart]]) -> tuple[float, float]:
    shares = pd.concat([start.slices["share"] for block in blocks for start in block])
    shares = shares[shares > 0]
    low, high = (float(shares.quantile(at)) for at in _INSIDE)
    return max(_TICKS[0], min(low, _LEAST_SPAN[0])) / 1.05, min(_TICKS[-1], max(high, _LEAST_SPAN[1])) * 1.05


def _heading(figure: Figure, system: str, top: float, *, paced: bool) -> None:
    across, down = figure.get_size_inches()
    title, quantity = system_title(system), "median service time" if paced else "throughput"
    y = (top - 0.14) / down
    base = style.look(system).ink
    figure.text(0, y, title, fontsize=style.HEAD_PT, fontweight="semibold", color=base, va="center")
    words = f"{quantity} of each slice, % of its case's median, log scale; line: all cases"
    figure.text((len(title) * 0.1 + 0.12) / across, y, words, color=style.SOFT, va="center")


def _axes(figure: Figure, count: int, room: tuple[int, float], top: float) -> Iterator[Axes]:
    """Place panels; `room`: how many stand side by side, and how high each is, in inches."""
    columns, height = room
    across, down = figure.get_size_inches()
    width = (style.WIDTH_IN - _LEFT_IN - (columns - 1) * _GAP_IN - 0.08) / columns
    for place in range(count):
        row, column = divmod(place, columns)
        x = _LEFT_IN + column * (width + _GAP_IN)
        y = top - (row + 1) * (height + _TITLE_IN)
        yield figure.add_axes((x / across, y / down, width / across, height / down))


def _panel(axes: Axes, start: ClusterStart, limits: tuple[float, float]) -> None:
    low, high = limits
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    ticks = _FINE_TICKS if high / low < _FINE_BELOW else _TICKS
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share * 100:.3g} %"))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(visible=True, axis="y")
    axes.axhline(1.0, color=style.SOFT, linewidth=0.6, zorder=1)
    axes.set_title(start.title, loc="left", color=style.INK, pad=3)
    look = style.look(start.system)
    cases = list(dict.fromkeys(start.slices["case"]))
    for case, colour in zip(cases, look.shades(len(cases)), strict=True):
        case_slices = start.slices.loc[start.slices["case"] == case, ["minutes", "share"]]
        dots(axes, case_slices.assign(share=case_slices["share"].clip(low, high)), colour)
    line = start.by_cycle
    axes.plot(line["minutes"], line["share"].clip(low, high), color="white", linewidth=2.6, zorder=3)
    axes.plot(line["minutes"], line["share"].clip(low, high), color=look.dark, linewidth=1.4, zorder=4)
