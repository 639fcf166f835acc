"""Both systems at the same points of a sweep: medians, and ratios paired by round."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.analysis import case_tables
from bench.analysis.folder import ManifestRecord, PlanRecord, RunRecords
from bench.analysis.statistics.system_comparison import sides
from bench.analysis.verdicts.deciding_rows import MeasuredRows
from bench.guarantee import Guarantee
from bench.records.steps import StrikeRecord
from bench.records.trial import Window
from tests.unit.test_cases import record

Row = dict[str, Any]


def rows(system: str, level: str, rates: list[float], **others: Any) -> list[Row]:
    fixed = {
        "system": system,
        "case": f"{system} level={level}",
        "level": level,
        "verdict": "valid",
        **others,
    }
    return [
        {**fixed, "round": number, "throughput_msgs_per_s": rate, "service_p99_ns": 10.0, "e2e_p99_ns": None}
        for number, rate in enumerate(rates)
    ]


BOTH = {"kafka": ["level"], "pulsar": ["level"]}


def test_ratios_are_paired_by_round() -> None:
    """Round by round 2, 4, 2, 2, 5: their geometric mean is 160 ** 0.2, where the medians' ratio is 5."""
    trials = [
        *rows("kafka", "one node", [20.0, 40.0, 60.0, 80.0, 50.0]),
        *rows("pulsar", "one node", [10.0, 10.0, 30.0, 40.0, 10.0]),
        *rows("kafka", "Kafka's defaults", [99.0] * 5),
    ]

    found = sides(trials, BOTH, {}, {}, {}, {})

    assert found is not None
    assert (found["systems"], found["settings"]) == (["kafka", "pulsar"], ["level"])
    (point,) = found["points"]
    assert point["values"] == {"level": "one node"}
    assert point["cases"] == ["kafka level=one node", "pulsar level=one node"]
    rate = point["throughput_msgs_per_s"]
    levels = (rate["first"], rate["second"])
    assert levels == pytest.approx(((20 * 40 * 60 * 80 * 50) ** 0.2, (10 * 10 * 30 * 40 * 10) ** 0.2))
    assert rate["rounds"] == 5
    assert rate["ratio"] == pytest.approx(160**0.2)
    assert rate["low"] * rate["high"] == pytest.approx(160**0.4)
    assert rate["low"] < 2.0
    assert point["service_p99_ns"]["ratio"] == pytest.approx(1.0)
    assert point["e2e_p99_ns"]["ratio"] is None


def test_a_median_that_falls_among_what_never_came_has_no_value() -> None:
    """Three of Kafka's five trials have no p99: what two others had is no median of them."""
    trials = [
        *rows("kafka", "one node", [20.0] * 5, e2e_min_ns=1.0),
        *rows("pulsar", "one node", [10.0] * 5, e2e_min_ns=1.0),
    ]
    for row, value in zip(trials, [None, None, None, 10.0, 12.0, *[20.0] * 5], strict=True):
        row["e2e_p99_ns"] = value

    found = sides(trials, BOTH, {}, {}, {}, {})

    assert found is not None
    said = found["points"][0]["e2e_p99_ns"]
    assert [said[name] for name in ("first", "second", "ratio", "low", "rounds")] == [
        None,
        20.0,
        None,
        None,
        5,
    ]


def test_a_round_without_a_valid_trial_on_both_sides_is_left_out() -> None:
    trials = [*rows("kafka", "a", [20.0, 90.0]), *rows("pulsar", "a", [10.0])]
    trials += [row | {"round": 1} for row in rows("pulsar", "a", [1.0], verdict="invalid")]

    found = sides(trials, BOTH, {}, {}, {}, {})

    assert found is not None
    (point,) = found["points"]
    rate = point["throughput_msgs_per_s"]
    assert (rate["rounds"], rate["ratio"], rate["low"]) == (1, 2.0, None)


def test_a_system_alone_is_not_compared() -> None:
    trials = [*rows("kafka", "a", [20.0]), *rows("pulsar", "a", [10.0])]

    assert sides(trials, {"kafka": ["level"]}, {}, {}, {}, {}) is None
    assert sides(rows("kafka", "a", [1.0]), BOTH, {}, {}, {}, {}) is None


def test_systems_that_sweep_other_things_are_matched_by_what_they_promise() -> None:
    """Of what survives one node Kafka's b and Pulsar's y make the fewest copies; nothing of Pulsar promises as c."""
    node, copy, two = Guarantee("broker", nodes=1), Guarantee("broker", nodes=0), Guarantee("broker", nodes=2)
    kafka = {"a": (node, 10.0), "b": (node, 30.0), "c": (two, 5.0), "d": (None, 99.0), "e": (copy, 40.0)}
    pulsar = {"x": (node, 15.0), "y": (node, 20.0), "z": (copy, 50.0)}
    trials = [
        *(
            row
            for name, (_, rate) in kafka.items()
            for row in rows("kafka", name, [rate] * 5, partitions="1")
        ),
        *(
            {**row, "quorums": name}
            for name, (_, rate) in pulsar.items()
            for row in rows("pulsar", name, [rate] * 5, partitions="1")
        ),
    ]
    promises = {f"kafka level={name}": promise for name, (promise, _) in kafka.items()}
    promises |= {f"pulsar level={name}": promise for name, (promise, _) in pulsar.items()}
    copies = {"kafka level=a": 3, "kafka level=b": 2, "pulsar level=x": 3, "pulsar level=y": 2}
    swept = {"kafka": ["partitions", "level"], "pulsar": ["quorums", "partitions"]}

    found = sides(trials, swept, promises, copies, {}, {})

    assert found is not None
    assert found["matched"]
    assert found["settings"] == ["partitions", "Kafka settings", "Pulsar settings"]
    one_node, alone = found["points"]
    assert one_node["values"] == {
        "partitions": "1",
        "Kafka settings": "level=b",
        "Pulsar settings": "quorums=y",
    }
    assert (one_node["same"], one_node["throughput_msgs_per_s"]["ratio"]) == (True, pytest.approx(1.5))
    assert alone["cases"] == ["kafka level=e", "pulsar level=z"]
    assert [point["throughput_msgs_per_s"]["low"] for point in found["points"]] == [
        pytest.approx(1.5),
        pytest.approx(0.8),
    ]


def test_the_fewest_copies_stand_for_a_promise_and_the_figures_have_the_ratio() -> None:
    """Kafka's b is faster than a, and c makes one copy more: round by round a is 2, 4 and 1 times x."""
    rates = {"c": [99.0, 99.0, 99.0], "a": [20.0, 40.0, 10.0], "b": [50.0, 50.0, 50.0]}
    trials = [row for name, told in rates.items() for row in rows("kafka", name, told)]
    trials += rows("pulsar", "x", [10.0] * 3, quorums="1")
    node = Guarantee("broker", nodes=1)
    copies = {"kafka level=c": 3, "kafka level=a": 2, "kafka level=b": 2, "pulsar level=x": 2}

    found = sides(
        trials, {"kafka": ["level"], "pulsar": ["quorums"]}, dict.fromkeys(copies, node), copies, {}, {}
    )

    assert found is not None
    rate = found["points"][0]["throughput_msgs_per_s"]
    assert found["points"][0]["cases"][0] == "kafka level=a"
    assert rate["ratio"] == pytest.approx(2.0)
    assert rate["first"] / rate["second"] == pytest.approx(rate["ratio"])


@pytest.mark.parametrize(("valid", "chosen"), [(1, "a"), (4, "a"), (5, "c")])
def test_what_has_few_valid_rounds_stands_for_none_that_has_enough(valid: int, chosen: str) -> None:
    """Kafka's c makes fewer copies, and has as many rounds as are valid."""
    trials = [*rows("kafka", "a", [10.0] * 5), *rows("kafka", "c", [30.0] * valid)]
    trials += rows("pulsar", "x", [10.0] * 5, quorums="1")
    node = Guarantee("broker", nodes=1)
    copies = {"kafka level=a": 3, "kafka level=c": 2, "pulsar level=x": 2}

    found = sides(
        trials, {"kafka": ["level"], "pulsar": ["quorums"]}, dict.fromkeys(copies, node), copies, {}, {}
    )

    assert found is not None
    (point,) = found["points"]
    assert point["cases"][0] == f"kafka level={chosen}"
    assert point["throughput_msgs_per_s"]["rounds"] == 5


def test_where_all_have_few_valid_rounds_the_fewest_copies_stand_for_them() -> None:
    trials = [*rows("kafka", "a", [10.0]), *rows("kafka", "c", [30.0])]
    trials += rows("pulsar", "x", [10.0], quorums="1")
    node = Guarantee("broker", nodes=1)
    copies = {"kafka level=a": 3, "kafka level=c": 2, "pulsar level=x": 2}

    found = sides(
        trials, {"kafka": ["level"], "pulsar": ["quorums"]}, dict.fromkeys(copies, node), copies, {}, {}
    )

    assert found is not None
    assert found["points"][0]["cases"][0] == "kafka level=c"


def test_systems_that_promise_nothing_alike_are_not_matched() -> None:
    trials = [*rows("kafka", "a", [20.0]), *rows("pulsar", "a", [10.0], quorums="1")]
    swept = {"kafka": ["level"], "pulsar": ["level", "quorums"]}
    one, other = Guarantee("broker", nodes=1), Guarantee("bookie", nodes=0)

    assert sides(trials, swept, {}, {}, {}, {}) is None
    assert sides(trials, swept, {"kafka level=a": one, "pulsar level=a": other}, {}, {}, {}) is None


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Guarantee("bookie", nodes=1, spare=0), True),
        (Guarantee("bookie", nodes=1, power=True, spare=0), False),
        (None, None),
    ],
)
def test_a_point_says_whether_both_promise_the_same(other: Guarantee | None, same: bool | None) -> None:
    one = Guarantee("broker", nodes=1, spare=1)
    trials = [*rows("kafka", "a", [20.0]), *rows("pulsar", "a", [10.0])]

    found = sides(trials, BOTH, {"kafka level=a": one, "pulsar level=a": other}, {}, {}, {})

    assert found is not None
    (point,) = found["points"]
    assert point["same"] is same
    assert point["survives"] == [
        "the loss of any one node, not a power cut of all nodes",
        other and other.survives,
    ]
    assert point["go_on"] == [True, None if other is None else False]


def test_points_come_in_the_scenarios_order_with_promises_and_there_are_none_by_narrow_links() -> None:
    swept = {"kafka": ["acks"], "pulsar": ["acks"]}
    cases = [f"{system} acks={acks}" for system in swept for acks in ("all", "1")]
    records = tuple(
        record(number, name, system=name.split()[0], acks=name.partition("=")[2], replicas=1, quorums="1-1-1")
        for number, name in enumerate(reversed(cases))
    )
    trials = [
        {**row, "trial": number, "acks": name.partition("=")[2], "case": name}
        for number, name in enumerate(reversed(cases))
        for row in rows(name.split()[0], "", [10.0])
    ]
    plan = PlanRecord(format=1, swept=swept, cases=cases)

    folder = RunRecords(Path(), ManifestRecord(format=1), plan, records)
    found = case_tables.both_systems(folder, MeasuredRows(trials, [], []))

    assert found is not None
    assert [point["values"] for point in found["points"]] == [{"acks": "all"}, {"acks": "1"}]
    assert [point["survives"][1] for point in found["points"]] == [
        "a power cut, not the loss of its bookie"
    ] * 2
    assert {point["same"] for point in found["points"]} == {False}

    narrow = {"name": "narrow", "slow-network": {"target": "follower", "mbit_per_s": 4}}
    step = StrikeRecord(
        name="narrow", kind="slow-network", nodes=["broker-2"], asked_ns=0, effect_ns=1, proven=True
    )
    linked = records[0].model_copy(
        update={
            "faults": [step],
            "window": Window(start_ns=10, end_ns=100),
            "case": records[0].case.model_copy(update={"configuration": {"faults": [narrow]}}),
        }
    )
    assert linked.links
    assert (
        case_tables.both_systems(replace(folder, trials=(linked, *records[1:])), MeasuredRows(trials, [], []))
        is None
    )
