"""Throughput second by second: one representative trial a case, and how far all its trials went."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bench.model import NANOS
from bench.records.steps import StrikeRecord
from bench.records.trial import HistoryRecord, TrialRecord
from bench.report import style, sweep
from bench.report.figures import multiples
from bench.report.figures.scale import fit_scale
from bench.report.results import Json, Results
from bench.systems.layout import partition_layout

MARKS = (
    "At the top, ticks: other steps, and nodes that ended by themselves; triangles: a partition was seen to be served "
    "by another node, or by none; dots: other nodes keep it."
)
_NAMES_AT = (0.91, 0.48)
"""Where the names of faults hang, in turn: of two that follow at once both can be read."""


def timeline(results: Results, parts: Sequence[sweep.Part]) -> list[Figure]:
    """Draw the figure; none where no valid trial has a timeline.

    The representative trial is the one whose throughput is the median of its case (the lower one of two).
    """
    seconds = _seconds(results)
    blocks = [block for part in parts if (block := sweep.panels(part.with_cases(seconds["case"]))).shown]
    y = fit_scale(seconds["acked"][seconds["acked"] > 0])
    if y is None or not blocks:
        return []
    figures, cells = multiples.grid(
        blocks, ("seconds since the first send", "acknowledged messages per second"), y, flat=True
    )
    right = int(seconds["second"].max()) + 1
    for cell in cells:
        _second_axis(cell, right)
        multiples.name_lines(cell, _lines(cell, seconds, results))
    return figures


def _seconds(results: Results) -> pd.DataFrame:
    """The seconds up to the window's end: the one after it is cut short and would look like a fall."""
    table = results.timeline.merge(results.valid[["trial", "case", "throughput_msgs_per_s"]], on="trial")
    inside = table["second"].where(table["in_window"].astype(bool))
    last = inside.groupby(table["trial"]).transform("max").fillna(table["second"])
    table = table[table["second"] <= last]
    return table.assign(acked=table["acked"].astype(float))


def _second_axis(cell: multiples.PanelAxes, right: int) -> None:
    cell.axes.set_xlim(0, right)
    cell.axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def _lines(cell: multiples.PanelAxes, seconds: pd.DataFrame, results: Results) -> multiples.Ends:
    ends: dict[str, tuple[float, float]] = {}
    warm_ups = []
    named: set[str] = set()
    for case in cell.panel.lines.values():
        of_case = seconds[seconds["case"] == case]
        if of_case.empty:
            continue
        shown = of_case[of_case["trial"] == representative(of_case)].sort_values("second")
        over = _steps(of_case.groupby("second")["acked"].agg(["min", "median", "max"]))
        level = _steps(shown.set_index("second")[["acked"]])
        colour, step = cell.colours[case], "steps-post"
        cell.axes.fill_between(
            over.index, over["min"], over["max"], step="post", color=colour, alpha=0.16, linewidth=0
        )
        cell.axes.plot(over.index, over["median"], drawstyle=step, color=colour, alpha=0.5, linewidth=0.7)
        cell.axes.plot(
            level.index,
            level["acked"],
            drawstyle=step,
            color=colour,
            linestyle=cell.dashes[case],
            linewidth=1.2,
        )
        _unhappy(cell, shown)
        trial = representative(of_case)
        faults = results.faults[(results.faults["trial"] == trial) & ~results.faults["fault"].isin(named)]
        named.update(faults["fault"])  # cases of one panel are struck alike, at nearly the same time
        mark_faults(cell.axes, faults, int(seconds["second"].max()) + 1, named=True)
        mark_events(cell.axes, results.trial_records[trial], results.first_send_ns(trial))
        ends[case] = (float(level.index[-1]), float(level["acked"].iloc[-1]))
        warm_ups.append(_warm_up(shown))
    cell.axes.axvspan(0, min(warm_ups, default=0), color=style.SHADE, zorder=0, linewidth=0)
    return ends


def _steps(levels: pd.DataFrame) -> pd.DataFrame:
    """Repeat the last second's level at its end: a second is as wide as it lasts."""
    last = levels.iloc[[-1]].rename(index=lambda second: second + 1)
    return pd.concat([levels, last])


def representative(of_case: pd.DataFrame) -> int:
    """The trial whose throughput is the median of these rows' trials, the lower one of two."""
    trials = of_case.drop_duplicates("trial").sort_values(["throughput_msgs_per_s", "trial"])["trial"]
    return int(trials.iloc[(len(trials) - 1) // 2])


def _warm_up(shown: pd.DataFrame) -> int:
    inside = shown.loc[shown["in_window"].astype(bool), "second"]
    return int(inside.min()) if len(inside) else 0


def mark_faults(axes: Axes, faults: pd.DataFrame, right: int, *, named: bool) -> None:
    """Shade the time in which something was broken, from when it was asked for; mark when that was, and name it."""
    shown = faults[faults["effect_ns"].notna() & (faults["asked_ns"] < right * NANOS)]
    for number, (_, fault) in enumerate(shown.iterrows()):
        begins = fault["asked_ns"] / NANOS
        ends = min(fault["healed_ns"] / NANOS if pd.notna(fault["healed_ns"]) else right, right)
        axes.axvspan(begins, max(begins, ends), color=style.BAD, alpha=0.08, zorder=0, linewidth=0)
        axes.axvline(begins, color=style.BAD, linewidth=0.8, linestyle=":")
        if named:
            _name(axes, str(fault["fault"]), (begins, _NAMES_AT[number % len(_NAMES_AT)]))


def _name(axes: Axes, words: str, at: tuple[float, float]) -> None:
    axes.annotate(
        words,
        at,
        xycoords=axes.get_xaxis_transform(),
        xytext=(2, 0),
        textcoords="offset points",
        va="top",
        color=style.BAD,
    )


def mark_events(axes: Axes, trial: TrialRecord, first_ns: int | None) -> None:
    """Mark at the top what else came, as MARKS says: other steps and nodes that ended, and who served anew."""
    if first_ns is None:
        return
    steps = [step.asked_ns for step in trial.faults if not isinstance(step, StrikeRecord)]
    moves, copies = (list(_changes(trial.history, seen_of)) for seen_of in (_server, _keepers))
    for times, marker, size, colour in (
        (steps, "|", 14, style.BAD),
        ([at_ns for at_ns in copies if at_ns not in moves], ".", 10, style.SOFT),
        (moves, "v", 14, style.SOFT),
    ):
        axes.scatter(
            [(at_ns - first_ns) / NANOS for at_ns in times],
            [0.96] * len(times),
            marker=marker,
            s=size,
            linewidth=0.8,
            color=colour,
            transform=axes.get_xaxis_transform(),
            zorder=5,
        )


def _changes(history: Sequence[HistoryRecord], of: Callable[[Json], object]) -> Iterator[int]:
    """Give the times at which something of a partition was seen to be otherwise than before."""
    previous_states: dict[int, object] = {}
    for change in history:
        for partition in change.partitions:
            now = of(partition)
            if previous_states.setdefault(partition["partition"], now) != now:
                previous_states[partition["partition"]] = now
                yield change.at_ns


def _server(partition: Json) -> object:
    return partition_layout(partition).server


def _keepers(partition: Json) -> object:
    """Which nodes keep it now: the replicas in sync, or where the last entry of its last segment lies."""
    layout = partition_layout(partition)
    if layout.segments is None:
        return sorted(layout.in_sync or ())
    return layout.segments[-1].spans[-1][1] if layout.segments and layout.segments[-1].spans else None


def unhappy(seconds: pd.DataFrame) -> pd.Series[bool]:
    """Tell in which seconds a send failed or its end stayed unknown, or nothing was acknowledged at all."""
    return (seconds["failed"] + seconds["unknown"] > 0) | (seconds["acked"] == 0)


def _unhappy(cell: multiples.PanelAxes, shown: pd.DataFrame) -> None:
    """Mark the seconds that were not well."""
    bad = shown[unhappy(shown)]
    if len(bad):
        floor = [0.04] * len(bad)
        cell.axes.scatter(
            bad["second"] + 0.5,
            floor,
            marker="x",
            s=10,
            linewidth=0.8,
            color=style.BAD,
            transform=cell.axes.get_xaxis_transform(),
            zorder=5,
        )
