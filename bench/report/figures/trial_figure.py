"""One trial over its time, panel by panel: acknowledgements, service time, resources, servers' metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bench import numbers
from bench.model import NANOS
from bench.report import style
from bench.report.figures import resources, servers, timeline
from bench.report.figures.drawing import Drawing, draw
from bench.report.results import Results

_MS = 1e-6
_PANEL_IN, _LOW_IN, _GAP_IN, _LEFT_IN, _RIGHT_IN, _FOOT_IN = 1.0, 0.65, 0.3, 0.68, 0.95, 0.42

_CAPTION = "Grey: warm-up, not counted. Red: something was broken. The last second is cut short."
_SLICES = "Each dot is a slice, or a look at its end; between slices other cases were measured."
_SERVERS_CAPTION = "Below, what servers tell of themselves; a step is a mean over the time before it."
_SLICED_CAPTION = "Below, what servers tell of themselves, asked around some slices only."


@dataclass(frozen=True, slots=True)
class _Course:
    """How a trial went: a row a second, or a slice (`has_slices`), by seconds since the first send.

    Columns: acked (per second), service_p50_ns and service_p99_ns where known; of seconds also in_window, failed and
    unknown. `right_s` is where it ends; `start_s` where what counts begins.
    """

    table: pd.DataFrame
    start_s: float
    right_s: float
    has_slices: bool


def trial(results: Results, number: int) -> Drawing | None:
    """Draw a trial; None where it sent nothing. Panels without any sample are left out."""
    course = _in_slices(results, number) or _in_seconds(results, number)
    if course is None:
        return None
    row = results.trials[results.trials["trial"] == number].iloc[0]
    system, base = str(row["system"]), style.look(str(row["system"])).base
    samples = resources.seconds_of(results, number)
    quantities = resources.QUANTITIES if len(samples) else ()
    server_panels = list(servers.panels(samples))
    figure, panels = _panels([_PANEL_IN] * (2 + len(quantities)) + [_LOW_IN] * len(server_panels))
    _acks(panels[0], course, base)
    _service(panels[1], course, base)
    for axes, quantity in zip(panels[2:], quantities, strict=False):
        resources.stack(axes, system, resources.by_role(samples, quantity), names=True)
        _title(axes, quantity.label)
    for axes, (panel, table) in zip(panels[2 + len(quantities) :], server_panels, strict=True):
        servers.lines(axes, system, panel, table, None if course.has_slices else course.start_s)
        _title(axes, panel.title(system))
    faults = results.faults[results.faults["trial"] == number]
    for axes in panels:
        axes.set_xlim(0, course.right_s)
        timeline.mark_faults(axes, faults, int(course.right_s), named=axes is panels[0])
    timeline.mark_events(panels[0], results.trial_records[number], results.first_send_ns(number))
    servers_caption = _SLICED_CAPTION if course.has_slices else _SERVERS_CAPTION
    caption = [
        _SLICES if course.has_slices else _CAPTION,
        timeline.MARKS if len(faults) else "",
        servers_caption if server_panels else "",
    ]
    *shown, last = ["service time", *(quantity.label.partition(",")[0] for quantity in quantities)]
    return draw(
        figure,
        name=f"trial-{number}",
        title=f"Trial {number} over its time",
        alt=f"{', '.join(['Acknowledged messages per second', *shown])} and {last} of {row['case']}: "
        f"{numbers.rate(row['throughput_msgs_per_s'])} messages/s in the measured "
        f"{'slices' if course.has_slices else 'window'}."
        f"{''.join(f' {_alt_sentence(panel.title(system), table)}.' for panel, table in server_panels)}",
        caption=" ".join(filter(None, caption)),
    )


def _in_seconds(results: Results, number: int) -> _Course | None:
    seconds = results.timeline[results.timeline["trial"] == number].set_index("second")
    if seconds.empty:
        return None
    start_s = float(seconds.index[seconds["in_window"].astype(bool)].min())
    return _Course(seconds, start_s, int(seconds.index.max()) + 1, has_slices=False)


def _in_slices(results: Results, number: int) -> _Course | None:
    trial_slices = results.slices[results.slices["trial"] == number].sort_values("slice")
    if trial_slices.empty:
        return None
    lead_in_s = results.trial_records[number].load.warm_up_s or 0.0
    start_s = (trial_slices["start_ns"] - trial_slices["start_ns"].min()) / NANOS + lead_in_s
    table = trial_slices.assign(acked=trial_slices["throughput_msgs_per_s"].astype(float)).set_index(
        start_s.astype(float)
    )
    return _Course(
        table, 0.0, float(table.index[-1] + trial_slices["length_ns"].iloc[-1] / NANOS), has_slices=True
    )


def _alt_sentence(label: str, table: pd.DataFrame) -> str:
    """Say in words what a panel shows: the least and the most of each role."""
    spans = [
        f"{role} {numbers.rate(table[role].min())} to {numbers.rate(table[role].max())}" for role in table
    ]
    return numbers.sentence(f"{label}: {', '.join(spans)}")


def _panels(heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    """Make panels of these heights, in inches, with one time axis below the last."""
    total = sum(heights) + len(heights) * _GAP_IN + _FOOT_IN
    figure = Figure(figsize=(style.WIDTH_IN, total))
    ends = accumulate(height + _GAP_IN for height in heights)
    width = style.WIDTH_IN - _LEFT_IN - _RIGHT_IN
    panels = [
        figure.add_axes((_LEFT_IN / style.WIDTH_IN, 1 - end / total, width / style.WIDTH_IN, height / total))
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
    axes.set_title(words, loc="left", color=style.SOFT, pad=3)


def _line(axes: Axes, course: _Course, values: pd.Series[float], colour: str, width: float) -> None:
    """Draw values over the course: steps of a second each, or a dot a slice with a thin line to follow them by."""
    if course.has_slices:
        axes.plot(values.index, values, ".-", color=colour, linewidth=0.4 * width, markersize=1.5 + width)
    else:
        axes.step(values.index, values, where="post", color=colour, linewidth=width)


def _acks(axes: Axes, course: _Course, base: str) -> None:
    _line(axes, course, course.table["acked"], base, 1.2)
    axes.set_ylim(bottom=0)
    if course.has_slices:
        _title(axes, "acknowledged messages per second, slice by slice")
        return
    seconds = course.table
    bad = seconds[(seconds["failed"] + seconds["unknown"]) > 0]
    axes.scatter(bad.index + 0.5, [0] * len(bad), marker="x", s=12, linewidth=0.8, color=style.BAD, zorder=5)
    inside = seconds.index[seconds["in_window"].astype(bool)]
    axes.axvspan(0, inside.min() if len(inside) else 0, color=style.SHADE, zorder=0, linewidth=0)
    _title(axes, "acknowledged messages per second (red cross: a send failed or stayed unknown)")


def _service(axes: Axes, course: _Course, base: str) -> None:
    if "service_p50_ns" in course.table.columns:
        for column, width in (("service_p50_ns", 1.2), ("service_p99_ns", 0.7)):
            _line(axes, course, pd.to_numeric(course.table[column]).astype(float) * _MS, base, width)
    axes.set_ylim(bottom=0)
    _title(axes, "service time, ms (strong: p50, thin: p99)")
