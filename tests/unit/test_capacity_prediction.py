"""Capacities predicted from other configurations, worked out by hand."""

import pytest

from bench.sizing.capacity_prediction import HeldRate, predicted_capacities
from bench.sizing.workload import Workload
from bench.systems.registry import describe

WORK = describe("kafka").work

_IDLE, _MESSAGE, _BYTE, _COPY = 0.01, 0.0004, 2e-8, 0.0002
"""Cores an idle broker takes, CPU seconds of a message, of a byte, and of a copy beyond the first."""


def used(rate: float, size: int, copies: int, nodes: int) -> float:
    return nodes * _IDLE + rate * (_MESSAGE + _BYTE * size + _COPY * (copies - 1))


def capacity(size: int, copies: int, nodes: int, allowed: float) -> float:
    return (allowed * 0.3 * nodes - nodes * _IDLE) / (_MESSAGE + _BYTE * size + _COPY * (copies - 1))


def held(size: int, copies: int, nodes: int, *, allowed: float = 0.8, start: str = "one") -> list[HeldRate]:
    """Rates at 30, 60 and 100 % of the capacity, of brokers with 0.3 of a core each."""
    top = capacity(size, copies, nodes, allowed)
    return [
        HeldRate(
            case=f"{size} {copies} {nodes}",
            start=start,
            workload=Workload(share * top, size, copies, 0),
            nodes={"broker": nodes},
            cores={"broker": 0.3 * nodes},
            cpu_shares={"broker": used(share * top, size, copies, nodes) / (0.3 * nodes)},
            confirms=share == 1.0,
        )
        for share in (0.3, 0.6, 1.0)
    ]


POINTS = [(size, copies, nodes) for size in (1_000, 10_000) for copies in (1, 2) for nodes in (2, 3, 5)]


def test_capacities_that_follow_the_model_are_predicted_exactly() -> None:
    rates = [rate for point in POINTS for rate in held(*point, start=f"start of {point[2]}")]
    measured = {
        f"{size} {copies} {nodes}": capacity(size, copies, nodes, 0.8) for size, copies, nodes in POINTS
    }

    found = predicted_capacities(rates, measured, WORK)

    assert [one.case for one in found] == list(measured)
    assert [one.error for one in found] == pytest.approx([0.0] * len(found), abs=1e-6)
    assert {one.role for one in found} == {"broker"}
    assert [one.cpu_share for one in found] == pytest.approx([0.8] * len(found))


def test_one_start_of_each_cluster_is_enough() -> None:
    """As in the scenario: three clusters, each started once, and the copies' cases on all of them."""
    rates = [rate for point in POINTS for rate in held(*point, start=f"start of {point[2]}")]
    without_five = [rate for rate in rates if rate.nodes["broker"] != 5]
    measured = {
        f"{size} {copies} {nodes}": capacity(size, copies, nodes, 0.8)
        for size, copies, nodes in POINTS
        if nodes != 5
    }

    found = predicted_capacities(without_five, measured, WORK)

    assert [one.case for one in found] == list(measured)


def test_a_case_that_stops_earlier_than_the_others_is_predicted_too_high() -> None:
    """The others stop at 80 % of their quota, this one at 50 %: (0.8 · 0.6 - 0.02) / (0.5 · 0.6 - 0.02) = 1.64."""
    early = POINTS[0]
    rates = [
        rate
        for point in POINTS
        for rate in held(*point, allowed=0.5 if point == early else 0.8, start=f"start of {point[2]}")
    ]
    measured = {
        f"{size} {copies} {nodes}": capacity(size, copies, nodes, 0.8) for size, copies, nodes in POINTS
    }
    measured["1000 1 2"] = capacity(*early, 0.5)

    first, *_ = predicted_capacities(rates, measured, WORK)

    assert first.case == "1000 1 2"
    assert first.error == pytest.approx((0.8 * 0.6 - 0.02) / (0.5 * 0.6 - 0.02) - 1)


def test_nothing_is_predicted_where_the_others_can_not_tell_what_the_work_costs() -> None:
    one_size = [rate for nodes in (2, 3) for rate in held(1_000, 1, nodes, start=f"start {nodes}")]

    assert predicted_capacities(one_size, {"1000 1 2": 100.0, "1000 1 3": 150.0}, WORK) == []
    assert predicted_capacities([], {"1000 1 2": 100.0}, WORK) == []
