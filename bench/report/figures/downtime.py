"""Time without acknowledgements, added up over all faults of a trial: for scenarios that repeat their fault."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bench import numbers
from bench.model import HEALING, NANOS, RESTART
from bench.report import fault_words, style, sweep
from bench.report.results import Results

_LEAST_FAULTS = 5
_LEFT_IN, _RIGHT_IN, _HEIGHT_IN, _TOP_IN, _FOOT_IN = 0.62, 1.75, 2.1, 0.28, 0.46
_LABEL_CHARACTERS = 22
_MINUTE_S = 60.0
_OF_THE_SCRIPT = (HEALING, RESTART)
"""What ends a gap that is as long as the scenario made it."""


@dataclass(frozen=True, slots=True)
class OutagePeriod:
    """A time without acknowledgements: when it began and how long it was, in s; whether the script set its end."""

    start_s: float
    length_s: float
    scripted: bool


@dataclass(frozen=True, slots=True)
class TrialDowntime:
    """A trial's outages, in their order. `faults` is how many faults struck, `end_s` when its load ended."""

    system: str
    case: str
    label: str
    outages: Sequence[OutagePeriod]
    faults: int
    end_s: float

    @property
    def total_s(self) -> float:
        """How long the outages were together."""
        return sum(outage.length_s for outage in self.outages)

    @property
    def longest_s(self) -> float:
        """How long the longest was."""
        return max((outage.length_s for outage in self.outages), default=0.0)

    @property
    def words(self) -> str:
        """Say it: "Kafka: 72 s after 11 faults, the longest 7.6 s"."""
        return (
            f"{self.label}: {fault_words.time(self.total_s * NANOS)} after {numbers.plural(self.faults, 'fault')}, "
            f"the longest {fault_words.time(self.longest_s * NANOS)}"
        )


def courses(results: Results, parts: Sequence[sweep.Part]) -> list[TrialDowntime]:
    """Return the trial of median downtime of each case whose trials had five faults or more."""
    median_courses: list[TrialDowntime] = []
    for part in parts:
        for _, case in part.cases.iterrows():
            label = part.label(case)
            words = part.title if label == part.title else f"{part.title}, {label}"
            trials = results.valid.loc[results.valid["case"] == case["case"], "trial"]
            case_courses = [
                course
                for trial in trials
                if (course := _course(results, part.system, str(case["case"]), words, int(trial)))
            ]
            if case_courses:
                median_courses.append(
                    sorted(case_courses, key=lambda course: course.total_s)[(len(case_courses) - 1) // 2]
                )
    return median_courses


def _course(results: Results, system: str, case: str, label: str, trial: int) -> TrialDowntime | None:
    faults = results.faults[results.faults["trial"] == trial].sort_values("asked_ns")
    if len(faults) < _LEAST_FAULTS:
        return None
    outages = [
        OutagePeriod(
            float(fault["asked_ns"]) / NANOS,
            float(fault["ack_gap_ns"]) / NANOS,
            fault["ack_gap_ended"] in _OF_THE_SCRIPT,
        )
        for _, fault in faults.iterrows()
        if pd.notna(fault["ack_gap_ns"])
    ]
    seconds = results.timeline.loc[results.timeline["trial"] == trial, "second"]
    end_s = float(seconds.max()) + 1 if len(seconds) else float(faults["asked_ns"].max()) / NANOS
    return TrialDowntime(system, case, label, outages, len(faults), end_s)


def downtime(drawn_courses: Sequence[TrialDowntime]) -> Figure | None:
    """Draw a line a case that rises while nothing was acknowledged; None without any."""
    if not drawn_courses:
        return None
    total = _TOP_IN + _HEIGHT_IN + _FOOT_IN
    figure = Figure(figsize=(style.WIDTH_IN, total))
    width = style.WIDTH_IN - _LEFT_IN - _RIGHT_IN
    axes = figure.add_axes(
        (_LEFT_IN / style.WIDTH_IN, _FOOT_IN / total, width / style.WIDTH_IN, _HEIGHT_IN / total)
    )
    axes.set_xlim(0, max(course.end_s for course in drawn_courses) / _MINUTE_S)
    axes.set_ylim(0, max(course.total_s for course in drawn_courses) * 1.08 or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(8))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.grid(visible=True, axis="both")
    axes.set_xlabel("minutes since the first send", labelpad=2)
    axes.set_title("seconds without acknowledgements, added up", loc="left", color=style.SOFT, pad=5)
    colours = list(_colours(drawn_courses))
    for course, colour in zip(drawn_courses, colours, strict=True):
        _line(axes, course, colour)
    _names(axes, drawn_courses, colours)
    return figure


def _colours(drawn_courses: Sequence[TrialDowntime]) -> Iterator[str]:
    """Give a shade of its system for each line."""
    by_system: Mapping[str, list[TrialDowntime]] = {
        course.system: [
            other_course for other_course in drawn_courses if other_course.system == course.system
        ]
        for course in drawn_courses
    }
    for course in drawn_courses:
        system_courses = by_system[course.system]
        yield style.look(course.system).shades(len(system_courses))[system_courses.index(course)]


def _line(axes: Axes, course: TrialDowntime, colour: str) -> None:
    """Draw the sum over time: flat while acknowledgements came, dotted where the script set how long none did."""
    at_s, level = 0.0, 0.0
    for outage in course.outages:
        end_s = outage.start_s + outage.length_s
        axes.plot(np.array([at_s, outage.start_s]) / _MINUTE_S, [level, level], color=colour, linewidth=1.6)
        axes.plot(
            np.array([outage.start_s, end_s]) / _MINUTE_S,
            [level, level + outage.length_s],
            color=colour,
            linewidth=1.6,
            linestyle=(0, (1.2, 1.2)) if outage.scripted else "-",
        )
        at_s, level = end_s, level + outage.length_s
    axes.plot(np.array([at_s, course.end_s]) / _MINUTE_S, [level, level], color=colour, linewidth=1.6)
    marks = np.cumsum([0.0, *(outage.length_s for outage in course.outages)])[:-1]
    starts = np.array([outage.start_s for outage in course.outages]) / _MINUTE_S
    axes.scatter(
        starts, marks, s=14, marker=style.look(course.system).marker, color=colour, linewidth=0, zorder=4
    )


def _names(axes: Axes, drawn_courses: Sequence[TrialDowntime], colours: Sequence[str]) -> None:
    """Write at the right of each line what it comes to."""
    top = axes.get_ylim()[1]
    floor = 0.0
    for course, colour in sorted(zip(drawn_courses, colours, strict=True), key=lambda pair: pair[0].total_s):
        lines = textwrap.wrap(course.words, _LABEL_CHARACTERS)
        height = len(lines) * style.LINE_IN / _HEIGHT_IN
        bottom = min(max(course.total_s / top - height / 2, floor), 1.04 - height)
        floor = bottom + height + 0.03
        axes.annotate(
            "\n".join(lines),
            (1, bottom),
            xycoords="axes fraction",
            xytext=(6, 0),
            textcoords="offset points",
            va="bottom",
            linespacing=1.1,
            color=style.readable(colour),
            fontweight="semibold",
            annotation_clip=False,
        )
