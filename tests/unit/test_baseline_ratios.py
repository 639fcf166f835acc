"""The table `ratios`: which cases and metrics have a row, and which cases share a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from bench.analysis.clusters import clusters
from bench.analysis.statistics.baseline_ratios import half_widths, ratio_rows
from bench.records.trial import TrialRecord
from bench.statistics.round_ratios import Group

Row = dict[str, Any]


def rows(case: str, rates: list[float], **others: Any) -> list[Row]:
    fixed = {
        "system": case.split(maxsplit=1)[0],
        "case": case,
        "verdict": "valid",
        "due_unsent": None,
        **others,
    }
    return [
        {**fixed, "round": number, "throughput_msgs_per_s": rate, "service_p50_ns": 1e9 / rate}
        for number, rate in enumerate(rates)
    ]


BASELINES = {"kafka": "kafka a"}
CLUSTERS = {"kafka a": Group("one"), "kafka b": Group("one")}


def test_a_closed_loop_has_a_row_for_throughput_and_one_for_service_time() -> None:
    found = ratio_rows(
        [*rows("kafka a", [100.0, 110.0]), *rows("kafka b", [50.0, 54.0])], BASELINES, CLUSTERS, {}
    )

    assert [(row["case"], row["baseline"], row["metric"], row["rounds"]) for row in found] == [
        ("kafka b", "kafka a", "throughput_msgs_per_s", 2),
        ("kafka b", "kafka a", "service_p50_ns", 2),
    ]
    rate, time = (row["ratio"] for row in found)
    assert rate == pytest.approx((50 / 100 * 54 / 110) ** 0.5)
    assert rate * time == pytest.approx(1)
    assert found[0]["low"] < rate < found[0]["high"]


def test_an_open_loop_has_response_times_and_no_throughput() -> None:
    others = {"due_unsent": 0, "response_p99_ns": 7.0, "response_p50_ns": 5.0}
    found = ratio_rows(
        [*rows("kafka a", [10.0] * 2, **others), *rows("kafka b", [10.0] * 2, **others)],
        BASELINES,
        CLUSTERS,
        {},
    )

    assert [row["metric"] for row in found] == ["service_p50_ns", "response_p50_ns", "response_p99_ns"]


def test_one_round_has_a_ratio_and_no_interval() -> None:
    (rate, _) = ratio_rows([*rows("kafka a", [100.0]), *rows("kafka b", [50.0])], BASELINES, CLUSTERS, {})

    assert (rate["ratio"], rate["low"], rate["high"]) == (0.5, None, None)


def test_invalid_trials_and_systems_without_a_baseline_have_no_row() -> None:
    trials = [
        *rows("kafka a", [100.0, 100.0]),
        *rows("kafka b", [50.0, 50.0], verdict="invalid"),
        *rows("pulsar x", [1.0, 1.0]),
        *rows("pulsar y", [2.0, 2.0]),
    ]

    assert ratio_rows(trials, BASELINES, CLUSTERS, {}) == []


def test_the_half_width_of_a_metric_is_the_median_over_its_ratios() -> None:
    ends = [(1 / 1.1, 1.1), (2 / 1.2, 2 * 1.2), (3 / 1.5, 3 * 1.5), (None, None)]
    found = half_widths([{"metric": "service_p50_ns", "low": low, "high": high} for low, high in ends])

    assert found == {"service_p50_ns": pytest.approx(0.2)}


def record(name: str, **configuration: Any) -> TrialRecord:
    return TrialRecord.model_validate(
        {
            "format": 1,
            "trial": 0,
            "round": 0,
            "case": {"system": "pulsar", "name": name, "settings": {}, "configuration": configuration},
            "load": {"pacing": "closed"},
            "state": "finished",
            "verdict": "valid",
        }
    )


SERVERS: Row = {
    "version": "4.0",
    "nodes": {"bookie": 4},
    "cluster_settings": {"bookie": {"journalSyncData": True}},
}


@pytest.mark.parametrize(
    "change",
    [
        {"version": "4.1"},
        {"nodes": {"bookie": 3}},
        {"cluster_settings": {"bookie": {"journalSyncData": False}}},
        {"processor": {"guarantee": "exactly once"}},
        {"disk": {"emulated_fsync": "5ms"}},
        {"faults": [{"name": "slow", "slow-disk": {}}]},
    ],
)
def test_other_servers_are_another_cluster(change: Row) -> None:
    found = clusters([record("a", **SERVERS), record("b", **SERVERS | change)])

    assert found["a"] != found["b"]


def test_groups_of_bookies_share_a_cluster_and_are_not_alike() -> None:
    on, off = ({"bookie": {"journalSyncData": synced}} for synced in (True, False))
    shared = {**SERVERS, "groups": {"on": on, "off": off}}
    found = clusters(
        [
            record("a", **shared | {"cluster_settings": on, "group": "on"}),
            record("b", **shared | {"cluster_settings": off, "group": "off"}),
            record("alone", **SERVERS | {"cluster_settings": on}),
        ]
    )

    assert found["a"].cluster == found["b"].cluster != found["alone"].cluster
    assert len({group.kind for group in found.values()}) == 3


def test_topics_clients_and_the_cost_of_an_fsync_leave_the_cluster_as_it_is() -> None:
    found = clusters(
        [
            record("a", **SERVERS, topic={"quorums": "2-2-2"}, disk={"emulated_fsync": "1ms"}),
            record(
                "b", **SERVERS, topic={"quorums": "3-3-3"}, disk={"emulated_fsync": "5ms"}, producer={"x": 1}
            ),
        ]
    )

    assert found["a"] == found["b"]
