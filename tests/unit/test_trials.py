"""What of a trial's record decides what limited it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.analysis.folder import ManifestRecord, PlanRecord, RunRecords
from bench.analysis.job import _summary
from bench.analysis.resources.bottleneck import TrialSetup
from bench.analysis.speed.unsent_counts import UnsentCounts, unsent_counts
from bench.analysis.trials import trial_setup
from bench.analysis.verdicts.deciding_rows import MeasuredRows
from bench.records.trial import TrialRecord
from bench.systems.registry import describe


def record(**changed: Any) -> TrialRecord:
    document = {
        "format": 1,
        "trial": 0,
        "round": 0,
        "case": {"system": "kafka", "name": "kafka", "settings": {}},
        "load": {"pacing": "closed", "producers": 2, "window": 3},
        "state": "finished",
        "verdict": "valid",
    }
    return TrialRecord.model_validate(document | changed)


def case(**configuration: Any) -> dict[str, Any]:
    return {"system": "kafka", "name": "kafka", "settings": {}, "configuration": configuration}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {"open_sends": 6}),
        ({"load": {"pacing": "closed"}}, {}),
        ({"load": {"pacing": [[1.0, 500.0]]}}, {}),  # without a window nobody knows what was due in it
        ({"case": case(producer={"acks": 0})}, {"open_sends": 6, "waits": False, "in_turn": 1}),
        # A send waits for the leader's copy only, then for that and those of both followers, made at once.
        (
            {"case": case(producer={"acks": 1}, topic={"replicas": 2})},
            {"open_sends": 6, "in_turn": 1, "beside": 0.5, "logs": 2},
        ),
        (
            {"case": case(topic={"replicas": 4}, nodes={"broker": 4})},
            {"open_sends": 6, "in_turn": 2, "beside": 0.5},
        ),
        (
            {"case": case(topic={"quorums": "5-4-2"}) | {"system": "pulsar"}},
            {"open_sends": 6, "in_turn": 1, "beside": 0.75},
        ),
        ({"case": case(producer={"acks": "all"}, partitions=12)}, {"open_sends": 6, "logs": 12}),
        # Four partitions with two replicas each are eight logs, two on each of four brokers.
        (
            {"case": case(topic={"replicas": 2}, nodes={"broker": 4}, partitions=4)},
            {"open_sends": 6, "logs": 2},
        ),
        ({"case": case(nodes={"broker": 2}, partitions=4)}, {"open_sends": 6, "logs": 4}),
    ],
)
def test_what_was_asked_is_read_from_the_record(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    system = describe(record(**changed).case.system)
    timers = {name: getattr(system, name) for name in ("request_timer", "fsync_timer", "fsync_wait")}
    logs = 1 if system.name == "kafka" else None

    assert trial_setup(record(**changed)) == TrialSetup(**{"logs": logs} | timers | expected)


@pytest.mark.parametrize(
    ("held", "typical_ns"),
    [
        # 1.15 ms were 1.05 in the gate and 0.1 on the disk; servers' own were in the gate for 1.3 and 1.5 ms.
        ({"b1": {"calls": 900, "p50": 1_300_000}, "b2": {"calls": 20, "p50": 1_500_000}}, 1_500_000),
        ({"b1": {"calls": 900, "p50": 1_300_000}, "b2": {"calls": 19, "p50": 9_000_000}}, 1_400_000),
        ({}, 1_150_000),
    ],
)
def test_an_fsync_costs_what_it_did_before_the_load_and_by_how_much_longer_it_was_held_then(
    held: dict[str, Any], typical_ns: int
) -> None:
    cost = {"p50": 1_150_000, "gate_p50": 1_050_000}
    disk = {"emulated_fsync": "1ms", "fsync_ns": {"b1": cost, "b2": cost, "zk": cost}, "held": held}

    told = record(disk=disk).disk
    assert told
    assert told.typical_ns == typical_ns


def test_what_an_fsync_cost_is_what_it_cost_those_who_keep_messages() -> None:
    """ZooKeeper's were held for long, and the bookie made three."""
    quick, slow = {"p50": 150_000, "gate_p50": 50_000}, {"p50": 900_000, "gate_p50": 50_000}
    held = {"zookeeper-1": {"calls": 900, "p50": 700_000}, "bookie-1": {"calls": 3, "p50": 60_000}}
    costs = {"zookeeper-1": slow, "bookie-1": quick}
    told = record(disk={"emulated_fsync": "as is", "fsync_ns": costs, "held": held}).disk

    assert told
    assert told.typical_ns == 150_000


def test_what_an_fsync_cost_before_it_was_timed_in_the_gate_is_what_it_cost_before_the_load() -> None:
    held = {"b1": {"calls": 900, "p50": 1_300_000}}
    told = record(disk={"emulated_fsync": "1ms", "fsync_ns": {"b1": {"p50": 1_150_000}}, "held": held}).disk

    assert told
    assert told.typical_ns == 1_150_000


WINDOW = {"start_ns": 3_000_000_000, "end_ns": 23_000_000_000}


def slowed(**changed: Any) -> dict[str, Any]:
    """From before the window, 3 s to 23 s, until after it."""
    base = {
        "name": "slow follower",
        "kind": "slow-network",
        "asked_ns": 20_000_000,
        "effect_ns": 1_400_000_000,
    }
    return base | {"heal": "end", "heal_asked_ns": 23_000_004_000, "healed_ns": 23_700_000_000} | changed


@pytest.mark.parametrize(
    ("steps", "broken"),
    [
        ([], False),
        ([slowed()], False),
        ([slowed(), slowed(kind="slow-disk")], False),
        ([slowed(heal_asked_ns=None, healed_ns=None)], False),
        ([slowed(effect_ns=3_000_000_001)], True),
        ([slowed(effect_ns=None)], True),
        ([slowed(heal_asked_ns=22_999_999_999)], True),
        # What takes something away is met by the window even where it came before: others take over in it.
        ([slowed(kind="kill")], True),
        ([slowed(), slowed(kind="kill")], True),
        ([slowed(), {"name": "broker-2 ended", "kind": "ended", "asked_ns": 5, "effect_ns": 5}], True),
    ],
)
def test_what_slows_the_whole_window_breaks_nothing_in_it(steps: list[dict[str, Any]], broken: bool) -> None:
    trial = record(faults=steps, window=WINDOW)

    assert trial.is_fault_trial == broken
    assert trial_setup(trial).broken == broken


def test_without_a_window_nothing_stood_all_the_time() -> None:
    assert record(faults=[slowed()]).is_fault_trial


@pytest.mark.parametrize(
    ("trials", "figure"),
    [
        ([{"faults": [slowed()], "window": WINDOW}], "throughput"),
        (
            [{"faults": [slowed()], "window": WINDOW}, {"faults": [slowed()], "verdict": "invalid"}],
            "throughput",
        ),
        (
            [{"faults": [slowed()], "window": WINDOW}, {"faults": [slowed(kind="kill")], "window": WINDOW}],
            "timeline",
        ),
        ([{"faults": [slowed()], "verdict": "invalid"}], "timeline"),
    ],
)
def test_a_run_is_broken_by_its_valid_trials(trials: list[dict[str, Any]], figure: str) -> None:
    folder = RunRecords(
        path=Path("run"),
        manifest=ManifestRecord(format=1),
        plan=PlanRecord(format=1, swept={}),
        trials=tuple(record(**changed) for changed in trials),
    )

    assert _summary(folder, MeasuredRows([], [], []), 0.0)["figure"] == figure


def paced(window_s: float = 10.0, **load: Any) -> TrialRecord:
    """100 messages a second of two producers, 2 s of warm-up before the window."""
    known = {"pacing": [[10.0, 100.0]], "producers": 2, "window": 5, "warm_up_s": 2.0, "duration_s": 10.0}
    window = {"start_ns": 5_000_000_000, "end_ns": 5_000_000_000 + round(window_s * 1e9)}
    return record(load=known | load, window=window)


def test_the_rate_that_was_asked_for_is_that_of_the_window() -> None:
    """100 a second in the warm-up's 2 s and 4 s of the window, 200 in the other 6: 1,600 were due in 10 s."""
    assert trial_setup(paced()).rate == pytest.approx(100)
    assert trial_setup(paced(pacing=[[4.0, 100.0], [6.0, 200.0]])).rate == pytest.approx(160)
    assert trial_setup(paced(pacing="closed")).rate is None


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (1200, UnsentCounts(0, 0)),
        (
            1195,
            UnsentCounts(0, 0),
        ),  # the last ten were due in the last tenth of a second, and may only have been late
        (1180, UnsentCounts(10, 10)),
        (150, UnsentCounts(1040, 990)),  # 50 of those were due in the warm-up
        (1201, UnsentCounts(0, 0)),
    ],
)
def test_what_was_due_and_never_made(sent: int, expected: UnsentCounts) -> None:
    assert unsent_counts(paced(), {0: sent}) == {0: expected}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (1200, UnsentCounts(0, 0)),
        (
            1000,
            UnsentCounts(0, 0),
        ),  # some of them may have been the warm-up's, so that as many are missing, or none
        (999, UnsentCounts(1, 1)),
        (300, UnsentCounts(700, 700)),
    ],
)
def test_a_load_of_so_many_messages_that_broke_off_did_not_make_the_rest(
    sent: int, expected: UnsentCounts
) -> None:
    assert unsent_counts(paced(duration_s=None, messages=1000), {0: sent}) == {0: expected}


@pytest.mark.parametrize(
    "trial",
    [
        paced(pacing="closed"),
        paced(duration_s=None),
        paced(warm_up_s=None),
        paced(producers=None),
        record(load={"pacing": [[10.0, 100.0]], "producers": 2, "warm_up_s": 2.0, "duration_s": 10.0}),
    ],
)
def test_without_a_schedule_that_ends_nothing_is_due(trial: TrialRecord) -> None:
    assert unsent_counts(trial, {0: 10}) == {}


def test_a_link_that_stood_narrow_over_the_window_is_known_by_node() -> None:
    faults = [{"name": "narrow", "slow-network": {"target": "follower", "mbit_per_s": 4}}]
    steps = [
        {
            "name": "narrow",
            "kind": "slow-network",
            "asked_ns": 0,
            "nodes": ["broker-2"],
            "effect_ns": 1,
            "heal_asked_ns": 200,
            "proven": True,
        }
    ]
    window = {"start_ns": 10, "end_ns": 100}

    assert record(case=case(faults=faults), faults=steps, window=window).links == {"broker-2": 500_000.0}
    assert record(case=case(faults=faults), faults=steps, window={"start_ns": 0, "end_ns": 100}).links == {}
