"""What a fault did to acknowledgements, second by second: a panel a configuration, cropped to the event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bench import numbers
from bench.model import NANOS
from bench.report import case_groups, loss, outage, style, sweep
from bench.report import fault_words as words
from bench.report.figures import line_names
from bench.report.figures.drawing import Drawing, draw
from bench.report.loss import Loss
from bench.report.outage import Outage
from bench.report.presentation import Labels
from bench.report.results import Results

TITLE = "Acknowledgements a second around the fault"
_MOST_PANELS = 8
_PANEL_IN, _LEAST_IN, _TITLE_IN, _FOOT_IN = 0.62, 0.27, 0.22, 0.42
_TOP_IN, _LEFT_IN, _RIGHT_IN = 0.04, 0.62, 0.1
_MOST_FIGURE_IN = 3.0
"""So high it stands on a report's first page, beside the answer and its table; higher where panels need more."""
_APART_IN = 0.2
_BEFORE_S, _MARGIN = 3.0, 0.12
_PEAK = 2.5
"""The axis reaches to so many times the rate before the fault: what was held up and comes at once may go beyond it."""
_NUMBER_ROOM_IN = 0.4
_LABEL_ROOM_S = 0.12
"""A lost span that takes less than this share of the axis has its number at its right."""


@dataclass(frozen=True, slots=True)
class FaultTimeline:
    """A configuration's trials around the fault.

    `seconds` has trial, at_s (since the first fault) and acked; `shown` is the trial that is drawn strongly. `faults`
    are that trial's, in seconds since the first: name, at_s, repaired_s (NaN where it was not). `lost_s` is when that
    trial's first and last lost messages were sent, None where it lost none, and `lost` how many.
    """

    system: str
    name: str
    words: str
    seconds: pd.DataFrame
    shown: int
    faults: pd.DataFrame
    lost_s: tuple[float, float] | None
    lost: int
    end_s: float
    rate: float


def drawing(results: Results, parts: Sequence[sweep.Part], labels: Labels) -> Drawing | None:
    """Draw the figure with its words; None where no valid trial has a timeline."""
    drawn_courses = courses(results, parts, labels)
    if not drawn_courses:
        return None
    alt = f"{TITLE}. {' '.join(f'{course.name}: {course.words}.' for course in drawn_courses)}"
    trials = "thin lines: the other valid trials" if _several(drawn_courses) else ""
    lost = any(course.lost_s for course in drawn_courses)
    repaired = any(course.faults["repaired_s"].notna().any() for course in drawn_courses)
    parts_of_caption = (
        "Strong line: the median trial",
        trials,
        "light grey: seconds without an acknowledgement",
        "dark area: acknowledged messages that were lost" if lost else "",
        f"solid vertical line: the fault{'; dashed: repaired' if repaired else ''}",
        "peaks after an outage are sends that had waited, and may go beyond the axis",
    )
    drawn = draw(
        timeline(drawn_courses),
        name="timeline",
        title=TITLE,
        alt=alt,
        caption=f"{'; '.join(filter(None, parts_of_caption))}.",
    )
    legend = (
        "Strong line: the median trial. Grey: no acknowledgements."
        f"{' Dark: what was lost.' if lost else ''}{' Dashed: repaired.' if repaired else ''}"
    )
    return replace(drawn, legend=legend)


def _several(drawn_courses: Sequence[FaultTimeline]) -> bool:
    return any(len(set(course.seconds["trial"])) > 1 for course in drawn_courses)


def courses(results: Results, parts: Sequence[sweep.Part], labels: Labels) -> list[FaultTimeline]:
    """Return the courses of configurations, at most eight; those with the same outcome share one."""
    all_courses = []
    for part in parts:
        for cases in _groups(results, part):
            name = case_groups.name(labels, part, cases)
            trials = part.trials[part.trials["case"].isin(cases)]
            all_courses.append(
                _course(results, part, f"{part.title}, {name}" if name else part.title, trials)
            )
    return [
        course
        for course in sweep.evenly([course for course in all_courses if course], _MOST_PANELS)
        if course
    ]


def _groups(results: Results, part: sweep.Part) -> list[list[str]]:
    """Return the cases of a system, those together that had the same losses and outages."""
    cases = [str(case) for case in part.cases[part.cases["rounds"] > 0]["case"]]
    case_trials = {case: part.trials[part.trials["case"] == case] for case in cases}
    outages = {case: outage.writes(results, trials) for case, trials in case_trials.items()}
    losses = {case: loss.loss(results, trials) for case, trials in case_trials.items()}
    losing = {case: None if case_loss is None else case_loss.most > 0 for case, case_loss in losses.items()}
    return case_groups.group_items(
        cases,
        lambda first_case, second_case: (
            losing[first_case] == losing[second_case]
            and case_groups.same_outage(outages[first_case], outages[second_case])
        ),
    )


def _course(results: Results, part: sweep.Part, name: str, trials: pd.DataFrame) -> FaultTimeline | None:
    valid = trials[trials["verdict"] == "valid"]
    first = outage.first_faults(results)
    timed_trials = valid[valid["trial"].isin(results.timeline["trial"]) & valid["trial"].isin(first.index)]
    if timed_trials.empty:
        return None
    shown = representative(timed_trials)
    row = timed_trials[timed_trials["trial"] == shown].iloc[0]
    times = row.reindex(["lost_first_ns", "lost_last_ns"]).astype(float) / NANOS
    writes, losses = outage.writes(results, trials), loss.loss(results, trials)
    return FaultTimeline(
        system=part.system,
        name=name,
        words=", ".join(
            filter(
                None,
                (
                    _outage_words(writes),
                    _share_words(results, timed_trials),
                    _loss_words(losses, timed_trials),
                ),
            )
        ),
        seconds=_seconds(results, first.loc[timed_trials["trial"], "asked_ns"].astype(float) / NANOS),
        shown=shown,
        faults=_faults(results, shown),
        lost_s=None if times.isna().any() else (float(times.iloc[0]), float(times.iloc[1])),
        lost=0 if numbers.absent(row["lost"]) else int(row["lost"]),
        end_s=_end(results, timed_trials),
        rate=float(first.loc[timed_trials["trial"], "rate_before"].astype(float).median()),
    )


def representative(valid: pd.DataFrame) -> int:
    """Return the trial of the median loss, or where nothing was lost of the median outage: the lower one of two."""
    quiet = outage.undisturbed_trials(valid)
    lost = pd.to_numeric(quiet["lost"])
    key = "lost" if lost.fillna(0).any() else "unavailable_ns"
    order = quiet.assign(key=pd.to_numeric(quiet[key])).sort_values(["key", "trial"])["trial"]
    return int(order.iloc[(len(order) - 1) // 2])


def _seconds(results: Results, asked_s: pd.Series[float]) -> pd.DataFrame:
    """Return the seconds up to each trial's window's end, counted from its first fault."""
    table = results.timeline[results.timeline["trial"].isin(asked_s.index)]
    inside = table["second"].where(table["in_window"].astype(bool))
    last = inside.groupby(table["trial"]).transform("max").fillna(table["second"])
    table = table[table["second"] <= last].sort_values(["trial", "second"])
    at_s = table["second"] - table["trial"].map(asked_s)
    return pd.DataFrame({"trial": table["trial"], "at_s": at_s, "acked": table["acked"].astype(float)})


def _faults(results: Results, trial: int) -> pd.DataFrame:
    faults = results.faults[results.faults["trial"] == trial].sort_values("asked_ns")
    begin_ns = float(faults["asked_ns"].min())
    return pd.DataFrame(
        {
            "name": faults["fault"].astype(str),
            "at_s": (faults["asked_ns"].astype(float) - begin_ns) / NANOS,
            "repaired_s": (faults["healed_ns"].astype(float) - begin_ns) / NANOS,
        }
    )


def _end(results: Results, trials: pd.DataFrame) -> float:
    """Return when the event was over in the last of the trials, in seconds since the first fault."""
    faults = _faults_of(results, trials)
    begin_ns = faults.groupby("trial")["asked_ns"].transform("min").astype(float)
    asked_ns = faults["asked_ns"].astype(float) - begin_ns
    effect_ends_ns = [
        asked_ns + faults[name].astype(float)
        for name in ("ack_gap_ns", "live_gap_ns", "first_acked_ns", "share_ns")
    ]
    lost_ns = trials.reindex(columns=["lost_last_ns"])["lost_last_ns"].astype(float)
    end_ns = pd.concat([faults["healed_ns"].astype(float) - begin_ns, *effect_ends_ns, lost_ns]).max()
    return 0.0 if pd.isna(end_ns) else max(0.0, float(end_ns)) / NANOS


def _outage_words(writes: Outage | None) -> str:
    if writes is None:
        return ""
    time = words.times(writes.low_ns, writes.high_ns)
    return (
        f"no writes for {'at least ' if writes.endless else ''}{time}{' in all' if writes.strikes_ns else ''}"
    )


def _faults_of(results: Results, trials: pd.DataFrame) -> pd.DataFrame:
    """Return the faults of trials; results of older versions have no `share_ns`, which is null then."""
    faults = results.faults[results.faults["trial"].isin(trials["trial"])]
    return faults.reindex(columns=[*dict.fromkeys([*faults.columns, "share_ns"])])


def _share_words(results: Results, trials: pd.DataFrame) -> str:
    """Say after what time a node that was added took its part; empty where none was added, or one never did."""
    share_ns = _faults_of(results, trials)["share_ns"].dropna().astype(float)
    return "" if share_ns.empty else f"its part after {words.times(share_ns.min(), share_ns.max())}"


def _loss_words(losses: Loss | None, valid: pd.DataFrame) -> str:
    """Say what was lost; nothing is called so where a full read stopped early in some trials."""
    unread = pd.to_numeric(valid.reindex(columns=["unread"])["unread"]).fillna(0).any()
    if losses is None or (unread and not losses.most):
        return "loss unknown"
    return f"{words.counts(losses.counts)} lost in a trial" if losses.most else "nothing lost"


def timeline(drawn_courses: Sequence[FaultTimeline]) -> Figure:
    """Draw a panel a configuration, one below the other along one axis of time."""
    room = _MOST_FIGURE_IN - _FOOT_IN - _TOP_IN
    panel_in = max(_LEAST_IN, min(_PANEL_IN, room / len(drawn_courses) - _TITLE_IN))
    total = _TOP_IN + _FOOT_IN + len(drawn_courses) * (panel_in + _TITLE_IN)
    figure = Figure(figsize=(style.WIDTH_IN, total))
    width = style.WIDTH_IN - _LEFT_IN - _RIGHT_IN
    left, right = span(drawn_courses)
    top = _PEAK * max((course.rate for course in drawn_courses if course.rate > 0), default=1.0)
    highest = max(float(course.seconds["acked"].max()) for course in drawn_courses)
    for number, course in enumerate(drawn_courses):
        bottom = total - _TOP_IN - (number + 1) * (panel_in + _TITLE_IN)
        place = (_LEFT_IN, bottom, width, panel_in)
        axes = figure.add_axes(
            (place[0] / style.WIDTH_IN, place[1] / total, place[2] / style.WIDTH_IN, place[3] / total)
        )
        axes.set_xlim(left, right)
        axes.set_ylim(0, min(top, 1.08 * highest) or 1.0)
        _panel(axes, course, last=number == len(drawn_courses) - 1)
    return figure


def span(drawn_courses: Sequence[FaultTimeline]) -> tuple[float, float]:
    """Return from when to when the axis goes: around the event, with some air."""
    end = max(course.end_s for course in drawn_courses)
    first_lost = min((course.lost_s[0] for course in drawn_courses if course.lost_s), default=0.0)
    air = max(_BEFORE_S, _MARGIN * end)
    begin = min(-air, first_lost - 1)
    at_s = pd.concat([course.seconds["at_s"] for course in drawn_courses])
    return max(begin, float(at_s.min())), min(end + air, float(at_s.max()) + 1)


def _panel(axes: Axes, course: FaultTimeline, *, last: bool) -> None:
    look = style.look(course.system)
    _background(axes, course)
    for trial, trial_seconds in course.seconds.groupby("trial"):
        strong = trial == course.shown
        at_s, acked = _steps(trial_seconds)
        axes.step(
            at_s,
            acked,
            where="post",
            color=look.base,
            linewidth=1.3 if strong else 0.5,
            alpha=1.0 if strong else 0.35,
            zorder=4 if strong else 3,
        )
    axes.set_title(_title(course), loc="left", color=look.base, fontweight="semibold", pad=3)
    axes.set_title(course.words, loc="right", color=style.SOFT, pad=3)
    axes.xaxis.set_major_locator(MaxNLocator(9, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(2))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.count(value)))
    axes.grid(visible=True, axis="y")
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel(
            "seconds since the first fault" if len(course.faults) > 1 else "seconds since the fault"
        )


def _title(course: FaultTimeline) -> str:
    """Return the name of a panel, cut off where the words at the right of its line begin."""
    words_in = len(course.words) * style.CHARACTER_IN + _APART_IN
    most = int((style.WIDTH_IN - _LEFT_IN - _RIGHT_IN - words_in) / style.STRONG_IN)
    return numbers.cut(course.name, most)


def _steps(trial_seconds: pd.DataFrame) -> tuple[list[float], list[float]]:
    """Return when each second begins and its level, and the last level's end: a second is as wide as it lasts."""
    at_s, acked = list(trial_seconds["at_s"]), list(trial_seconds["acked"])
    return [*at_s, at_s[-1] + 1], [*acked, acked[-1]]


def _background(axes: Axes, course: FaultTimeline) -> None:
    """Shade silent seconds and lost sends, and mark faults and repairs."""
    trial_seconds = course.seconds[course.seconds["trial"] == course.shown]
    for begin in trial_seconds.loc[(trial_seconds["acked"] == 0) & (trial_seconds["at_s"] > -1), "at_s"]:
        axes.axvspan(begin, begin + 1, color=style.SHADE, zorder=0, linewidth=0)
    if course.lost_s is not None:
        _draw_losses(axes, course, trial_seconds)
    named: dict[str, float] = {}
    for _, fault in course.faults.iterrows():
        axes.axvline(fault["at_s"], color=style.INK, linewidth=0.9, zorder=5)
        if pd.notna(fault["repaired_s"]):
            axes.axvline(fault["repaired_s"], color=style.INK, linewidth=0.7, linestyle=(0, (3, 2)), zorder=5)
        named.setdefault(str(fault["name"]).partition(",")[0], float(fault["at_s"]))
    line_names.write(axes, list(named.items()))


def _draw_losses(axes: Axes, course: FaultTimeline, trial_seconds: pd.DataFrame) -> None:
    """Fill the area below the line over the time in which lost messages were sent.

    How many they are stands in the area where it does not meet the faults' names; the panel's title has it, too.
    """
    if course.lost_s is None:
        return
    first, last = course.lost_s
    at_s, acked = _steps(trial_seconds)
    levels = pd.Series(acked, index=at_s)
    inside = levels[(levels.index > first) & (levels.index < last)]
    earlier_levels = levels[levels.index <= first]
    begin = (
        float(earlier_levels.iloc[-1])
        if len(earlier_levels)
        else float(inside.iloc[0])
        if len(inside)
        else 0.0
    )
    times = [first, *inside.index, last]
    heights = [begin, *inside, float(inside.iloc[-1]) if len(inside) else begin]
    axes.fill_between(times, heights, step="post", color=style.INK, alpha=0.3, linewidth=0, zorder=2)
    if axes.bbox.height < _NUMBER_ROOM_IN * axes.figure.dpi:
        return
    left, right = axes.get_xlim()
    wide = last - first >= _LABEL_ROOM_S * (right - left)
    axes.annotate(
        f"{numbers.count(course.lost)} lost",
        ((first + last) / 2 if wide else last, 0),
        xycoords=axes.get_xaxis_transform(),
        xytext=(0 if wide else 3, 3),
        textcoords="offset points",
        ha="center" if wide else "left",
        va="bottom",
        color=style.INK,
        fontweight="semibold",
        bbox=line_names.PLATE,
        zorder=6,
    )
