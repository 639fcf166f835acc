"""Verdicts by intervals over rounds, in runs in which nothing is broken."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from bench.analysis.verdicts.claim_forms import Bounds, Order
from bench.analysis.verdicts.comparisons import Basis
from bench.analysis.verdicts.expectations import judge
from bench.model import Interval
from bench.scenario.expectation import Expectation
from bench.statistics.round_ratios import Group

Row = dict[str, Any]

ACKS = {
    "id": "acks",
    "claim": "throughput falls",
    "system": "kafka",
    "metric": "throughput_msgs_per_s",
    "decreasing": {"acks": ["0", "1", "all"]},
}


def rates(acks: str, values: list[float], **others: Any) -> list[Row]:
    fixed = {"system": "kafka", "case": f"kafka acks={acks}", "acks": acks, "verdict": "valid", **others}
    return [{**fixed, "round": number, "throughput_msgs_per_s": value} for number, value in enumerate(values)]


def basis(looks: int = 0) -> Basis:
    return Basis({f"kafka acks={acks}": Group("cluster") for acks in ("0", "1", "all")}, looks)


def judged(cases: Mapping[str, list[float]], claim: Row = ACKS, looks: int = 0) -> Row:
    """Judge a claim by values of acks, a value a round."""
    rows = [row for acks, values in cases.items() for row in rates(acks, values)]
    return judge(claim, rows, ["acks"], basis(looks))


@pytest.mark.parametrize(
    ("ratio", "low", "high", "falls", "verdict"),
    [
        (1.2, 1.1, 1.3, True, "held"),
        (1.2, 0.99, 1.4, True, "undecided"),
        (0.8, 0.7, 0.9, True, "did not hold"),
        (0.8, 0.7, 0.9, False, "held"),
        (1.2, 1.1, 1.3, False, "did not hold"),
        (1.01, 0.98, 1.04, True, "no difference"),
        (1.03, 1.01, 1.04, True, "no difference"),  # there is one, but none that matters
        (1.04, 1.01, 1.08, True, "undecided"),
        (1.06, 1.01, 1.12, True, "held"),
        (0.96, 0.94, 0.99, True, "undecided"),
    ],
)
def test_an_order_by_its_interval(ratio: float, low: float, high: float, falls: bool, verdict: str) -> None:
    assert Order(0.05, falls=falls).verdict(ratio, Interval(low, high)) == verdict


@pytest.mark.parametrize(
    ("low", "high", "interval", "verdict"),
    [
        (0.9, 1.1, (0.95, 1.05), "held"),
        (0.9, 1.1, (0.95, 1.2), "undecided"),
        (0.9, 1.1, (0.8, 1.2), "undecided"),
        (0.9, 1.1, (1.11, 1.2), "did not hold"),
        (0.9, 1.1, (0.5, 0.89), "did not hold"),
        (None, 0.5, (0.3, 0.4), "held"),
        (None, 0.5, (0.4, 0.6), "undecided"),
        (2.0, None, (1.0, 1.5), "did not hold"),
    ],
)
def test_bounds_by_the_whole_interval(
    low: float | None, high: float | None, interval: tuple[float, float], verdict: str
) -> None:
    assert Bounds(low, high).verdict(1.0, Interval(*interval)) == verdict


def test_what_would_decide_is_the_distance_to_what_the_verdict_turns_on() -> None:
    order, bounds = Order(0.05, falls=True), Bounds(0.5, 2.0)

    assert order.reach(1.2) == pytest.approx(math.log(1.2))
    assert order.reach(1.01) == pytest.approx(math.log(1.05 / 1.01))
    assert bounds.reach(1.5) == pytest.approx(math.log(2 / 1.5))
    assert bounds.limit(0.6) == 0.5


def test_two_rounds_decide_a_large_effect() -> None:
    found = judged({"0": [3000, 3100], "1": [2000, 2030], "all": [1000, 1050]})

    assert (found["verdict"], found["smallest_effect"]) == ("held", 0.05)
    assert found["summary"] == "held in 2 of 2 comparisons over 2 rounds"
    first, second = found["comparisons"]
    assert first["ratio_low"] < first["ratio_median"] < first["ratio_high"]
    assert first["ratio_median"] == pytest.approx(math.sqrt(3000 / 2000 * 3100 / 2030))
    assert found["effect"] == first["ratio_median"] < second["ratio_median"]


def test_one_round_decides_nothing() -> None:
    found = judged({"0": [3000], "1": [2000]})

    assert found["verdict"] == "undecided"
    (comparison,) = found["comparisons"]
    assert (comparison["ratio_median"], comparison["ratio_low"]) == (1.5, None)


EQUAL = {"0": [1000.0, 1010.0, 1005.0], "1": [1002.0, 1008.0, 1006.0]}


def test_equals_end_as_no_difference() -> None:
    found = judged(EQUAL)

    assert found["verdict"] == "no difference"
    assert found["summary"] == "no difference larger than 5 % in 1 of 1 comparison over 3 rounds"


def test_an_expectations_own_smallest_effect_comes_first() -> None:
    found = judged(EQUAL, ACKS | {"smallest_effect": 0.001})

    assert (found["verdict"], found["smallest_effect"]) == ("undecided", 0.001)


def test_what_holds_in_one_comparison_and_differs_in_none_of_the_others_is_no_difference() -> None:
    found = judged(EQUAL | {"all": [500.0, 503.0, 502.0]})

    assert found["verdict"] == "no difference"
    assert found["summary"] == (
        "no difference larger than 5 % in 1 of 2 comparisons over 3 rounds (held in 1)"
    )


def test_more_looks_ask_for_more() -> None:
    """Two cases alone, four rounds, p = 1.6 %: enough where nobody looked, too much at the third look (1.06 %)."""
    near = {"0": [1050.0, 1100.0, 1160.0, 1120.0], "1": [1000.0] * 4}

    assert judged(near)["verdict"] == "held"
    assert judged(near, looks=3)["verdict"] == "undecided"


def test_a_time_that_never_came_is_counted_by_rounds() -> None:
    claim = ACKS | {"metric": "response_p99_ns", "decreasing": None, "increasing": {"acks": ["0", "1"]}}
    rows = [row | {"response_p99_ns": 10, "response_min_ns": 1} for row in rates("0", [1.0] * 5)]
    rows += [row | {"response_p99_ns": 15, "response_min_ns": 1} for row in rates("1", [1.0] * 4)]
    rows += [rates("1", [1.0] * 5)[4] | {"response_p99_ns": None, "response_min_ns": 1}]

    (comparison,) = judge(claim, rows, ["acks"], basis())["comparisons"]

    assert (comparison["rounds_for"], comparison["rounds_against"]) == (5, 0)
    assert (comparison["verdict"], comparison["ratio_low"]) == ("held", None)


def test_against_a_claim_in_one_of_many_comparisons_may_be_chance() -> None:
    """The same two cases go against the claim alone (p = 4.1 %), and do not in one of two comparisons."""
    alone = [*rates("0", [1000.0] * 3), *rates("1", [1070.0, 1100.0, 1150.0])]
    assert judge(ACKS, alone, ["acks"], basis())["verdict"] == "did not hold"

    held = [*rates("0", [3000.0] * 3), *rates("1", [1000.0] * 3)]
    rows = [
        {**row, "group": group, "case": f"{group} {row['case']}"}
        for group, members in (("a", alone), ("b", held))
        for row in members
    ]
    found = judge(ACKS, rows, ["group", "acks"], Basis({row["case"]: Group(row["group"]) for row in rows}))

    assert [comparison["verdict"] for comparison in found["comparisons"]] == ["did not hold", "held"]
    assert found["verdict"] == "undecided"
    assert found["summary"].endswith("against it in 1, which chance alone may bring among 2")


def test_an_undecided_comparison_estimates_the_rounds_that_decide_it() -> None:
    (comparison,) = judged({"0": [1100.0, 1060.0, 1190.0], "1": [1000.0, 1040.0, 1000.0]})["comparisons"]

    assert comparison["verdict"] == "undecided"
    assert 3 < comparison["rounds_needed"] < 20


def test_cases_of_two_systems_are_compared_over_cluster_starts() -> None:
    claim = {
        "id": "faster",
        "claim": "Kafka is faster",
        "metric": "throughput_msgs_per_s",
        "ratio": {"of": {"system": "kafka"}, "to": {"system": "pulsar"}, "at_least": 1.5},
    }
    rows = [
        *rates("all", [3000.0, 3300.0, 3100.0]),
        *(row | {"system": "pulsar", "case": "pulsar"} for row in rates("all", [1000.0, 1000.0, 1000.0])),
    ]

    found = judge(claim, rows, ["acks"], Basis({"kafka acks=all": Group("kafka"), "pulsar": Group("pulsar")}))

    assert (found["verdict"], found["smallest_effect"]) == ("held", None)
    assert found["effect"] == pytest.approx((3 * 3.3 * 3.1) ** (1 / 3))


def test_only_an_order_has_a_smallest_effect() -> None:
    common = {"id": "a", "claim": "b", "system": "kafka", "metric": "service_p50_ns", "smallest_effect": 0.1}

    assert Expectation.model_validate(common | {"increasing": {"acks": [1, "all"]}}).smallest_effect == 0.1
    with pytest.raises(ValueError, match="`smallest_effect` belongs to decreasing or increasing"):
        Expectation.model_validate(common | {"at_most": 5})
