"""Effect sizes: each case against its system's baseline case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from bench import numbers
from bench.columns import CAPACITY, CONSUMED
from bench.report import sweep
from bench.report.results import Results
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Table, case_table, without_empty

AGAINST = "against the baseline"
SMALLEST_EFFECT = 0.05
"""The share below which a difference does not matter, where the run does not name one."""
_TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure that cases are compared by; `more` and `less` are the words for a ratio above and below 1."""

    name: str
    words: str
    more: str
    less: str


METRICS = (
    Metric("throughput_msgs_per_s", "throughput", "higher", "lower"),
    Metric("response_p50_ns", "response time, p50", "longer", "shorter"),
    Metric("response_p99_ns", "response time, p99", "longer", "shorter"),
    Metric("service_p50_ns", "service time, p50", "longer", "shorter"),
    Metric("service_p99_ns", "service time, p99", "longer", "shorter"),
    Metric("e2e_p50_ns", "end to end, p50", "longer", "shorter"),
    Metric(CAPACITY, "capacity", "higher", "lower"),
    Metric(CONSUMED, "consumed by the group", "more", "less"),
)
"""In the order in which they lead: the first that a run has stands in the tables of cases."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Ratios to the baseline cases that `baselines` names; below `smallest_effect` a difference does not matter.

    `compared` has the changes that the answer states, None where it states none.
    """

    compared: Table | None
    tables: Sequence[Table]
    baselines: str
    smallest_effect: str


def lead(results: Results, part: sweep.Part) -> Metric | None:
    """Return the metric by which a system's cases are compared first; None where there are no ratios.

    Where consumers are a group, that is what the group consumed.
    """
    metrics = _metrics(results, part)
    return next((metric for metric in metrics if metric.name == CONSUMED), metrics[0] if metrics else None)


def words(metric: str) -> str:
    """Return the words for a metric's column; the column where it is not one that cases are compared by."""
    return next((candidate.words for candidate in METRICS if candidate.name == metric), metric)


def baselines(results: Results, parts: Sequence[sweep.Part]) -> str:
    """Name each system's baseline case; empty where there are no ratios."""
    names = {part.title: label for part in parts if (label := _baseline_label(results, part))}
    if not names:
        return ""
    noun = "baseline is" if len(names) == 1 else "baselines are"
    labels = "; ".join(
        f"{label} ({system})" if len(names) > 1 else f"{label}" for system, label in names.items()
    )
    return f"The {noun} {labels}."


def tables(results: Results, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return every ratio to the baseline, a table a system with a row a case; none where there are no ratios."""
    return [_table(results, part) for part in parts if lead(results, part)]


def cell(results: Results, part: sweep.Part, case: str, metric: Metric) -> Cell:
    """Tell a case's ratio to the baseline with its interval."""
    rows = _rows(results, part, metric)
    if case == _baseline(results, part):
        return Cell("baseline", "quiet", sort=1.0)
    rows = rows[rows["case"] == case]
    return Cell(numbers.NOTHING, "quiet") if rows.empty else _ratio(rows.iloc[0], metric, smallest(results))


def smallest(results: Results) -> float:
    """Return the smallest effect that matters, as a share: 0.05 is 5 %."""
    return float(results.manifest.get("smallest_effect") or SMALLEST_EFFECT)


def with_interval(ratio: float, low: float | None, high: float | None) -> str:
    """Write a ratio with its interval: 2.8x (2.6 to 3.0)."""
    ends = interval(ratio, low, high)
    return f"{factor(ratio)} ({ends})" if ends else factor(ratio)


def factor(ratio: float) -> str:
    """Write a ratio in two or three digits: 1.04x, 2.8x, 12x."""
    return f"{numbers.factor(ratio)}{_TIMES}"


def interval(ratio: float, low: float | None, high: float | None) -> str:
    """Write a ratio's interval in as many digits as the ratio itself, 2.6 to 3.0; empty where there is none."""
    if low is None or high is None:
        return ""
    return f"{numbers.factor(low, like=ratio)} to {numbers.factor(high, like=ratio)}"


def _table(results: Results, part: sweep.Part) -> Table:
    metrics = _metrics(results, part)
    columns = [Column(metric.words) for metric in metrics]
    cells = [
        [_beside(cell(results, part, case["case"], metric), leads=metric is metrics[0]) for metric in metrics]
        for _, case in part.cases.iterrows()
    ]
    return without_empty(case_table(part, columns, cells))


def _beside(ratio: Cell, *, leads: bool) -> Cell:
    """Let only the metric that leads stand out."""
    return replace(ratio, tone="plain") if ratio.tone == "strong" and not leads else ratio


def _ratio(row: pd.Series[Any], metric: Metric, smallest_effect: float) -> Cell:
    ratio = float(row["ratio"])
    if numbers.absent(row["low"]) or numbers.absent(row["high"]):
        return Cell(f"{_ratio_with_direction(ratio, None, None, metric)} (no interval)", "quiet", sort=ratio)
    low, high = float(row["low"]), float(row["high"])
    matters = 1 + smallest_effect
    if low >= 1 / matters and high <= matters:
        no_difference = f"no difference (±{smallest_effect * 100:.3g} %)"
        return Cell(no_difference, "neutral", with_interval(ratio, low, high), sort=ratio)
    if low <= 1 <= high:
        undecided = "undecided: the interval holds 1"
        return Cell(with_interval(ratio, low, high), "quiet", undecided, sort=ratio)
    return Cell(_ratio_with_direction(ratio, low, high, metric), "strong", sort=ratio)


def _ratio_with_direction(ratio: float, low: float | None, high: float | None, metric: Metric) -> str:
    """Write a factor of 1 or more with the word for its direction: 4.3x lower (2.8 to 4.9)."""
    if ratio >= 1:
        ratio_words, word = with_interval(ratio, low, high), metric.more
    else:
        ends = (
            [1 / end if end else math.inf for end in (high, low)] if low is not None and high else [None] * 2
        )
        ratio_words, word = with_interval(1 / ratio if ratio else math.inf, *ends), metric.less
    return ratio_words.replace(_TIMES, f"{_TIMES} {word}", 1)


def _metrics(results: Results, part: sweep.Part) -> list[Metric]:
    return [metric for metric in METRICS if len(_rows(results, part, metric))]


def _rows(results: Results, part: sweep.Part, metric: Metric) -> pd.DataFrame:
    table = results.ratios
    return table[(table["system"] == part.system) & (table["metric"] == metric.name)]


def _baseline(results: Results, part: sweep.Part) -> str | None:
    baseline_cases = results.ratios.loc[results.ratios["system"] == part.system, "baseline"]
    return None if baseline_cases.empty else str(baseline_cases.iloc[0])


def _baseline_label(results: Results, part: sweep.Part) -> str:
    baseline_rows = part.cases[part.cases["case"] == _baseline(results, part)]
    return "" if baseline_rows.empty else part.label(baseline_rows.iloc[0])


def _content(report: ReportInput) -> Effects | None:
    ratios = tables(report.results, report.parts)
    if not ratios and report.compared is None:
        return None
    return Effects(
        compared=report.compared,
        tables=ratios,
        baselines=baselines(report.results, report.parts),
        smallest_effect=f"{smallest(report.results) * 100:.3g} %",
    )


SECTION = Section("effects", "Ratios", _content)
