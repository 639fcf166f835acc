"""What the first page says of a run that asks what messages cost, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from bench.numbers import NOTHING
from bench.report import results, sweep
from bench.report.answer import answer
from bench.report.figures import first_page_drawings
from bench.report.presentation import Presentation
from bench.report.results import Results
from tests.report_data import build
from tests.report_sketch import Sketch

ERRORS = {"broker": (0.08, 0.24), "bookie": (0.14, 0.34)}
QUESTION = [{"id": "cpu", "claim": "…", "system": "kafka", "metric": "cpu_per_message_ns"}]


def cost(servers: str, work: str, unit: str, resource: str, value: float) -> dict[str, object]:
    system, role = servers.split()
    median, worst = ERRORS[role]
    return {
        "system": system,
        "role": role,
        "work": work,
        "unit": unit,
        "resource": resource,
        "value": value,
        "configuration": "",
        "low": value / 2,
        "high": value * 2,
        "error_median": median,
        "error_p90": worst,
        "residual_low": 0.5,
        "residual_high": 2.0,
    }


COSTS = pd.DataFrame(
    [
        cost("kafka broker", "taken in", "batch", "cpu_s", 264e-6),
        cost("kafka broker", "copied", "batch", "cpu_s", 500e-6),
        cost("kafka broker", "copied", "byte", "net_in_bytes", 0.97),
        cost("pulsar bookie", "stored", "batch", "cpu_s", 158e-6),
        cost("pulsar bookie", "stored", "byte", "disk_write_bytes", 1.611),
    ]
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder: Path = tmp_path_factory.mktemp("run") / "run"
    made = results.read(build(folder, Sketch(messages=50)))
    return replace(made, costs=COSTS, manifest={**made.manifest, "expectations": QUESTION})


def test_the_page_begins_with_what_a_batch_takes_and_how_far_that_is_off(found: Results) -> None:
    page = answer(found, Presentation())

    costs, errors = (finding.full_text for finding in page.findings[:2])
    assert costs == (
        "On Kafka a batch takes 264 µs (95 % interval 132 to 528) of the CPU of brokers where it is taken in and "
        "500 (250 to 1,000) where it is copied. On Pulsar a batch takes 158 µs (79 to 316) of the CPU of bookies "
        "where it is stored."
    )
    assert errors == (
        "For a configuration that they were not fitted to, these costs miss the use of CPU by 8 % (median; 24 % in the "
        "worst tenth) on Kafka's brokers and 14 % (34 %) on Pulsar's bookies."
    )
    assert page.figure == "batch-costs"


def test_the_table_has_a_row_a_role_and_work(found: Results) -> None:
    shown = answer(found, Presentation()).table

    assert shown is not None
    assert [column.head for column in shown.columns] == [
        *("servers", "work", "CPU of a batch, µs", "to disk", "received"),
    ]
    assert [[cell.text for cell in row.cells] for row in shown.rows] == [
        ["Kafka broker", "taken in", "264 (132 to 528)", NOTHING, NOTHING],
        ["", "copied", "500 (250 to 1,000)", NOTHING, "0.97"],
        ["Pulsar bookie", "stored", "158 (79 to 316)", "1.61", NOTHING],
    ]


def test_the_drawing_has_the_same_figures(found: Results) -> None:
    drawing = first_page_drawings(found, sweep.parts(found))["batch-costs"]

    assert "Kafka broker, copied: 500 µs." in drawing.alt


def test_a_run_that_asks_something_else_has_another_answer(found: Results) -> None:
    throughput = [{**QUESTION[0], "metric": "throughput_msgs_per_s"}]

    page = answer(replace(found, manifest={**found.manifest, "expectations": throughput}), Presentation())

    assert page.figure != "batch-costs"
