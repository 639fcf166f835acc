"""Figures of slices by metric, case, round and cycle."""

from __future__ import annotations

from bench.statistics.slice_series import slice_series


def test_slices_of_valid_trials_are_sorted_by_case_round_and_cycle() -> None:
    trials = [
        {"trial": 0, "case": "a", "round": 0, "verdict": "valid"},
        {"trial": 1, "case": "a", "round": 1, "verdict": "invalid"},
        {"trial": 2, "case": "b", "round": 0, "verdict": "valid"},
    ]
    slices = [
        {
            "trial": trial,
            "cycle": cycle,
            "throughput_msgs_per_s": 10.0 * trial + cycle,
            "service_p50_ns": None,
        }
        for trial in (0, 1, 2)
        for cycle in (0, 1)
    ]
    slices[0]["service_p50_ns"] = 7

    assert slice_series(trials, slices) == {
        "throughput_msgs_per_s": {"a": {0: {0: 0.0, 1: 1.0}}, "b": {0: {0: 20.0, 1: 21.0}}},
        "service_p50_ns": {"a": {0: {0: 7}}},
    }
