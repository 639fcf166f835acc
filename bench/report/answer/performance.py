"""The answer of a run in which nothing broke: what was compared, what was lost, and what changes the conclusion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from bench import numbers
from bench.report import batch_costs
from bench.report.answer import concurrent_reads
from bench.report.answer.comparisons import compared_configurations, comparisons, leading_metric
from bench.report.answer.conditions import conditions
from bench.report.answer.configurations import Configurations
from bench.report.answer.expectation_findings import expectation_findings
from bench.report.answer.glossary import glossary
from bench.report.answer.guarantee_table import table
from bench.report.answer.losses import alarms, loss
from bench.report.answer.model import Answer, Finding
from bench.report.answer.notices import notices
from bench.report.answer.sentences import sentence
from bench.report.figures import batch_cost_rows, predictions
from bench.report.presentation import Presentation
from bench.report.results import Results
from bench.report.sections import cost_summary
from bench.report.sections.predictions import prediction_errors
from bench.report.sections.predictions import summary as prediction_summary
from bench.report.table import Table
from bench.systems.registry import system_title

MOST_FINDINGS, MOST_WORDS, MOST_ADVICE = 4, 144, 2


def answer(results: Results, presentation: Presentation) -> Answer:
    """Return the answer of a run in which nothing broke. Raises ReportError."""
    cases = Configurations(results, presentation.labels)
    findings = tuple(_findings(cases, presentation))
    metric = leading_metric(cases, presentation.comparisons)
    shown = _own_table(results) or table(cases, metric, presentation.comparisons)
    leading = table(cases, metric, presentation.comparisons, only=True) if presentation.comparisons else None
    amber, red = notices(cases, presentation.note), tuple(alarms(cases))
    page = " ".join((*(finding.full_text for finding in findings), *_texts(shown), *amber, *red))
    return Answer(
        title=presentation.title or str(results.manifest.get("title") or results.run.name),
        question=presentation.question or str(results.manifest.get("question") or ""),
        findings=findings,
        advice=tuple(dict.fromkeys(advice for finding in findings for advice in finding.advice))[
            :MOST_ADVICE
        ],
        table=shown,
        leading=leading if leading and shown and len(leading.rows) < len(shown.rows) else None,
        glossary=glossary(page),
        conditions=conditions(results),
        notices=amber,
        alarms=red,
        expectations=expectation_findings(results, presentation.claims),
        figure=_figure(results),
        compared=compared_configurations(cases, presentation.comparisons),
    )


def _own_table(results: Results) -> Table | None:
    """Return the table of a run whose question is not which configuration is ahead; None for other runs."""
    if not results.predictions.empty:
        return prediction_summary(results)
    return cost_summary.summary(results) if batch_costs.lead(results) else None


def _figure(results: Results) -> str:
    """Name the figure of the first page."""
    if not results.predictions.empty:
        return predictions.NAME
    return (
        batch_cost_rows.NAME
        if batch_costs.lead(results)
        else str(results.summary.get("figure") or "throughput")
    )


def _findings(cases: Configurations, presentation: Presentation) -> list[Finding]:
    """Return what was compared, then what was lost; a loss goes first. At most four, and 144 words together."""
    if cases.results.valid.empty:
        return [Finding(sentence("no-valid-trial"), decided=False)]
    lost = loss(cases)
    read = [] if presentation.comparisons else list(concurrent_reads.findings(cases))
    answered = read or list(_prediction_error(cases)) or list(_costs(cases.results))
    compared = answered or comparisons(cases, presentation.comparisons)
    shown = _within(compared, MOST_FINDINGS - 1, MOST_WORDS - _words(lost))
    return [lost, *shown] if any(alarms(cases)) else [*shown, lost]


def _prediction_error(cases: Configurations) -> Iterator[Finding]:
    """State how far predicted capacities are off, where a run has such: what can be sized with it."""
    if errors := prediction_errors(cases.results.predictions, cases.results.capacities):
        slots = [
            {
                "system": system_title(system),
                "count": error.count,
                "capacities": error.capacities,
                "median": numbers.percent(error.median),
                "worst_tenth": numbers.percent(error.worst_tenth),
            }
            for system, error in errors.items()
        ]
        yield Finding(sentence("prediction-error", {"errors": slots}), anchor="capacities")


def _costs(results: Results) -> Iterator[Finding]:
    """State what a batch takes of each role's CPU, and how far off that is, where a run asks what messages cost."""
    if not batch_costs.lead(results):
        return
    costs = batch_costs.work_costs(results)
    systems = [
        {
            "title": system_title(system),
            "roles": [
                {
                    "name": role,
                    "works": [
                        {
                            "work": cost.work,
                            "time": numbers.rate(cost.value_us),
                            "interval": f"{numbers.rate(cost.low_us)} to {numbers.rate(cost.high_us)}",
                        }
                        for cost in of_role
                    ],
                }
                for role, of_role in groupby(of_system, key=lambda cost: cost.role)
            ],
        }
        for system, of_system in groupby(costs, key=lambda cost: cost.system)
    ]
    yield Finding(sentence("batch-costs", {"systems": systems}), anchor="costs")
    errors = {
        f"{system_title(cost.system)}'s {cost.role}s": {
            "median": numbers.percent(cost.error_median),
            "worst_tenth": numbers.percent(cost.error_worst),
        }
        for cost in costs
    }
    slots = [{"servers": servers, **error} for servers, error in errors.items()]
    yield Finding(sentence("cost-errors", {"errors": slots}), anchor="costs")


def _within(findings: Sequence[Finding], most: int, words: int) -> list[Finding]:
    """Return the first findings that have room; the first of all in any case."""
    shown: list[Finding] = []
    for finding in findings[:most]:
        if shown and sum(map(_words, [*shown, finding])) > words:
            break
        shown.append(finding)
    return shown


def _words(finding: Finding) -> int:
    """Count the words of a finding; a sign such as % is none."""
    return sum(any(map(str.isalnum, word)) for word in finding.full_text.split())


def _texts(shown: Table | None) -> Iterable[str]:
    """Give every text of a table."""
    if shown is not None:
        yield from _cells(shown)


def _cells(shown: Table) -> Iterator[str]:
    for column in shown.columns:
        yield f"{column.group} {column.head}"
    for row in shown.rows:
        yield from (cell.text for cell in row.cells)
