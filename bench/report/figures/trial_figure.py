"""One trial over its time: acknowledgements, service time, CPU, disk and network, one below the other."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bench import numbers
from bench.report import style
from bench.report.figures import resources
from bench.report.figures.drawing import Drawing, draw
from bench.report.figures.timeline import broken
from bench.report.results import Results

_MS = 1e-6
_PANEL_IN, _GAP_IN, _LEFT_IN, _RIGHT_IN, _FOOT_IN = 0.95, 0.24, 0.62, 0.75, 0.36


def trial(results: Results, number: int) -> Drawing | None:
    """Draw a trial; None where it sent nothing."""
    seconds = results.timeline[results.timeline["trial"] == number].set_index("second")
    if seconds.empty:
        return None
    row = results.trials[results.trials["trial"] == number].iloc[0]
    base = style.look(str(row["system"])).base
    samples = resources.seconds_of(results, number)
    quantities = resources.QUANTITIES if len(samples) else ()
    count = 2 + len(quantities)
    height = count * (_PANEL_IN + _GAP_IN) + _FOOT_IN
    figure = Figure(figsize=(style.WIDTH_IN, height))
    panels = [_panel(figure, place, height, last=place == count - 1) for place in range(count)]
    _acks(panels[0], seconds, base)
    _service(panels[1], seconds, base)
    for axes, quantity in zip(panels[2:], quantities, strict=True):
        resources.stack(axes, str(row["system"]), resources.by_role(samples, quantity), names=True)
        _title(axes, quantity.label)
    right = int(seconds.index.max()) + 1
    for axes in panels:
        axes.set_xlim(0, right)
        faults = results.faults[results.faults["trial"] == number]
        broken(axes, faults, right, named=axes is panels[0])
    return draw(
        figure,
        name=f"trial-{number}",
        title=f"Trial {number} over its time",
        alt=f"Acknowledged messages per second, service time, CPU, disk writes and network of {row['case']}: "
        f"{numbers.rate(row['throughput_msgs_per_s'])} messages/s in the measured window.",
        caption="Grey: warm-up, not counted. Red: something was broken. The last second is cut short.",
    )


def _panel(figure: Figure, place: int, height: float, *, last: bool) -> Axes:
    y = height - (place + 1) * (_PANEL_IN + _GAP_IN)
    width = style.WIDTH_IN - _LEFT_IN - _RIGHT_IN
    axes = figure.add_axes(
        (_LEFT_IN / style.WIDTH_IN, y / height, width / style.WIDTH_IN, _PANEL_IN / height)
    )
    axes.grid(visible=True, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel("seconds since the first send", labelpad=2)
    return axes


def _title(axes: Axes, words: str) -> None:
    axes.set_title(words, loc="left", color=style.SOFT, pad=3, fontsize=7)


def _acks(axes: Axes, seconds: pd.DataFrame, base: str) -> None:
    axes.step(seconds.index, seconds["acked"], where="post", color=base, linewidth=1.2)
    bad = seconds[(seconds["failed"] + seconds["unknown"]) > 0]
    axes.scatter(bad.index + 0.5, [0] * len(bad), marker="x", s=12, linewidth=0.8, color=style.BAD, zorder=5)
    inside = seconds.index[seconds["in_window"].astype(bool)]
    axes.axvspan(0, inside.min() if len(inside) else 0, color=style.SHADE, zorder=0, linewidth=0)
    axes.set_ylim(bottom=0)
    _title(axes, "acknowledged messages per second (red cross: a send failed or stayed unknown)")


def _service(axes: Axes, seconds: pd.DataFrame, base: str) -> None:
    if "service_p50_ns" in seconds.columns:
        for column, width in (("service_p50_ns", 1.2), ("service_p99_ns", 0.7)):
            times = pd.to_numeric(seconds[column]) * _MS
            axes.step(seconds.index, times, where="post", color=base, linewidth=width)
    axes.set_ylim(bottom=0)
    _title(axes, "service time, ms (strong: p50, thin: p99)")
