"""The figure of an answer: exactly the cases that it compares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.report import results, style
from bench.report.figures import comparison_rows
from bench.report.figures.comparison_rows import CaseRow, ComparedCases
from bench.report.pages.compared_cases import compared_cases
from bench.report.presentation import DeclaredComparison, Labels, Presentation
from bench.report.results import Results
from tests.report_data import build
from tests.report_sketch import Sketch

RATE = "throughput_msgs_per_s"
ALL, LEADER = ({"replicas": "4", "min.insync.replicas": "1", "acks": acks} for acks in ("all", "1"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    run = build(
        tmp_path_factory.mktemp("compared") / "run", Sketch(systems=("kafka",), rounds=5, messages=300)
    )
    return results.read(run)


def declared(metric: str = RATE) -> Presentation:
    comparison = DeclaredComparison(metric, change="waiting for all", system="kafka", of=ALL, to=LEADER)
    return Presentation(Labels(), comparisons=(comparison,))


def drawn(found: Results, compared: list[ComparedCases], *, one_send_open: bool = True) -> list[str]:
    with style.typography():
        figure = comparison_rows.comparison_rows(found, compared, one_send_open=one_send_open)
    assert figure is not None
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    return [*(text.get_text() for text in figure.texts), *texts]


def test_a_declared_comparison_shows_its_two_cases_under_short_names(found: Results) -> None:
    (one,) = compared_cases(found, declared())

    assert one.title == "Waiting for all (4 replicas, at least 1 in sync)"
    assert [row.name for row in one.rows] == ["Kafka: wait for all", "Kafka: wait for the leader"]
    assert [row.case.endswith(f"acks={acks}") for row, acks in zip(one.rows, ("all", "1"), strict=True)] == [
        True,
        True,
    ]


def test_with_one_send_open_a_rate_is_drawn_as_ms_a_send(found: Results) -> None:
    compared = compared_cases(found, declared())
    medians = [
        1000 / float(found.cases.loc[found.cases["case"] == row.case, RATE].iloc[0])
        for row in compared[0].rows
    ]

    texts = drawn(found, compared)

    assert texts[0] == "ms a send"
    assert [text for text in texts if text.replace(".", "").isdigit()] == [
        f"{value:.3f}" for value in medians
    ]


def test_with_several_sends_open_it_is_a_rate(found: Results) -> None:
    texts = drawn(found, compared_cases(found, declared()), one_send_open=False)

    assert texts[0] == "acknowledged messages/s"


def test_comparisons_of_other_metrics_have_axes_of_their_own(found: Results) -> None:
    compared = [*compared_cases(found, declared()), *compared_cases(found, declared("service_p99_ns"))]
    with style.typography():
        figure = comparison_rows.comparison_rows(found, compared, one_send_open=True)

    assert figure is not None
    assert [text.get_text() for text in figure.texts] == ["ms a send", "p99 time of a send, ms"]
    dots = [len(np.asarray(one.get_offsets())) for axes in figure.axes for one in axes.collections]
    assert dots == [5, 5, 5, 5]
    (first, _) = figure.axes
    heights = {float(np.asarray(one.get_offsets())[0, 1]) for one in first.collections}
    assert len(heights) == 2


@pytest.mark.parametrize(
    ("metric", "head"),
    [
        ("capacity_msgs_per_s", "sustained messages/s"),
        ("consumed_msgs_per_s", "messages/s that the group consumed"),
    ],
)
def test_other_rates_are_drawn_as_rates(found: Results, metric: str, head: str) -> None:
    rate = {metric: 1536.0}
    measured = replace(found, trials=found.trials.assign(**rate), cases=found.cases.assign(**rate))

    texts = drawn(measured, compared_cases(measured, declared(metric)))

    assert texts[0] == head
    assert texts.count("1,536") == 2


@pytest.mark.parametrize(
    ("holds", "bracket"),
    [
        ([(100, True, "passed"), (110, True, "failed"), (105, False, "failed")], (100, 110)),
        ([(90, False, "failed"), (100, True, "passed"), (120, False, "failed")], (100, 120)),
        ([(100, True, "undecided"), (100, True, "passed"), (110, True, "failed")], (100, 110)),
        ([(100, True, "passed"), (110, True, "undecided")], None),
        ([(100, True, "failed")], None),
    ],
)
def test_a_search_reaches_from_the_rate_that_passed_to_the_one_that_failed(
    holds: list[tuple[int, bool, str]], bracket: tuple[float, float] | None
) -> None:
    search = pd.DataFrame(holds, columns=["rate", "confirms", "verdict"])

    assert comparison_rows._bracket(search) == bracket


def test_it_says_in_words_what_it_shows(found: Results) -> None:
    compared = [
        ComparedCases("Waiting", RATE, (CaseRow("kafka", "wait for all", str(found.cases["case"].iloc[0])),))
    ]

    words = comparison_rows.in_words(found, compared, one_send_open=True)

    assert words.startswith("Waiting: Kafka: wait for all 0.")
    assert words.endswith(" ms a send.")


def test_without_a_comparison_there_is_no_such_figure(found: Results) -> None:
    assert comparison_rows.comparison_rows(found, [], one_send_open=True) is None
    assert compared_cases(found, Presentation()) == []


def test_a_run_in_which_nothing_is_valid_compares_nothing(tmp_path: Path) -> None:
    failed = Sketch(systems=("memory",), rounds=1, failed=(0, 1))

    assert compared_cases(results.read(build(tmp_path / "run", failed)), declared()) == []
