"""Each configuration under faults in one line: the cells of a family's page."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from bench import numbers
from bench.model import HEALING, NO_END, RESTART
from bench.report import sweep
from bench.report.results import Results
from bench.report.sections import fault_settings, method, promise_coverage
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Row, Table
from bench.systems.registry import describe

_COUNTS = ("lost", "duplicates", "out_of_order")
HEADS = (
    "configuration",
    "trials",
    "acks/s before",
    "lost",
    "duplicated",
    "out of order",
    "no ack, s",
    "rate back, s",
    "none read, s",
)
_KEPT_UP = 0.9
"""Below this share of the rate asked for, that stands beside the rate before a fault."""
_TO = "\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}"
_ENDED = ((HEALING, "till healed"), (RESTART, "till restarted"), (NO_END, "no end"))


def tables(results: Results) -> list[Table]:
    """Return a table a system; none where nothing broke."""
    return [_table(results, part) for part in sweep.parts(results)] if results.has_strikes else []


def _table(results: Results, part: sweep.Part) -> Table:
    columns = (Column(HEADS[0], "name"), *map(Column, HEADS[1:]))
    rows = tuple(Row(cells) for cells in lines(results, part))
    return Table(part.title, columns, rows, part.system)


def lines(results: Results, part: sweep.Part) -> list[tuple[Cell, ...]]:
    """Return the cells under HEADS of each configuration; a span is the least and the most of its valid trials.

    Rates and gaps are of those that other work did not crowd, where there are any: with their number.
    """
    return [_line(results, part, case) for _, case in part.cases.iterrows()]


def _line(results: Results, part: sweep.Part, case: pd.Series[Any]) -> tuple[Cell, ...]:
    trials = part.trials[part.trials["case"] == case["case"]]
    valid = trials[trials["verdict"] == "valid"]
    counted = Cell(f"{len(valid)}/{len(trials)}", "plain" if len(valid) == len(trials) else "warn")
    undisturbed_trials, of = method.undisturbed_trials(valid)
    faults = results.faults[results.faults["trial"].isin(undisturbed_trials["trial"])]
    rates_before = _rates_before(faults)
    tone = "bad" if promise_coverage.breaks_promise(results, str(case["case"])) else "strong"
    lost, *other_counts = (_count(valid[name], tone if name == "lost" else "plain") for name in _COUNTS)
    if valid["unread"].any():
        lost_words = "" if lost.text in {"0", numbers.NOTHING} else f"{lost.text}, "
        broken = promise_coverage.breaks_promise(results, str(case["case"]), unread=not lost_words)
        lost = Cell(
            f"{lost_words}{_span(valid['unread'], numbers.count)} unread", "bad" if broken else "strong"
        )
    return (
        Cell(_label(results, part, case, trials), "plain"),
        counted,
        Cell(
            f"{_middle(rates_before, numbers.rate)}{_requested_rate(results, undisturbed_trials, rates_before)}",
            "plain",
        ),
        lost,
        *other_counts,
        gap(_longest(faults, "ack_gap"), of),
        _back(faults, of),
        gap(_unread(_longest(faults, "live_gap"), undisturbed_trials), of),
    )


def _rates_before(faults: pd.DataFrame) -> pd.Series[Any]:
    """Return the rate of acknowledgements before the first fault of each trial."""
    return faults.sort_values("asked_ns").groupby("trial")["rate_before"].first().dropna()


def _requested_rate(results: Results, trials: pd.DataFrame, rates_before: pd.Series[Any]) -> str:
    """Say what rate an open loop asked for, where much less of it was acknowledged before anything broke."""
    loads = (results.trial_records[int(trial)].load for trial in trials["trial"])
    rates = {rate for load in loads for rate in method.rates(load)}
    if len(rates) != 1 or rates_before.empty:
        return ""
    (asked_rate,) = rates
    return (
        f", of {numbers.rate(asked_rate)} asked for" if rates_before.median() < _KEPT_UP * asked_rate else ""
    )


def _back(faults: pd.DataFrame, of: str) -> Cell:
    """Say how long after a fault the rate was back, the longest of each trial, and in how many it never was."""
    faults_with_rate = faults.dropna(subset="rate_before")
    back = faults_with_rate["back_ns"].astype(float).fillna(math.inf).groupby(faults_with_rate["trial"]).max()
    finite_back_ns = back[back < math.inf]
    never = len(back) - len(finite_back_ns)
    if never and finite_back_ns.empty:
        return Cell(f"not{of}", "plain")
    return Cell(f"{_seconds(finite_back_ns)}{of}{f', {never} not' if never else ''}", "plain")


def _seconds(values_ns: pd.Series[Any]) -> str:
    return _span(values_ns / 1e9, "{:.1f}".format)


def _longest(faults: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return by trial the longest gap after any of its faults (`ns`), and what may have ended it."""
    longest_gaps = (
        faults.dropna(subset=f"{name}_ns")
        .sort_values(f"{name}_ns")
        .groupby("trial")
        .tail(1)
        .set_index("trial")
    )
    return pd.DataFrame(
        {"ns": longest_gaps[f"{name}_ns"].astype(float), "ended": longest_gaps[f"{name}_ended"]}
    )


def _unread(live: pd.DataFrame, valid: pd.DataFrame) -> pd.DataFrame:
    """Take the longest time in which nothing came to the reader that a step began, in trials where that is longer."""
    by_trial = valid.set_index("trial")
    stalls = by_trial["reader_stall_ns"].dropna().astype(float)
    longer = stalls[stalls > live["ns"].reindex(stalls.index).fillna(-1.0)]
    ended = by_trial.reindex(columns=["reader_stall_ended"])["reader_stall_ended"].reindex(longer.index)
    return pd.concat([live.drop(longer.index, errors="ignore"), pd.DataFrame({"ns": longer, "ended": ended})])


def gap(longest: pd.DataFrame, of: str) -> Cell:
    """Say how long, in seconds, `of` how many trials, and in how many of them that was not the system's own time."""
    counts = longest["ended"].value_counts()
    endings = [
        words if counts[ending] == len(longest) else f"{counts[ending]} {words}"
        for ending, words in _ENDED
        if ending in counts
    ]
    return Cell(", ".join([f"{_seconds(longest['ns'])}{of}", *endings]), "plain")


def _label(results: Results, part: sweep.Part, case: pd.Series[Any], trials: pd.DataFrame) -> str:
    swept = dict(zip(part.settings, part.values(case), strict=True))
    configuration = (
        results.trial_records[int(trials["trial"].iloc[0])].case.configuration if len(trials) else {}
    )
    settings = fault_settings.naming_settings(part, configuration, swept)
    return ", ".join(_setting(part, name, value) for name, value in settings.items()) or part.title


def _setting(part: sweep.Part, name: str, value: str) -> str:
    return value if name in describe(part.system).self_explaining else f"{name}={value}"


def _count(values: pd.Series[Any], tone: str) -> Cell:
    known_values = values.dropna()
    return Cell(_span(known_values, numbers.count), tone if known_values.any() else "quiet")


def _middle(values: pd.Series[Any], word: Any) -> str:  # noqa: ANN401 - a format
    """Say the median over the trials, and the least and the most beside it where they differ."""
    span = _span(values, word)
    return f"{word(values.median())} ({span})" if _TO in span else span


def _span(values: pd.Series[Any], word: Any) -> str:  # noqa: ANN401 - a format
    """Say the least and the most over the trials; one of them where they are alike."""
    if values.empty:
        return numbers.NOTHING
    low, high = word(values.min()), word(values.max())
    return low if low == high else f"{low}{_TO}{high}"


def _content(report: ReportInput) -> list[Table] | None:
    return tables(report.results) or None


SECTION = Section("configurations", "What the faults cost each configuration", _content)
