"""What a report says of a round that was off as a whole: against results made up to be so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from bench.report.results import Results, read
from bench.report.sections import machine_speed
from tests.report_data import build
from tests.report_sketch import Sketch

TIMES = "\N{MULTIPLICATION SIGN}"


@pytest.fixture(scope="module")
def even(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return read(build(tmp_path_factory.mktemp("run") / "even", Sketch(rounds=2, messages=200)))


def with_round(results: Results, probe_ns: float, **changed: Any) -> Results:
    """The same run, whose second Pulsar round was off and had the machine's probe take so long."""
    off = {"system": "pulsar", "round": 1, "ratio": 2.4, "cases": 12, "agree": 12} | changed
    trials = results.trials
    there = (trials["system"] == "pulsar") & (trials["round"] == 1)
    probes = trials["machine_probe_ns"].where(~there, probe_ns)
    return replace(
        results,
        summary={**results.summary, "rounds_apart": [off]},
        trials=trials.assign(machine_probe_ns=probes),
    )


def test_nothing_is_said_of_even_rounds_or_of_a_run_that_does_not_tell(even: Results) -> None:
    assert "rounds_apart" not in even.summary
    assert machine_speed.apart(even) == []


def test_a_slow_round_is_told_with_the_machine_that_was_slow_before_it(even: Results) -> None:
    (said,) = machine_speed.apart(with_round(even, 6_250_000))
    assert said.startswith(
        f"Round 2 of Pulsar was off as a whole: its sends took 2.4{TIMES} as long as in a round in the middle, in all "
        f"of its 12 cases. So was the machine, slower before its trials than before the others: a fixed piece of "
        f"work took 2.5{TIMES} as long."
    )


def test_where_the_machine_ran_as_before_nobody_knows_why(even: Results) -> None:
    (said,) = machine_speed.apart(with_round(even, 2_600_000, agree=11))
    assert "the same way in 11 of its 12 cases. What was timed" in said
    assert "does not show why" in said


def test_each_way_in_which_the_machine_was_slow_is_told(even: Results) -> None:
    trials = even.trials.assign(machine_probe_ns=2.5e6, machine_wake_ns=5e4)
    trials.loc[trials.index[0], ["machine_probe_ns", "machine_wake_ns"]] = [5e6, 2e5]
    said = machine_speed.unsteady(replace(even, trials=trials))
    assert said is not None
    assert f": 2{TIMES} for a fixed piece of work, 4{TIMES} for waking a process on another core." in said


@pytest.mark.parametrize(
    ("systems", "included"), [(["kafka", "pulsar"], True), (["kafka"], False), ([], False)]
)
def test_ratios_between_capacities_of_both_systems_include_a_slow_machine(
    even: Results, systems: list[str], included: bool
) -> None:
    trials = even.trials.assign(machine_probe_ns=2.5e6)
    trials.loc[trials.index[0], "machine_probe_ns"] = 5e6
    capacities = pd.DataFrame({"system": systems})

    said = machine_speed.unsteady(replace(even, trials=trials, capacities=capacities))

    assert said is not None
    assert ("Searches run one system after the other" in said) is included


def test_a_slow_machine_does_not_explain_a_fast_round(even: Results) -> None:
    (said,) = machine_speed.apart(with_round(even, 6_250_000, ratio=0.5))
    assert "does not show why" in said


def test_a_fast_machine_does(even: Results) -> None:
    (said,) = machine_speed.apart(with_round(even, 1_250_000, ratio=0.5))
    assert (
        f"faster before its trials than before the others: a fixed piece of work took 0.5{TIMES} as long."
        in said
    )


def test_the_probe_that_was_not_timed_says_nothing(even: Results) -> None:
    (said,) = machine_speed.apart(with_round(even, float("nan")))
    assert "does not show why" in said
