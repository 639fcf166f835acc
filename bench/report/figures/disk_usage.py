"""How many bytes messages take on all disks together, over the time of a trial: a panel a system, a line a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bench.model import NANOS
from bench.report import case_groups, style, sweep
from bench.report.figures import line_names
from bench.report.figures.drawing import Drawing, draw
from bench.report.message_retention import bytes_text
from bench.report.presentation import Labels
from bench.report.results import Results
from bench.systems.registry import system_title

TITLE = "Bytes on disk over time"
METRIC = "stored_bytes"
_PANEL_IN, _TITLE_IN, _FOOT_IN, _TOP_IN, _LEFT_IN, _RIGHT_IN = 1.05, 0.26, 0.44, 0.04, 0.72, 1.9
_MOST_LINES, _LABEL_CHARACTERS = 5, 26


@dataclass(frozen=True, slots=True)
class CaseDiskUsage:
    """A case's median trial. `bytes_` are by seconds since its first send; `steps` are its steps, by name and time."""

    system: str
    label: str
    bytes_: pd.Series[float]
    steps: Sequence[tuple[str, float]]


def drawing(results: Results, parts: Sequence[sweep.Part], labels: Labels) -> Drawing | None:
    """Draw the figure with its words; None where nobody looked at disks."""
    drawn_courses = courses(results, parts, labels)
    if not drawn_courses:
        return None
    alt = " ".join(
        f"{system_title(course.system)}, {course.label}: {bytes_text(course.bytes_.max())} at most, "
        f"{bytes_text(course.bytes_.iloc[-1])} at the end."
        for course in drawn_courses
    )
    caption = (
        "What the files of all servers hold that keep messages, in the trial of median size. Dark "
        "vertical lines: steps of the scenario. Each copy of a message counts; so do journals and indexes."
    )
    drawn = draw(
        disk_usage(drawn_courses), name="stored", title=TITLE, alt=f"{TITLE}. {alt}", caption=caption
    )
    return replace(drawn, legend="All copies, journals and indexes count.")


def courses(results: Results, parts: Sequence[sweep.Part], labels: Labels) -> list[CaseDiskUsage]:
    """Return the courses of at most five cases a system."""
    shown_courses = []
    for part in parts:
        cases = [str(case) for case in part.cases[part.cases["rounds"] > 0]["case"]]
        system_courses = [course for case in cases if (course := _course(results, part, labels, case))]
        shown_courses += sweep.evenly(system_courses, _MOST_LINES)
    return shown_courses


def shown_trial(results: Results, case: str) -> int | None:
    """Return the valid trial of a case of median size, the lower one of two; None where nobody looked at disks."""
    trials = results.valid[results.valid["case"] == case]
    size = pd.to_numeric(trials.get("stored_most_bytes", pd.Series(dtype=float))).dropna().sort_values()
    return int(trials.loc[size.index[(len(size) - 1) // 2], "trial"]) if len(size) else None


def _course(results: Results, part: sweep.Part, labels: Labels, case: str) -> CaseDiskUsage | None:
    trial = shown_trial(results, case)
    table = results.telemetry
    samples = (
        table[(table["trial"] == trial) & (table["metric"] == METRIC)] if trial is not None else table[:0]
    )
    if samples.empty:
        return None
    sums = samples.groupby("at_ns")["value"].sum()
    sums.index = sums.index / NANOS
    return CaseDiskUsage(
        part.system,
        case_groups.name(labels, part, [case]) or part.title,
        sums,
        _steps(results, int(trial or 0)),
    )


def _steps(results: Results, trial: int) -> list[tuple[str, float]]:
    """Return when steps were due, in seconds since the first send."""
    record = results.trial_records[trial]
    begun_ns = min((span.begun_ns for span in record.spans), default=0)
    return [(step.name, (step.asked_ns - begun_ns) / NANOS) for step in record.faults]


def disk_usage(drawn_courses: Sequence[CaseDiskUsage]) -> Figure:
    """Draw a panel a system, one below the other along one axis of time."""
    systems = list(dict.fromkeys(course.system for course in drawn_courses))
    total = _TOP_IN + _FOOT_IN + len(systems) * (_PANEL_IN + _TITLE_IN)
    figure = Figure(figsize=(style.WIDTH_IN, total))
    width = style.WIDTH_IN - _LEFT_IN - _RIGHT_IN
    end_s = max(
        max(course.bytes_.index.max(), *(at_s for _, at_s in course.steps)) for course in drawn_courses
    )
    for number, system in enumerate(systems):
        bottom = total - _TOP_IN - (number + 1) * (_PANEL_IN + _TITLE_IN)
        axes = figure.add_axes(
            (_LEFT_IN / style.WIDTH_IN, bottom / total, width / style.WIDTH_IN, _PANEL_IN / total)
        )
        axes.set_xlim(0, end_s)
        _panel(
            axes,
            [course for course in drawn_courses if course.system == system],
            last=number == len(systems) - 1,
        )
    return figure


def _panel(axes: Axes, courses_: Sequence[CaseDiskUsage], *, last: bool) -> None:
    look = style.look(courses_[0].system)
    top = max(float(course.bytes_.max()) for course in courses_)
    axes.set_ylim(0, 1.25 * top or 1.0)
    shades = look.shades(len(courses_))
    for course, colour, line in zip(courses_, shades, style.LINES, strict=False):
        axes.plot(course.bytes_.index, course.bytes_, color=colour, linestyle=line, linewidth=1.4)
    _label_ends(axes, courses_, [style.readable(colour) for colour in shades])
    for _, at_s in courses_[0].steps:
        axes.axvline(at_s, color=style.INK, linewidth=0.8, zorder=1)
    line_names.write(axes, courses_[0].steps)
    axes.set_title(
        system_title(courses_[0].system), loc="left", color=look.base, fontweight="semibold", pad=3
    )
    axes.xaxis.set_major_locator(MaxNLocator(9, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(3))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: bytes_text(value)))
    axes.grid(visible=True, axis="y")
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel("seconds since the first send")


def _label_ends(axes: Axes, courses_: Sequence[CaseDiskUsage], colours: Sequence[str]) -> None:
    """Write each line's name at its end, no nearer to the next than a line of text."""
    bottom, top = axes.get_ylim()
    least = style.LINE_IN / _PANEL_IN * (top - bottom)
    order = sorted(range(len(courses_)), key=lambda number: float(courses_[number].bytes_.iloc[-1]))
    below = bottom - least
    for number in order:
        course = courses_[number]
        at = max(float(course.bytes_.iloc[-1]), below + least)
        below = at
        axes.annotate(
            style.shorten(course.label, _LABEL_CHARACTERS),
            (1, at),
            xycoords=axes.get_yaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=colours[number],
            annotation_clip=False,
        )
