"""The key `capacity` of a scenario."""

from pathlib import Path

import pytest

from bench.errors import ScenarioError
from bench.run.plan import Plan, plan
from bench.scenario import load

SCENARIO = """\
name: rates
title: Rates
question: How much does it carry?
systems: {memory: {}}
capacity: {response_p99: 20ms, search: 2s, confirm: 5s, settle: 1s}
load: {producers: 2}
duration: 1s
repeats: 1
"""


def made(folder: Path, text: str = SCENARIO) -> Plan:
    file = folder / "rates.yaml"
    file.write_text(text, encoding="utf-8")
    return plan(load(file), seed=1)


def test_a_case_has_the_level_and_the_times_in_seconds(tmp_path: Path) -> None:
    (trial,) = made(tmp_path).trials

    assert trial.case.capacity == {
        "response_p99_s": 0.02,
        "end_to_end_p99_s": 0.1,
        "search_s": 2.0,
        "confirm_s": 5.0,
        "settle_s": 1.0,
    }


def test_a_search_makes_a_run_longer(tmp_path: Path) -> None:
    without = SCENARIO.replace(SCENARIO.splitlines()[4], "")

    assert made(tmp_path).seconds() - made(tmp_path, without).seconds() == pytest.approx(10 * 3 + 13 * 6)


@pytest.mark.parametrize(
    ("wanted", "instead", "message"),
    [
        ("producers: 2", "rate: 100", "capacity finds the rate itself"),
        ("duration: 1s", "messages: 100", "capacity needs trials in slices"),
        ("repeats: 1", "repeats: 1\nconsumers: 0", "set consumers to 1 or more"),
        ("20ms", "20", "a duration is a number with its unit"),
        ("search: 2s", "search: 100ms", "greater than or equal to 0.5"),
        ("search:", "look:", "no such key"),
    ],
)
def test_a_search_that_cannot_be_is_refused(tmp_path: Path, wanted: str, instead: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        made(tmp_path, SCENARIO.replace(wanted, instead))
