"""One trial over its time, panel by panel: acknowledgements, service time, what was used, what servers told."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bench import numbers
from bench.report import style
from bench.report.figures import resources, servers, timeline
from bench.report.figures.drawing import Drawing, draw
from bench.report.results import Results

_MS = 1e-6
_PANEL_IN, _LOW_IN, _GAP_IN, _LEFT_IN, _RIGHT_IN, _FOOT_IN = 0.95, 0.6, 0.24, 0.62, 0.75, 0.36

_CAPTION = "Grey: warm-up, not counted. Red: something was broken. The last second is cut short."
_ASKED = "Below, what servers tell of themselves; a step is a mean over the time before it."


def trial(results: Results, number: int) -> Drawing | None:
    """Draw a trial; None where it sent nothing. Panels without any sample are left out."""
    seconds = results.timeline[results.timeline["trial"] == number].set_index("second")
    if seconds.empty:
        return None
    row = results.trials[results.trials["trial"] == number].iloc[0]
    system, base = str(row["system"]), style.look(str(row["system"])).base
    samples = resources.seconds_of(results, number)
    quantities = resources.QUANTITIES if len(samples) else ()
    told = list(servers.panels(samples))
    figure, panels = _panels([_PANEL_IN] * (2 + len(quantities)) + [_LOW_IN] * len(told))
    _acks(panels[0], seconds, base)
    _service(panels[1], seconds, base)
    for axes, quantity in zip(panels[2:], quantities, strict=False):
        resources.stack(axes, system, resources.by_role(samples, quantity), names=True)
        _title(axes, quantity.label)
    start_s = float(seconds.index[seconds["in_window"].astype(bool)].min())
    for axes, (one, table) in zip(panels[2 + len(quantities) :], told, strict=True):
        servers.lines(axes, system, one, table, start_s)
        _title(axes, one.title(system))
    right = int(seconds.index.max()) + 1
    faults = results.faults[results.faults["trial"] == number]
    for axes in panels:
        axes.set_xlim(0, right)
        timeline.broken(axes, faults, right, named=axes is panels[0])
    timeline.happened(panels[0], results.trial_files[number], results.first_send_ns(number))
    caption = [_CAPTION, timeline.MARKS if len(faults) else "", _ASKED if told else ""]
    *shown, last = ["service time", *(quantity.label.partition(",")[0] for quantity in quantities)]
    return draw(
        figure,
        name=f"trial-{number}",
        title=f"Trial {number} over its time",
        alt=f"{', '.join(['Acknowledged messages per second', *shown])} and {last} of {row['case']}: "
        f"{numbers.rate(row['throughput_msgs_per_s'])} messages/s in the measured window."
        f"{''.join(f' {_said(one.title(system), table)}.' for one, table in told)}",
        caption=" ".join(filter(None, caption)),
    )


def _said(label: str, table: pd.DataFrame) -> str:
    """Say in words what a panel shows: the least and the most of each role."""
    spans = [
        f"{role} {numbers.rate(table[role].min())} to {numbers.rate(table[role].max())}" for role in table
    ]
    return numbers.sentence(f"{label}: {', '.join(spans)}")


def _panels(heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    """Make panels of these heights, in inches, with one time axis below the last."""
    whole = sum(heights) + len(heights) * _GAP_IN + _FOOT_IN
    figure = Figure(figsize=(style.WIDTH_IN, whole))
    ends = accumulate(height + _GAP_IN for height in heights)
    width = style.WIDTH_IN - _LEFT_IN - _RIGHT_IN
    panels = [
        figure.add_axes((_LEFT_IN / style.WIDTH_IN, 1 - end / whole, width / style.WIDTH_IN, height / whole))
        for height, end in zip(heights, ends, strict=True)
    ]
    for axes in panels:
        axes.grid(visible=True, axis="y")
        axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.tick_params(labelbottom=axes is panels[-1])
    panels[-1].set_xlabel("seconds since the first send", labelpad=2)
    return figure, panels


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
