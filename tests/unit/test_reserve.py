"""The finding on the reserve: times of sends while a node is gone and while it catches up."""

import math
from dataclasses import replace

import pandas as pd

from bench.report.answer import expectation_figures
from bench.report.answer.fault_findings import fault_run
from bench.report.answer.reserve import reserve
from bench.report.presentation import Labels
from bench.report.results import Results
from tests.fault_sketch import Case, Trial, results

MS = 1_000_000
EXPECTED = [{"metric": "p99_away_ns", "system": "kafka", "fault": "leader killed", "at_most": 50 * MS}]


def lost_node(expectations: list[dict[str, object]]) -> Results:
    """Two rates of three trials; p99 before, away and in recovery in ms, by trial. The last has no recovery."""
    found = results(
        Case("kafka", {"rate": "1000"}, [Trial(), Trial(), Trial()]),
        Case("kafka", {"rate": "2000"}, [Trial(), Trial(), Trial()]),
        expectations=expectations,
    )
    times: list[tuple[float, ...]] = [
        *((10, 20, 30), (11, 22, 33), (12, 21, 60)),
        *((14, 40, 80), (15, 50, 90), (16, 45, math.nan)),
    ]
    columns = {
        f"p99_{phase}_ns": pd.Series([row[place] * MS for row in times])
        for place, phase in enumerate(("before", "away", "recovery"))
    }
    return replace(found, faults=found.faults.assign(**columns))


def test_each_configuration_has_the_medians_of_its_trials() -> None:
    """A trial without a recovery counts for the other times."""
    (finding,) = reserve(fault_run(lost_node(EXPECTED), Labels()))

    assert finding.text == (
        "On Kafka, 99 % of the sends took up to 21 ms with a node gone and 33 ms while it caught up instead of 11 ms "
        "(1,000 messages/s), 45 ms with a node gone and 85 ms while it caught up instead of 15 ms (2,000 messages/s)."
    )


def test_the_table_has_the_times_and_no_second_sentence_does() -> None:
    run = fault_run(lost_node(EXPECTED), Labels())

    assert [
        column.head for column in expectation_figures.columns(expectation_figures.column_figures(run))
    ] == ["send p99, node away"]
    assert list(expectation_figures.findings(run)) == []


def test_other_scenarios_lead_with_their_outage() -> None:
    assert list(reserve(fault_run(lost_node([]), Labels()))) == []
