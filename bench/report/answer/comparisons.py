"""The findings that compare: what a scenario declares, else both systems at equal guarantees, else each one alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from bench import numbers
from bench.numbers import NOTHING
from bench.report.answer import guarantees
from bench.report.answer.configurations import RATE, Configurations, Measure, section, words
from bench.report.answer.model import Finding
from bench.report.answer.sentences import sentence
from bench.report.presentation import DeclaredComparison
from bench.report.sections.effects import with_interval
from bench.report.table import Cell, Column, Row, Table
from bench.systems.registry import system_title

_COMPARED = (
    Column("change", "text"),
    Column("configuration", "name", "with it"),
    Column("figure", "number", "with it"),
    Column("configuration", "name", "without it"),
    Column("figure", "number", "without it"),
    Column("ratio"),
)


def comparisons(cases: Configurations, declared: tuple[DeclaredComparison, ...]) -> list[Finding]:
    """Return the findings of every declared comparison that the run has; without any, what every run allows."""
    by_comparison = [
        list(_declared_findings(cases, comparison, previous))
        for previous, comparison in zip((None, *declared), declared, strict=False)
    ]
    findings = list(chain.from_iterable(by_comparison))
    if headline := guarantees.both_halves(cases, declared):
        first, second = (of_comparison[0] for of_comparison in by_comparison[:2])
        findings.remove(second)
        findings[0] = replace(
            first, text=headline, advice=first.advice + second.advice, detail=f"{first.text} {second.text}"
        )
    return findings or _default_findings(cases)


def compared_configurations(cases: Configurations, declared: tuple[DeclaredComparison, ...]) -> Table | None:
    """Return a row for each change that the answer states: both configurations in full, their figures and the ratio."""
    rows = []
    for comparison in declared:
        if comparison.change and (pair := _pair(cases, comparison)):
            ratio = cases.effect(*pair, comparison.metric).upward
            shown = NOTHING if ratio.ratio is None else with_interval(ratio.ratio, ratio.low, ratio.high)
            figures = [_text(cases, case, comparison.metric) for case in pair]
            texts = (comparison.change, pair[0], figures[0], pair[1], figures[1])
            rows.append(Row((*map(Cell, texts), Cell(shown, "strong"))))
    return Table("What the answer compares", _COMPARED, tuple(rows)) if rows else None


def leading_metric(cases: Configurations, declared: tuple[DeclaredComparison, ...] = ()) -> str:
    """Return the metric that a run answers with: that of its first comparison.

    Without any, throughput of closed loops and p99 response time of open ones.
    """
    for comparison in declared:
        if cases.names and cases.measure(cases.names[0], comparison.metric):
            return comparison.metric
    return "response_p99_ns" if cases.results.summary.get("figure") == "response" else RATE


def _declared_findings(
    cases: Configurations, declared: DeclaredComparison, previous: DeclaredComparison | None
) -> Iterator[Finding]:
    if declared.change:
        return _change(cases, declared)
    repeats_guarantee = previous is not None and (previous.guarantee, previous.metric) == (
        declared.guarantee,
        declared.metric,
    )
    return guarantees.declared_findings(cases, declared, repeats_guarantee=repeats_guarantee)


def _change(cases: Configurations, declared: DeclaredComparison) -> Iterator[Finding]:
    """State what a change of one system's configuration does; nothing where the run lacks one of the two cases."""
    pair = _pair(cases, declared)
    if pair is None or (measure := cases.measure(pair[0], declared.metric)) is None:
        return
    of, to = pair
    effect = cases.effect(of, to, declared.metric)
    outcome = effect.outcome(cases.smallest)
    slots = {
        "change": declared.change,
        "system": system_title(declared.system),
        "measure": measure,
        "metric": words(declared.metric),
        "outcome": outcome,
        "effect": effect.upward.slots,
        "smallest": cases.smallest_words,
        "of": cases.figure(of, declared.metric),
        "to": cases.figure(to, declared.metric),
    }
    advice = declared.advice_for(outcome)
    yield Finding(sentence("change", slots), outcome.is_decided, "effects", advice)


def _pair(cases: Configurations, declared: DeclaredComparison) -> tuple[str, str] | None:
    """Return the two cases of a change; None where the run lacks one, or nobody knows how to state the metric."""
    of, to = (cases.case(declared.system, settings) for settings in (declared.of, declared.to))
    if of is None or to is None or cases.measure(of, declared.metric) is None:
        return None
    return of, to


def _text(cases: Configurations, case: str, metric: str) -> str:
    """Return a case's figure with its unit."""
    figure = cases.figure(case, metric)
    return {
        Measure.SEND: f"{figure.ms} ms a send",
        Measure.RATE: f"{figure.rate} messages/s",
        Measure.BYTES: f"{figure.bytes} MB/s",
        Measure.TIME: figure.time,
        None: NOTHING,
    }[cases.measure(case, metric)]


def _default_findings(cases: Configurations) -> list[Finding]:
    metric = leading_metric(cases)
    by_guarantee: dict[tuple[str, ...], list[guarantees.Point]] = {}
    for point in guarantees.points(cases):
        by_guarantee.setdefault(point.survives, []).append(point)
    findings = [
        finding
        for survives, points in by_guarantee.items()
        for finding in guarantees.at_guarantee(
            cases, points, DeclaredComparison(metric, guarantee=survives[0])
        )
    ]
    return findings or list(_spreads(cases, metric))


def _spreads(cases: Configurations, metric: str) -> Iterator[Finding]:
    """State each system's fastest and slowest configuration of those that promise something."""
    for part in cases.parts:
        measured = [
            case
            for case in map(str, part.cases["case"])
            if not numbers.absent(cases.row(case).get(metric)) and not cases.hollow(case)
        ]
        ordered = sorted(measured, key=lambda case: float(cases.row(case)[metric]))
        if not ordered or (measure := cases.measure(ordered[0], metric)) is None:
            continue
        if measure is not Measure.TIME:
            ordered.reverse()
        slots = {
            "system": part.title,
            "measure": measure,
            "metric": words(metric),
            "count": len(ordered),
            "fastest": cases.label(ordered[0]),
            "slowest": cases.label(ordered[-1]) if len(ordered) > 1 else "",
            "best": cases.figure(ordered[0], metric),
            "worst": cases.figure(ordered[-1], metric),
        }
        yield Finding(sentence("spread", slots), anchor=section(metric))
