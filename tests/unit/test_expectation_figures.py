"""The table of figures that only expectations speak of."""

import pandas as pd

from bench.numbers import NOTHING
from bench.report import sweep
from bench.report.expectation_figures import ExpectationFigure, MetricFormat, heads
from bench.report.results import Results
from bench.report.sections import expectation_figures
from tests.fault_sketch import Case, Trial, results

CREATED = {"id": "created", "claim": "…", "system": "kafka", "metric": "create_ns", "at_most": 1}
OTHERS = {
    "id": "others",
    "claim": "…",
    "system": "kafka",
    "metric": "others_gap_ns",
    "fault": "leader killed",
    "at_most": 1,
}
SLOWED = {
    "id": "slowed",
    "claim": "…",
    "system": "kafka",
    "metric": "send_slowdown",
    "reading": "cold",
    "at_most": 1,
}


def run(*expectations: dict[str, object]) -> Results:
    """Two configurations of three trials; the last of each is not valid."""
    trials = [Trial(), Trial(), Trial(verdict="invalid")]
    found = results(
        *(Case("kafka", {"partitions": count}, trials) for count in ("10", "1000")),
        expectations=list(expectations),
    )
    found.trials["create_ns"] = [1e9, 2e9, 9e9, 30e9, 30e9, 90e9]
    found.faults["others_gap_ns"] = [5e9, 7e9, 50e9, None, None, None]
    return found


def shown(found: Results) -> list[tuple[list[str], list[list[str]]]]:
    tables = expectation_figures.tables(found, sweep.parts(found))
    return [
        ([column.head for column in table.columns], [[cell.text for cell in row.cells] for row in table.rows])
        for table in tables
    ]


def test_a_column_for_each_figure_that_is_claimed_with_the_median_and_range_of_valid_trials() -> None:
    ((heads, rows),) = shown(run(CREATED, OTHERS))

    assert heads == ["partitions", "creating the topic", "no ack on partitions of other nodes"]
    assert rows == [["10", "1.5 s (1 s to 2 s)", "6 s (5 s to 7 s)"], ["1000", "30 s", NOTHING]]


def test_what_no_expectation_speaks_of_has_no_table() -> None:
    assert shown(run()) == []


def test_a_read_beside_the_load_has_its_times_before_and_meanwhile() -> None:
    found = run(SLOWED)
    reading = {
        "trial": 0,
        "reading": "cold",
        "send_p99_before_ns": 4e6,
        "send_p99_during_ns": 12e6,
        "send_slowdown": 3.0,
    }
    object.__setattr__(found, "readings", pd.DataFrame([reading]))

    ((heads, rows),) = shown(found)

    assert heads[1:] == ["send p99 before", "send p99 while it read", "times as long"]
    assert rows[0] == ["10", "4 ms", "12 ms", "3.00"]


def test_a_head_names_the_step_only_where_another_figure_has_the_same_words() -> None:
    until, copied = MetricFormat("time until it took its part", str), MetricFormat("copied", str)
    figures = [
        ExpectationFigure("share_ns", until, "fault", "node added"),
        ExpectationFigure("copied_bytes", copied, "transfer", "replicas moved"),
        ExpectationFigure("copied_bytes", copied, "transfer", "partitions given anew"),
    ]

    assert heads(figures) == [
        "time until it took its part",
        "copied, replicas moved",
        "copied, partitions given anew",
    ]
