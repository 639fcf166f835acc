"""What the first page says of the figures that a scenario asks for, worked out by hand."""

from __future__ import annotations

import pandas as pd

from bench.numbers import NOTHING
from bench.report import sweep
from bench.report.answer import answer
from bench.report.figures import first_page_drawings
from bench.report.presentation import Labels, Presentation
from bench.report.results import Results
from tests.fault_sketch import Case, Trial, results

SPREAD = {"id": "spread", "claim": "…", "system": "kafka", "metric": "broker_spread", "at_most": 0.2}
PULSAR_SPREAD = {**SPREAD, "id": "pulsar", "system": "pulsar"}
STILL: dict[str, object] = {
    "id": "still",
    "claim": "…",
    "system": "kafka",
    "metric": "others_gap_ns",
    "fault": "leader killed",
}


def run(*expectations: dict[str, object]) -> Results:
    """Two configurations on Kafka, one on Pulsar, of three trials each; the last on Pulsar is not valid."""
    found = results(
        *(Case("kafka", {"partitions": count}, [Trial()] * 3) for count in ("30", "120")),
        Case("pulsar", {"partitions": "30"}, [Trial(), Trial(), Trial(verdict="invalid")]),
        expectations=list(expectations),
    )
    found.trials["broker_spread"] = [0.3, 0.4, 0.5, 0.05, 0.1, 0.2, 0.3, 0.3, 9.0]
    found.faults["others_gap_ns"] = [2e9] * 3 + [5e9] * 3 + [None] * 3
    return found


def test_a_figure_goes_from_the_least_configuration_to_the_most_in_medians_of_valid_trials() -> None:
    page = answer(run(SPREAD, PULSAR_SPREAD), Presentation())

    assert page.findings[0].full_text == (
        "Farthest broker from the mean: 10 % (120 partitions) to 40 % (30 partitions) on Kafka, 30 % on Pulsar."
    )
    assert page.figure == "asked"


def test_ends_that_all_systems_have_are_named_once() -> None:
    """Medians of 10 and 40 % on Kafka, of 20 and 60 % on Pulsar, both from 120 to 30 partitions."""
    found = results(
        *(
            Case(system, {"partitions": count}, [Trial()] * 3)
            for system in ("kafka", "pulsar")
            for count in ("30", "120")
        ),
        expectations=[SPREAD, PULSAR_SPREAD],
    )
    found.trials["broker_spread"] = [0.4] * 3 + [0.1] * 3 + [0.6] * 3 + [0.2] * 3

    assert answer(found, Presentation()).findings[0].full_text == (
        "Farthest broker from the mean: 10 % to 40 % on Kafka, 20 % to 60 % on Pulsar (120 to 30 partitions)."
    )


def test_its_column_stands_in_place_of_the_settings() -> None:
    shown = answer(run(SPREAD, PULSAR_SPREAD, STILL), Presentation()).table

    assert shown is not None
    assert [column.head for column in shown.columns][:3] == [
        *("configuration", "farthest broker from the mean", "no ack on partitions of other nodes"),
    ]
    assert [[cell.text for cell in row.cells[:3]] for row in shown.rows if not row.heading] == [
        ["30 partitions", "40 % (30 % to 50 %)", "2 s"],
        ["120 partitions", "10 % (5 % to 20 %)", "5 s"],
        ["Pulsar", "30 %", NOTHING],
    ]


def test_the_figure_of_a_fault_leaves_the_course_of_the_fault_as_the_drawing() -> None:
    page = answer(run(STILL, SPREAD), Presentation())

    assert page.findings[0].full_text == (
        "No ack on partitions of other nodes: 2 s (30 partitions) to 5 s (120 partitions) on Kafka."
    )
    assert page.figure == "timeline"


def test_where_another_figure_comes_first_the_page_is_that_of_the_fault() -> None:
    lost = {"id": "lost", "claim": "…", "system": "kafka", "metric": "lost", "at_most": 0}

    page = answer(run(lost, SPREAD), Presentation())

    assert page.findings[0].full_text.startswith("Nothing was lost")
    assert page.table is not None
    assert [column.head for column in page.table.columns][1] == "settings"


def test_the_drawing_has_a_row_a_configuration_with_its_median() -> None:
    found = run(SPREAD, PULSAR_SPREAD)

    drawing = first_page_drawings(found, sweep.parts(found), Labels())["asked"]

    assert drawing.alt == (
        "Farthest broker from the mean. Kafka, 30 partitions: 40 %. Kafka, 120 partitions: 10 %. Pulsar, Pulsar: 30 %."
    )
    assert pd.notna(found.trials["broker_spread"]).all()


def moved(*rows: tuple[int, str, float]) -> Results:
    """One trial on Kafka and one on Pulsar, with the steps that moved messages: trial, step, and the time in s."""
    found = results(
        Case("kafka", {}, [Trial()] * 3),
        Case("pulsar", {}, [Trial()] * 3),
        expectations=[
            {"id": name, "claim": "…", "system": system, "metric": "done_ns", "transfer": name, "at_most": 1}
            for system, name in dict.fromkeys(
                ("kafka" if trial < 3 else "pulsar", name) for trial, name, _ in rows
            )
        ],
    )
    transfers = [
        {"trial": trial, "transfer": name, "done_ns": time_s * 1e9, "copied_bytes": 2**20 * time_s}
        for trial, name, time_s in rows
    ]
    object.__setattr__(found, "transfers", pd.DataFrame(transfers))
    return found


def test_steps_of_one_figure_stand_in_one_sentence_named_where_a_system_has_several() -> None:
    page = answer(moved((0, "drained", 8), (0, "drained slowly", 20), (3, "drained", 30)), Presentation())

    assert [finding.full_text for finding in page.findings[:2]] == [
        "Time until all was moved: 8 s on Kafka (drained), 20 s on Kafka (drained slowly), 30 s on Pulsar.",
        "Copied over the network: 8 MiB on Kafka (drained), 20 MiB on Kafka (drained slowly), 30 MiB on Pulsar.",
    ]


def test_a_column_is_shared_by_the_steps_of_several_systems() -> None:
    shown = answer(moved((0, "replicas moved", 8), (3, "partitions given anew", 2)), Presentation()).table

    assert shown is not None
    assert [column.head for column in shown.columns][1:3] == [
        *("time until all was moved", "copied over the network"),
    ]
    assert [[cell.text for cell in row.cells[1:3]] for row in shown.rows if not row.heading] == [
        ["8 s", "8 MiB"],
        ["2 s", "2 MiB"],
    ]
