"""Throughput and latency of every case."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from bench import numbers
from bench.columns import ENDS
from bench.model import BUSY
from bench.report import sweep
from bench.report.results import Results, trial_page
from bench.report.sections import effects, method, precision, resources, sends_without_latency
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Table, case_table

INTERVAL = "95 % interval"

_POINTS = {
    "service": (("p50", "p50"), ("p99", "p99"), ("p99_9", "p99.9"), ("max", "max")),
    "response": (("p50", "p50"), ("p99", "p99"), ("p99_9", "p99.9")),
    "queue": (("p99", "p99"),),
    "e2e": (("p50", "p50"), ("p99", "p99")),
}
_HEADS = {
    "service": "service time, ms",
    "response": "response time, ms",
    "queue": "queue, ms",
    "e2e": "end to end, ms",
}
CLOCK_ERROR = " ± "
"""Comes before the error of times between machines, in the head of their columns."""
_LONGEST = sys.float_info.max
_RATE, _TAIL, _SEND = "throughput_msgs_per_s", "service_p99_ns", "service_mean_ns"
_THROUGHPUT = "throughput, messages/s"
MEAN_SERVICE = "mean service time, ms"


@dataclass(frozen=True, slots=True)
class Throughput:
    """What the section shows.

    `middle` names the figure of a case (mean or median), `interval` what stands behind ranges and intervals, and
    `limit` what limited the cases. `baselines` is empty and `has_ratios` false where cases have no baseline.
    `has_strikes`: faults struck in the window. `unanswered`: some sends were refused, never answered or never made.
    `trial_pages_command` writes the trials' pages, None where they are there or cannot be written.
    """

    tables: Sequence[Table]
    has_slices: bool
    middle: str
    interval: str
    limit: str
    baselines: str
    has_ratios: bool
    has_strikes: bool
    unanswered: bool
    trial_pages_command: str | None


def table(results: Results, part: sweep.Part) -> Table:
    """Every case's throughput and latency: the middle of its valid trials, and the ratio to the baseline case."""
    times = _times(results)
    unanswered, effect, sync = (
        sends_without_latency.some(results),
        effects.lead(results, part),
        _one_send_open(results),
    )
    columns = [
        Column("valid / all", "number", "trials"),
        Column(results.middle, "number", _THROUGHPUT),
        Column(_ends(results, _RATE), "number", _THROUGHPUT),
        *([_effect_column(effect)] if effect else []),
        Column("limited by", "name", _THROUGHPUT),
        *([Column(MEAN_SERVICE)] if sync else []),
        *([Column("not acked", "number", "sends")] if unanswered else []),
        *(column for name in times for column in _time_columns(results, name, times[name])),
        Column("CPU", "number", "client"),
    ]
    shares = _client_shares(part)
    if results.pages:
        columns.append(Column("number", "links", "trials"))
    cells = []
    for _, case in part.cases.iterrows():
        limit = resources.limited_by(case, resources.evidence(results, case["case"]))
        rate = Cell(numbers.rate(case[_RATE]), "strong")
        row = [_trials(case), rate, _spread(results, case, _RATE, numbers.rate)]
        row += [effects.cell(results, part, case["case"], effect)] if effect else []
        row += [limit, *([Cell(numbers.ms(case[_SEND]), "strong")] if sync else [])]
        if unanswered:
            row.append(_not_acked(case))
        row += [cell for name in times for cell in _time_cells(results, case, name)]
        row.append(_share(shares.get(case["case"])))
        if results.pages:
            row.append(_pages(results, case))
        cells.append(row)
    return case_table(part, columns, cells)


def _effect_column(effect: effects.Metric) -> Column:
    """The head of the ratio to the baseline, with what it compares where that is not the throughput beside it."""
    effect_words = "" if effect.name == _RATE else f"{effect.words}, "
    return Column(f"{effect_words}{effects.AGAINST}", "number", _THROUGHPUT)


def _one_send_open(results: Results) -> bool:
    """Whether every trial had one producer with one send open, so that throughput is latency in other words."""
    return _SEND in results.cases.columns and method.pacing(results) == method.ONE_SEND_OPEN


def _not_acked(case: pd.Series[Any]) -> Cell:
    share = sends_without_latency.share(case)
    return Cell(numbers.share(share), "warn" if share else "quiet")


def _pages(results: Results, case: pd.Series[Any]) -> Cell:
    """A link to the page of each of a case's trials, by round."""
    trials = results.trials[results.trials["case"] == case["case"]].sort_values("trial")["trial"]
    return Cell("", links=tuple((str(trial), trial_page(trial)) for trial in trials))


def _times(results: Results) -> dict[str, Column]:
    """The latency columns that this run has, by their name in the cases table."""
    columns = {}
    for measure, points in _POINTS.items():
        for point, head in points:
            name = f"{measure}_{point}_ns"
            if name in results.cases.columns and results.cases[name].notna().any():
                columns[name] = Column(head, "number", _HEADS[measure] + _clock_error(results, measure))
    return columns


def _clock_error(results: Results, measure: str) -> str:
    """Say beside end-to-end times by how much the machines' clocks may make them wrong."""
    if measure != "e2e" or not results.clock_error_ns:
        return ""
    return f"{CLOCK_ERROR}{numbers.ms(results.clock_error_ns)}"


def _time_columns(results: Results, name: str, column: Column) -> tuple[Column, ...]:
    """A time's column, and beside the one that stands for the tail how far it carries."""
    return (column, replace(column, head=_ends(results, name))) if _has_spread(results, name) else (column,)


def _time_cells(results: Results, case: pd.Series[Any], name: str) -> tuple[Cell, ...]:
    time = _time(case, name)
    return (time, _spread(results, case, name, numbers.ms)) if _has_spread(results, name) else (time,)


def _has_spread(results: Results, name: str) -> bool:
    """Whether a time's interval has a column; where there are ratios to the baseline, theirs says more."""
    return name == _TAIL and results.ratios.empty


def _trials(case: pd.Series[Any]) -> Cell:
    valid, total = int(case["rounds"]), int(case["trials"])
    tone = "bad" if valid == 0 else "warn" if valid < total else "plain"
    return Cell(f"{valid} / {total}", tone, sort=valid)


def _ends(results: Results, name: str) -> str:
    """What stands beside a figure: an interval where any case has one, else the range."""
    return INTERVAL if results.cases[f"{name}_ci_low"].notna().any() else "range"


def _spread(results: Results, case: pd.Series[Any], name: str, shown: Callable[[float], str]) -> Cell:
    """How far a figure carries: its interval, else the lowest and the highest trial, which are no interval.

    Sorts by the low end.
    """
    low, high, ci_low, ci_high = (case[f"{name}_{end}"] for end in ENDS)
    if numbers.absent(low):
        return Cell(numbers.NOTHING)
    interval, trials = (
        f"{shown(lower)} {numbers.NOTHING} {shown(upper)}"
        for lower, upper in ((ci_low, ci_high), (low, high))
    )
    if not numbers.absent(ci_low):
        return Cell(interval, note=f"trials: {trials}", sort=float(ci_low))
    single_trial = case["rounds"] == 1
    if _ends(results, name) == INTERVAL:
        return Cell("no interval" if single_trial else f"{trials}\n(no interval)", sort=float(low))
    return Cell(numbers.NOTHING if single_trial else trials, sort=float(low))


def _time(case: pd.Series[Any], name: str) -> Cell:
    low, high = case.get(f"{name}_low"), case.get(f"{name}_high")
    note = "" if numbers.absent(low) else f"trials: {numbers.duration(low)} to {numbers.duration(high)}"
    if sends_without_latency.endless(case, name):
        return Cell(
            numbers.NEVER, "warn", "it falls among what was never sent, or never received", sort=_LONGEST
        )
    return Cell(numbers.ms(case[name]), note=note)


def _client_shares(part: sweep.Part) -> dict[str, float]:
    """The busiest valid trial of each case."""
    valid = part.trials[part.trials["verdict"] == "valid"]
    shares = pd.to_numeric(valid["cpu_share"]).groupby(valid["case"]).max()
    return {str(case): float(share) for case, share in shares.items()}


def _share(share: float | None) -> Cell:
    bound = share is not None and share >= BUSY
    return Cell(
        numbers.percent(share), "warn" if bound else "plain", "the client may be the limit" if bound else ""
    )


def _content(report: ReportInput) -> Throughput:
    results, parts = report.results, report.parts
    return Throughput(
        tables=[table(results, part) for part in parts],
        has_slices=results.has_slices,
        middle=results.middle,
        interval=precision.interval(results),
        limit=resources.limit_sentence(results),
        baselines=effects.baselines(results, parts),
        has_ratios=any(effects.lead(results, part) for part in parts),
        has_strikes=results.has_strikes,
        unanswered=sends_without_latency.some(results),
        trial_pages_command=results.pages_command,
    )


SECTION = Section("throughput", "Throughput", _content)
