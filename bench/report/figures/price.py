"""What a send takes by what an fsync takes: a panel a guarantee, with the configurations that give it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import numbers
from bench.model import EMULATED_FSYNC
from bench.report import style, sweep
from bench.report.crossing import Crossing, crossing
from bench.report.figures.disks import TYPICAL
from bench.report.figures.multiples import height_in, width_in
from bench.report.figures.scale import ACROSS_IN, DOWN_IN, Scale, fit_scale
from bench.report.presentation import Labels
from bench.report.results import Results
from bench.systems.registry import system_title

_MS = 1e-6
_SEND, _RATE = "service_mean_ns", "throughput_msgs_per_s"
_LEFT_IN, _TOP_IN, _STRIP_IN, _TITLE_IN, _FOOT_IN, _AIR_IN = 0.62, 0.22, 0.18, 0.24, 0.44, 0.12
_STRIPS = 2
"""Rows of typical disks above the panels."""
_LEAST_IN, _MOST_IN, _GAP_IN = 0.38, 1.15, 0.04
_LABEL_CHARACTERS = 27
_MOST_FIGURE_IN = 3.2
"""So high it stands on a report's first page, beside the answer and its table; higher where names need more."""
_NOTHING = "Survives nothing that breaks: nothing is promised"


@dataclass(frozen=True, slots=True)
class PriceMetric:
    """What is drawn over what an fsync takes: a column of trials, times `factor`, under a label of its axis."""

    column: str
    label: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class PriceLine:
    """A configuration: all its cases, which differ in the disk only.

    `trials` has the columns round, point (the case), x (ms an fsync) and y. `settings` are the swept ones but the disk.
    """

    system: str
    label: str
    settings: Mapping[str, str]
    trials: pd.DataFrame

    @property
    def medians(self) -> pd.DataFrame:
        """The medians of x and y of each case, by rising x."""
        return self.trials.groupby("point")[["x", "y"]].median().sort_values("x")

    @property
    def name(self) -> list[str]:
        """System and label, in lines."""
        system = system_title(self.system)
        words = system if self.label == system else f"{system}: {self.label}"
        return textwrap.wrap(words, _LABEL_CHARACTERS)


@dataclass(frozen=True, slots=True)
class PricePanel:
    """A guarantee, and the configurations that give it.

    `crossings` are where a line of one system crosses that of another with the same settings.
    """

    title: str
    lines: Sequence[PriceLine]
    crossings: Sequence[tuple[PriceLine, PriceLine, Crossing]]


def metric(results: Results) -> PriceMetric:
    """What a send costs: ms a send where one send is open at a time, else messages/s."""
    has_send_times = _SEND in results.trials and results.valid[_SEND].notna().any()
    if has_send_times and one_send_open(results):
        return PriceMetric(_SEND, "ms a send", _MS)
    return PriceMetric(_RATE, "acknowledged messages/s")


def one_send_open(results: Results) -> bool:
    """Whether every trial had one producer with one send open, so that a rate is a time in other words."""
    return all(trial.load.one_send_open for trial in results.trial_records.values())


def panels(
    results: Results, parts: Sequence[sweep.Part], labels: Labels, shown: PriceMetric
) -> list[PricePanel]:
    """Return a panel a guarantee, the weakest first; none where all trials had one and the same disk."""
    if EMULATED_FSYNC not in results.trials or len(results.trials[EMULATED_FSYNC].unique()) == 1:
        return []
    trial_points = points(results, shown)
    panels_by_title: dict[str, tuple[tuple[bool, int, str], list[PriceLine]]] = {}
    for part in parts:
        for line, first in _lines(part, labels, trial_points):
            rank, title = _promise(results, first)
            panels_by_title.setdefault(title, (rank, []))[1].append(line)
    ordered = sorted(panels_by_title.items(), key=lambda panel: panel[1][0])
    return [PricePanel(title, lines, list(_crossings(lines))) for title, (_, lines) in ordered]


def _crossings(lines: Sequence[PriceLine]) -> Iterator[tuple[PriceLine, PriceLine, Crossing]]:
    for first_line, second_line in product(lines, lines):
        if first_line.system < second_line.system and first_line.settings == second_line.settings:
            place = crossing(first_line.trials, second_line.trials)
            if place is not None:
                yield first_line, second_line, place


def points(results: Results, shown: PriceMetric) -> pd.DataFrame:
    """Return what was measured of each valid trial: round, point (its case), x (ms an fsync) and y."""
    table = results.valid
    measured_trials = table[table["fsync_ns"].notna() & table[shown.column].notna()]
    x = pd.to_numeric(measured_trials["fsync_ns"]).astype(float) * _MS
    y = pd.to_numeric(measured_trials[shown.column]).astype(float) * shown.factor
    trial_points = measured_trials.assign(x=x, y=y, point=measured_trials["case"])[
        ["round", "point", "x", "y"]
    ]
    return trial_points[(trial_points["x"] > 0) & (trial_points["y"] > 0)]


def _lines(part: sweep.Part, labels: Labels, trial_points: pd.DataFrame) -> Iterator[tuple[PriceLine, str]]:
    """Give the configurations of a system, each with the name of its first case."""
    setting_names = [name for name in part.settings if name != EMULATED_FSYNC]
    groups: dict[tuple[str, ...], list[str]] = {}
    for _, case in part.cases.iterrows():
        key = tuple(numbers.text(case[name]) for name in setting_names)
        groups.setdefault(key, []).append(str(case["case"]))
    settings = [dict(zip(setting_names, key, strict=True)) for key in groups]
    varying = [name for name in setting_names if len({setting[name] for setting in settings}) > 1]
    named = labels.distinct(part.system, [{name: setting[name] for name in varying} for setting in settings])
    for label, line_settings, cases in zip(named, settings, groups.values(), strict=True):
        trials = trial_points[trial_points["point"].isin(cases)]
        if len(trials):
            yield PriceLine(part.system, label, line_settings, trials), cases[0]


def _promise(results: Results, case: str) -> tuple[tuple[bool, int, str], str]:
    """Return what a case's acknowledgement promises: a rank, the weakest first, and in words."""
    records = results.trial_records.values()
    stated = next(trial.case.guarantee for trial in records if trial.case.name == case)
    if stated is None or stated.nodes is None:
        return (False, -1, ""), _NOTHING
    return (stated.power, stated.nodes, stated.condition), f"Survives {stated.in_nodes}"


def price(drawn_panels: Sequence[PricePanel], shown: PriceMetric) -> Figure | None:
    """Draw the panels, one below the other over one axis; None without any.

    A dot is a trial, a line joins the medians of a configuration's cases. Above the panels stand typical disks, whose
    ranges are shaded in all of them.
    """
    line_trials = [line.trials for panel in drawn_panels for line in panel.lines]
    y = fit_scale(value for trials in line_trials for value in trials["y"])
    if y is None:
        return None
    x = Scale(
        min(TYPICAL[0].low_ms, *(trials["x"].min() for trials in line_trials)) * 0.8,
        max(TYPICAL[-1].high_ms, *(trials["x"].max() for trials in line_trials)) * 1.1,
        log=True,
    )
    names = [line.name for panel in drawn_panels for line in panel.lines]
    right = max(len(words) for name in names for words in name) * style.STRONG_IN + _AIR_IN
    heights = _heights(drawn_panels)
    top = _TOP_IN + _STRIP_IN * _STRIPS
    total = top + sum(heights) + _TITLE_IN * len(drawn_panels) + _FOOT_IN
    figure = Figure(figsize=(style.WIDTH_IN, total))
    width = style.WIDTH_IN - _LEFT_IN - right
    strip = _axes(figure, (_LEFT_IN, total - top, width, top - _TOP_IN), x)
    _disks(strip)
    at = total - top
    for panel, height in zip(drawn_panels, heights, strict=True):
        at -= _TITLE_IN + height
        axes = _axes(figure, (_LEFT_IN, at, width, height), x)
        last = panel is drawn_panels[-1]
        _panel(axes, panel, y)
        axes.tick_params(labelbottom=last)
        axes.set_xlabel("ms an fsync, log scale; emulated above the disk's own" if last else "", labelpad=2)
    figure.text(
        0,
        1 - 0.09 / total,
        f"{y.label(shown.label)}; grey: an fsync on typical disks",
        color=style.SOFT,
        va="center",
    )
    return figure


def _heights(drawn_panels: Sequence[PricePanel]) -> list[float]:
    """Return how high each panel is, in inches: as high as its names need, and higher where there is room."""
    least = [
        max(_LEAST_IN, sum(len(line.name) * style.LINE_IN + _GAP_IN for line in panel.lines))
        for panel in drawn_panels
    ]
    beside = _TOP_IN + _STRIP_IN * _STRIPS + _TITLE_IN * len(drawn_panels) + _FOOT_IN
    spare = (_MOST_FIGURE_IN - beside - sum(least)) / len(drawn_panels)
    return [max(height, min(_MOST_IN, height + spare)) for height in least]


def _axes(figure: Figure, box: tuple[float, float, float, float], x: Scale) -> Axes:
    across, down = figure.get_size_inches()
    left, bottom, width, height = box
    axes = figure.add_axes((left / across, bottom / down, width / across, height / down))
    axes.set_xscale("log")
    axes.set_xlim(x.low, x.high)
    x.apply(axes.xaxis, width / ACROSS_IN)
    return axes


def _disks(strip: Axes) -> None:
    """Draw the range of each typical disk as a bar with its name."""
    strip.set_ylim(_STRIPS - 0.5, -0.5)
    strip.set_axis_off()
    for disk in TYPICAL:
        strip.barh(
            disk.row, disk.high_ms - disk.low_ms, 0.72, left=disk.low_ms, color=style.DISK, linewidth=0
        )
        strip.annotate(
            disk.name,
            (disk.high_ms if disk.named_right else disk.low_ms, disk.row),
            xytext=(4 if disk.named_right else -4, 0),
            textcoords="offset points",
            va="center",
            ha="left" if disk.named_right else "right",
            color=style.SOFT,
            annotation_clip=False,
        )


def _panel(axes: Axes, panel: PricePanel, y: Scale) -> None:
    if y.log:
        axes.set_yscale("log")
    axes.set_ylim(y.low, y.high)
    y.apply(axes.yaxis, height_in(axes) / DOWN_IN)
    axes.grid(visible=True, axis="both")
    axes.set_title(panel.title, loc="left", color=style.INK, pad=4)
    for disk in TYPICAL:
        axes.axvspan(disk.low_ms, disk.high_ms, color=style.DISK, alpha=0.3, linewidth=0, zorder=0)
    ends: dict[int, float] = {}
    colours = _colours(panel)
    for number, line in enumerate(panel.lines):
        _draw(axes, line, colours[number], _dash(panel, line))
        ends[number] = float(line.medians["y"].iloc[-1])
    for _, _, place in panel.crossings:
        _mark(axes, place)
    _name(axes, panel, ends, colours)


def _colours(panel: PricePanel) -> list[str]:
    """Return a shade of its system for each line."""
    colours: list[str] = []
    for line in panel.lines:
        system_lines = [other_line for other_line in panel.lines if other_line.system == line.system]
        shades = style.look(line.system).shades(len(system_lines))
        colours.append(
            shades[next(place for place, other_line in enumerate(system_lines) if other_line is line)]
        )
    return colours


def _dash(panel: PricePanel, line: PriceLine) -> object:
    system_lines = [other_line for other_line in panel.lines if other_line.system == line.system]
    place = next(number for number, other_line in enumerate(system_lines) if other_line is line)
    return style.LINES[place % len(style.LINES)]


def _draw(axes: Axes, line: PriceLine, colour: str, dash: object) -> None:
    middle, marker = line.medians, style.look(line.system).marker
    axes.scatter(line.trials["x"], line.trials["y"], s=6, color=colour, alpha=0.45, linewidth=0)
    axes.plot(
        middle["x"], middle["y"], color=colour, linestyle=dash, linewidth=1.4, marker=marker, markersize=3.5
    )


def _mark(axes: Axes, place: Crossing) -> None:
    """Mark where two lines cross, with its interval."""
    if place.low is not None and place.high is not None:
        axes.axvspan(place.low, place.high, color=style.INK, alpha=0.18, linewidth=0, zorder=1)
        words = f"cross at {place.at:.2g} ms ({place.low:.2g} to {place.high:.2g})"
    else:
        words = f"cross at {place.at:.2g} ms"
    axes.axvline(place.at, color=style.INK, linewidth=0.9, zorder=2)
    axes.plot(
        [place.at], [place.y], marker="o", markersize=6, markerfacecolor="none", color=style.INK, zorder=4
    )
    left = place.low or place.at
    share = float((axes.transScale + axes.transLimits).transform((left, place.y))[0])
    # at its left, unless the words would leave the panel there
    fits = share * width_in(axes) > len(words) * style.STRONG_IN
    axes.annotate(
        words,
        (left if fits else place.high or place.at, 0.97),
        xycoords=axes.get_xaxis_transform(),
        xytext=(-4 if fits else 4, 0),
        textcoords="offset points",
        ha="right" if fits else "left",
        va="top",
        color=style.INK,
        fontweight="semibold",
    )


def _name(axes: Axes, panel: PricePanel, ends: Mapping[int, float], colours: Sequence[str]) -> None:
    """Write each line's name at the right of its end, pushed apart where they would touch."""
    place = axes.transScale + axes.transLimits
    right = axes.get_xlim()[1]
    panel_in = height_in(axes)
    heights = {
        number: (len(panel.lines[number].name) * style.LINE_IN + _GAP_IN) / panel_in for number in ends
    }
    positions = {number: float(place.transform((right, y))[1]) for number, y in ends.items()}
    for number, at in _apart(positions, heights).items():
        line, colour = panel.lines[number], colours[number]
        end = line.medians.iloc[-1]
        axes.plot([end["x"], right], [end["y"], end["y"]], color=colour, linewidth=0.6, linestyle=(0, (1, 2)))
        axes.annotate(
            "\n".join(line.name),
            (1, at),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            linespacing=1.1,
            color=style.readable(colour),
            fontweight="semibold",
            annotation_clip=False,
        )


def _apart(positions: Mapping[int, float], heights: Mapping[int, float]) -> dict[int, float]:
    """Return the middles of names of these heights, as near as they can be to where they are wanted, within 0 to 1."""
    order = sorted(positions, key=positions.__getitem__)
    bottoms: dict[int, float] = {}
    floor = 0.0
    for number in order:
        bottoms[number] = max(positions[number] - heights[number] / 2, floor)
        floor = bottoms[number] + heights[number]
    ceiling = 1.0
    for number in reversed(order):
        bottoms[number] = min(bottoms[number], ceiling - heights[number])
        ceiling = bottoms[number]
    return {number: bottoms[number] + heights[number] / 2 for number in order}


def in_words(drawn_panels: Sequence[PricePanel], shown: PriceMetric) -> str:
    """Say what the figure shows: each line's first and last median, and where lines cross."""
    sentences = []
    for panel in drawn_panels:
        ends = "; ".join(_ends(line, shown) for line in panel.lines)
        sentences.append(f"{panel.title}: {ends}.")
        sentences += [
            f"{system_title(first_line.system)} and {system_title(second_line.system)} "
            f"cross at {place.at:.2g} ms an fsync."
            for first_line, second_line, place in panel.crossings
        ]
    return " ".join(sentences)


def _ends(line: PriceLine, shown: PriceMetric) -> str:
    middle = line.medians
    first, last = (numbers.rate(float(middle["y"].iloc[place])) for place in (0, -1))
    return f"{' '.join(line.name)}: from {first} to {last} {shown.label}"
