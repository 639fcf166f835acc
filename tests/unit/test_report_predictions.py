"""Predicted capacities in a report: their errors, the table, the finding."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from bench.report.answer.sentences import sentence
from bench.report.figures import predictions
from bench.report.sections.predictions import prediction_errors

COLUMNS = ["system", "case", "configuration", "role", "cpu_share", "measured", "predicted"]


def results(*rows: tuple[str, float, float]) -> Any:
    table = [
        (system, f"{system} {place}", "", "broker", 0.8, measured, predicted)
        for place, (system, measured, predicted) in enumerate(rows)
    ]
    capacities = pd.DataFrame({"system": [system for system, *_ in rows]})
    return SimpleNamespace(predictions=pd.DataFrame(table, columns=COLUMNS), capacities=capacities)


def test_errors_are_sizes_over_the_cases_of_a_system() -> None:
    """Off by -10, +20 and +5 %: 10 % in the middle, 20 % in the worst tenth."""
    measured = results(("kafka", 100, 90), ("kafka", 100, 120), ("kafka", 200, 210), ("pulsar", 50, 50))

    found = prediction_errors(measured.predictions, measured.capacities)

    assert list(found) == ["kafka", "pulsar"]
    assert (found["kafka"].count, found["pulsar"].count) == (3, 1)
    assert found["kafka"].median == pytest.approx(0.1)
    assert found["kafka"].worst_tenth == pytest.approx(0.2)
    assert found["pulsar"].median == 0


def test_without_predictions_there_are_no_errors() -> None:
    assert prediction_errors(results().predictions, results().capacities) == {}


def test_the_figure_says_how_many_predictions_are_near() -> None:
    """Off by -10, +20 and +50 %: two of three are within a quarter."""
    made = predictions.drawing(results(("kafka", 100, 90), ("kafka", 100, 120), ("kafka", 200, 300)))

    assert made is not None
    assert made.alt.endswith("Kafka: 2 of 3 predictions within 25 %, all from -10 % to +50 %.")
    assert "<svg" in made.svg


def test_without_predictions_there_is_no_figure() -> None:
    assert predictions.drawing(results()) is None


def test_the_finding_names_both_systems() -> None:
    errors = [
        {"system": "Kafka", "count": 20, "capacities": 20, "median": "7.1 %", "worst_tenth": "19 %"},
        {"system": "Pulsar", "count": 18, "capacities": 20, "median": "9.0 %", "worst_tenth": "24 %"},
    ]

    assert sentence("prediction-error", {"errors": errors}) == (
        "A model fitted to the other configurations predicted 20 of 20 capacities on Kafka with an error of 7.1 % "
        "(median; 19 % in the worst tenth) and 18 of 20 on Pulsar with an error of 9.0 % "
        "(median; 24 % in the worst tenth)."
    )


def test_the_finding_of_a_read_beside_the_load_has_each_configuration() -> None:
    times = ("send_before", "send_during", "e2e_before", "e2e_during")
    found = [
        {
            "label": "little memory",
            "consumed": True,
            **dict(zip(times, ("5 ms", "90 ms", "6 ms", "91 ms"), strict=True)),
        },
        {"label": "", "consumed": True, **dict(zip(times, ("4 ms", "5 ms", "5 ms", "6 ms"), strict=True))},
    ]

    assert sentence("concurrent-reads", {"system": "Kafka", "cases": found}) == (
        "On Kafka, reading old messages took the p99 of sends from 5 ms to 90 ms and that of end-to-end times from 6 "
        "ms to 91 ms (little memory); from 4 ms to 5 ms and from 5 ms to 6 ms."
    )


def test_without_a_consumer_only_sends_are_told() -> None:
    found = [{"label": "", "consumed": False, "send_before": "4 ms", "send_during": "5 ms"}]

    assert sentence("concurrent-reads", {"system": "Kafka", "cases": found}) == (
        "On Kafka, reading old messages took the p99 of sends from 4 ms to 5 ms."
    )
