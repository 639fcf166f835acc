"""The linear model of what work costs, against costs that are known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bench.sizing.cost_observations import MeasuredTrial, configuration_of, costs
from bench.sizing.demand import Demand, Observation, fit
from bench.sizing.workload import READ, TAKEN_IN, Term, Workload
from bench.systems.registry import describe

NODE, MESSAGE, BYTE, BATCH = 0.02, 40e-6, 3e-9, 90e-6
"""Cores of an idle node, and CPU seconds of a message, a byte and a batch."""
BOOKIE = describe("pulsar").work["bookie"]


def true_use(workload: Workload, nodes: int) -> float:
    stored = workload.messages_per_s * workload.copies
    return nodes * NODE + stored * (MESSAGE + workload.message_bytes * BYTE)


def batched_use(workload: Workload, nodes: int) -> float:
    return true_use(workload, nodes) + workload.messages_per_s * workload.copies / workload.batch * BATCH


def observed(noise: float = 0.0, seed: int = 1, starts: int = 4) -> list[Observation]:
    random = np.random.default_rng(seed)
    workloads = [
        Workload(rate, size, copies, 1)
        for rate, size, copies in itertools.product((500.0, 2_000.0), (100, 1_000, 10_000), (1, 3))
    ]
    found = []
    for start in range(starts):
        common = random.normal(0, noise)
        for workload in workloads:
            use = true_use(workload, 3) * math.exp(common + random.normal(0, noise))
            found.append(Observation(str(workload), workload, 3, use, f"start {start}"))
    return found


def bookie_demand() -> Demand:
    return fit(observed(), BOOKIE)


def test_costs_without_noise_are_the_true_ones() -> None:
    demand = bookie_demand()

    assert [(cost.work, cost.unit) for cost in demand.costs] == [
        ("idle", "node"),
        ("stored", "message"),
        ("stored", "byte"),
    ]
    assert [cost.use for cost in demand.costs] == pytest.approx([NODE, MESSAGE, BYTE], rel=1e-6)
    assert demand.residuals == pytest.approx([1.0] * 48)


def test_the_error_of_a_case_is_that_of_a_model_fitted_to_the_others() -> None:
    """One of twelve cases used twice what it should: the eleven others predict half of that, so it is off by a half."""
    odd = observed()[0].case
    demand = fit([replace(one, use=one.use * 2) if one.case == odd else one for one in observed()], BOOKIE)

    assert len(demand.errors) == 12
    assert demand.errors[0] == pytest.approx(-0.5)
    assert bookie_demand().errors == pytest.approx([0.0] * 12, abs=1e-6)


def test_a_batch_has_a_cost_of_its_own_where_batches_differ() -> None:
    workloads = [replace(one.workload, batch=batch) for one in observed(starts=1) for batch in (1.0, 8.0)]
    demand = fit(
        [
            Observation(str(one), one, 3, batched_use(one, 3), start)
            for start, one in itertools.product(("first", "second"), workloads)
        ],
        BOOKIE,
    )

    assert [cost.unit for cost in demand.costs] == ["node", "message", "byte", "batch"]
    assert [cost.use for cost in demand.costs] == pytest.approx([NODE, MESSAGE, BYTE, BATCH], rel=1e-6)
    assert demand.outside(Workload(1_000, 1_000, 3, 1, batch=20), 3) == [
        "messages a batch: 20 (measured: 1 to 8)"
    ]


def test_a_prediction_by_hand() -> None:
    """3 nodes idle at 0.02 cores; 1,000 messages/s of 5 kB on two nodes each: 2,000 x (40 us + 15 us) = 0.11 cores."""
    told = fit(observed(), BOOKIE).predict(Workload(1_000, 5_000, 2, 1), nodes=3)

    assert told.use == pytest.approx(0.06 + 0.11)
    assert told.interval.low == pytest.approx(told.use)
    assert told.interval.high == pytest.approx(told.use)


def test_intervals_hold_the_true_use_nearly_as_often_as_they_say() -> None:
    wanted = Workload(1_000, 5_000, 2, 1)
    held = 0
    for seed in range(200):
        told = fit(observed(noise=0.05, seed=seed), BOOKIE).predict(wanted, nodes=3)
        held += told.interval.low <= true_use(wanted, 3) <= told.interval.high

    assert held >= 0.93 * 200


def test_a_cost_that_cannot_be_told_apart_is_part_of_another() -> None:
    """With one group of consumers in every trial, reading a message is part of taking it in."""
    observations = [
        Observation(f"{rate} {size}", Workload(rate, size, 1, 1), 1, 0.1 + rate * (1e-5 + size * 1e-9), start)
        for start in ("one", "two")
        for rate, size in itertools.product((500.0, 1_000.0, 2_000.0), (100, 1_000))
    ]

    demand = fit(observations, (TAKEN_IN, READ))

    assert [(cost.work, cost.unit) for cost in demand.costs] == [
        ("idle", "node"),
        ("taken in", "message"),
        ("taken in", "byte"),
    ]


def test_one_trial_with_larger_batches_is_no_cost_of_batches() -> None:
    """All messages went alone, but for one trial of 24 where 1.29 went in a request."""
    *others, last = observed(starts=2)
    demand = fit([*others, replace(last, workload=replace(last.workload, batch=1.29))], BOOKIE)

    assert [cost.unit for cost in demand.costs] == ["node", "message", "byte"]


def test_what_lies_far_from_what_was_measured_is_told() -> None:
    demand = fit(observed(), BOOKIE)
    far = Workload(4_200, 1_000, 3, 1)

    assert demand.outside(far, nodes=3) == ["messages/s a node: 1,400 (measured: 167 to 667)"]
    assert demand.predict(far, nodes=3).use == pytest.approx(true_use(far, 3))
    assert demand.outside(Workload(8_000, 1_000, 3, 1), nodes=6) == []


@pytest.mark.parametrize(
    ("observations", "said"),
    [
        (observed(starts=1), "two cluster starts"),
        (observed()[:3] + observed()[12:15], "more than 3 cases"),
        ([observed()[place] for place in (0, 1, 6, 5, 12, 13, 18, 17)], "without .* can't tell all costs"),
    ],
)
def test_too_little_to_tell_costs_is_refused(observations: list[Observation], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fit(observations, BOOKIE)


def test_where_nothing_is_used_no_work_costs_anything() -> None:
    unused = fit([replace(one, use=0.0) for one in observed()], BOOKIE)
    told = unused.predict(Workload(1_000, 1_000, 3, 1), nodes=3)

    assert unused.costs == ()
    assert (told.use, told.interval.low, told.interval.high) == (0, 0, 0)


def test_a_resource_that_one_start_alone_used_is_fitted() -> None:
    seldom = [replace(one, use=one.use if one.start == "start 0" else 0.0) for one in observed()]

    assert fit(seldom, BOOKIE).predict(Workload(1_000, 1_000, 3, 1), nodes=3).interval.low == 0


def test_work_by_role() -> None:
    """A broker of Kafka takes in each message once, copies it to two others and hands it to two groups."""
    workload = Workload(1, 1, copies=3, groups=2)

    assert [term.times(workload) for term in describe("kafka").work["broker"]] == [1, 2, 2]
    assert [term.times(workload) for term in describe("pulsar").work["broker"]] == [1, 3, 2]
    assert [term.times(workload) for term in describe("pulsar").work["bookie"]] == [3]


def use_rows(numbers: list[int], metric: str = "cpu_s") -> list[dict[str, object]]:
    return [
        {"trial": number, "role": "bookie", "nodes": 3, "metric": metric, "value": observed()[number].use}
        for number in numbers
    ]


def measured_trials(configuration: str = "") -> list[MeasuredTrial]:
    return [
        MeasuredTrial(
            number, "pulsar", one.case, configuration, one.start, one.workload, {"bookie": 3, "broker": 2}
        )
        for number, one in enumerate(observed())
    ]


def work(system: str) -> Mapping[str, Sequence[Term]]:
    return describe(system).work


def test_costs_of_measured_trials() -> None:
    (found,), refused = costs(measured_trials("acknowledged=from disk"), use_rows(list(range(48))), work)

    assert (found.system, found.configuration) == ("pulsar", "acknowledged=from disk")
    assert (found.role, found.resource) == ("bookie", "cpu_s")
    assert [cost.use for cost in found.demand.costs] == pytest.approx([NODE, MESSAGE, BYTE], rel=1e-6)
    assert refused == []


def test_where_trials_tell_too_little_the_reason_is_told() -> None:
    found, (refused,) = costs(measured_trials(), use_rows([0, 1, 12, 13]), work)

    assert found == []
    assert (refused.role, refused.resource) == ("bookie", "cpu_s")
    assert refused.reason == "2 costs take more than 2 cases"


def test_what_does_not_grow_with_work_has_no_cost() -> None:
    assert costs(measured_trials(), use_rows(list(range(48)), "rss_bytes"), work) == ([], [])


def test_a_trial_of_which_some_server_was_not_looked_at_does_not_count() -> None:
    rows = [row | {"nodes": 2} for row in use_rows(list(range(48)))]

    assert costs(measured_trials(), rows, work) == ([], [])


def test_what_is_no_input_names_a_configuration() -> None:
    settings = {"replicas": "3", "rate": "100", "acknowledged": "from disk", "acks": "all"}

    assert configuration_of(settings, {"replicas"}) == "acknowledged=from disk acks=all"
