from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from bench.model import Cluster
from bench.run import trial_record
from bench.run.plan import Plan, plan
from bench.scenario import load
from bench.systems.pulsar import bookie_groups

SWEEP = """\
name: sync
title: Journals
question: What does it cost?
systems:
  kafka:
    topic: {replicas: [1, 2]}
  pulsar:
    nodes: {zookeeper: 1, bookie: 3, broker: 1}
    topic: {quorums: [1-1-1, 2-2-2]}
    bookie: {journalSyncData: [true, false], journalMaxGroupWaitMSec: 2}
duration: 1s
repeats: 2
"""
ON, OFF = "journalSyncData=true", "journalSyncData=false"


def made(folder: Path, text: str = SWEEP) -> Plan:
    file = folder / "sync.yaml"
    file.write_text(text, encoding="utf-8")
    return plan(load(file), seed=1)


def test_cases_that_differ_in_their_bookies_run_on_one_cluster(tmp_path: Path) -> None:
    starts = made(tmp_path).clusters()

    assert sorted((cluster.system, len(trials)) for cluster, trials in starts) == [
        ("kafka", 2),
        ("kafka", 2),
        ("pulsar", 4),
        ("pulsar", 4),
    ]
    (cluster, trials) = next(start for start in starts if start[0].system == "pulsar")
    assert {trial.case.group for trial in trials} == {ON, OFF}
    for trial in trials:
        own = cluster.settings_of(trial.case.group)["bookie"]
        assert own == {"journalSyncData": trial.case.swept["journalSyncData"], "journalMaxGroupWaitMSec": 2}


def test_clusters_of_both_systems_run_side_by_side(tmp_path: Path) -> None:
    chosen = made(tmp_path)

    starts = chosen.starts()

    assert [sorted(cluster.system for cluster, _ in start) for start in starts] == [["kafka", "pulsar"]] * 2
    assert [sum(len(trials) for _, trials in start) for start in starts] == [6, 6]
    missing = [trial for trial in chosen.trials if trial.round == 1 and trial.case.system == "kafka"]
    assert [[cluster.system for cluster, _ in start] for start in chosen.starts(missing)] == [["kafka"]]


PAIRS = """\
  kafka:
    variants:
      size:
        small: {nodes: {broker: 1}, topic: {replicas: 1}}
        large: {nodes: {broker: 3}, topic: {replicas: 2}}
"""


PULSAR_PAIRS = """\
    variants:
      size:
        small: {nodes: {broker: 1}, topic: {quorums: 1-1-1}}
        large: {nodes: {broker: 2}, topic: {quorums: 2-2-2}}
"""


def test_clusters_of_searches_run_one_after_another_each_with_bookies_of_its_own(tmp_path: Path) -> None:
    """Servers that stand still for a held rate lose their sessions (seen: bookies that exit)."""
    chosen = made(tmp_path, SWEEP + "capacity: {}\n")

    starts = chosen.starts([trial for trial in chosen.trials if trial.round == 0])

    assert [len(start) for start in starts] == [1, 1, 1]
    assert not any(cluster.groups for start in starts for cluster, _ in start)


def sizes(chosen: Plan) -> list[list[tuple[str, int | None]]]:
    """How many brokers each cluster has, of those that run side by side."""
    return sorted(
        sorted((cluster.system, cluster.nodes.get("broker")) for cluster, _ in start)
        for start in chosen.starts()
    )


def test_the_second_clusters_of_both_systems_run_side_by_side(tmp_path: Path) -> None:
    """Two clusters of one system have the same addresses."""
    text = SWEEP.replace("  kafka:\n    topic: {replicas: [1, 2]}\n", PAIRS)
    text = text.replace("    topic: {quorums: [1-1-1, 2-2-2]}\n", PULSAR_PAIRS)

    assert sizes(made(tmp_path, text)) == [
        *[[("kafka", 1), ("pulsar", 1)]] * 2,
        *[[("kafka", 3), ("pulsar", 2)]] * 2,
    ]


def test_where_systems_have_not_as_many_clusters_each_runs_alone(tmp_path: Path) -> None:
    """Else one of Kafka's would have a Pulsar cluster beside it, and the other would not."""
    text = SWEEP.replace("  kafka:\n    topic: {replicas: [1, 2]}\n", PAIRS)

    assert sizes(made(tmp_path, text)) == [
        *[[("kafka", 1)]] * 2,
        *[[("kafka", 3)]] * 2,
        *[[("pulsar", 1)]] * 2,
    ]


def test_a_trial_keeps_its_own_bookies_settings_and_those_beside_it(tmp_path: Path) -> None:
    trial = next(trial for trial in made(tmp_path).trials if trial.case.swept.get("journalSyncData") is False)

    told = trial_record.blank(trial).case.configuration

    own = {"journalSyncData": False, "journalMaxGroupWaitMSec": 2}
    assert told["cluster_settings"]["bookie"] == own
    assert told["nodes"]["bookie"] == 3
    assert told["group"] == OFF
    assert told["groups"] == {ON: {"bookie": own | {"journalSyncData": True}}, OFF: {"bookie": own}}


@pytest.mark.parametrize(
    ("wanted", "instead"),
    [
        ("    bookie:", "    faults: [{name: cut, when: {acks: 1}, kill: {target: bookie 1}}]\n    bookie:"),
        ("bookie: 3", "bookie: 6"),
        ("duration: 1s", "messages: 100"),
    ],
    ids=["a fault", "more bookies than addresses", "one contiguous load"],
)
def test_else_each_has_a_cluster_of_its_own(tmp_path: Path, wanted: str, instead: str) -> None:
    found = made(tmp_path, SWEEP.replace(wanted, instead))

    assert all(not trial.case.group and not trial.case.cluster.groups for trial in found.trials)
    contiguous = [start for start in found.starts() if start[0][1][0].case.load.slices is None]
    assert all(len(start) == 1 for start in contiguous)


def test_a_machine_without_the_memory_keeps_clusters_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=2**30))

    chosen = made(tmp_path)

    assert len([cluster for cluster, _ in chosen.clusters() if cluster.system == "pulsar"]) == 4
    assert all(len(start) == 1 for start in chosen.starts())


def pulsar(**changes: object) -> Cluster:
    return Cluster("pulsar", "4.0.8", {"bookie": 2}, **changes)  # type: ignore[arg-type]


def test_groups_are_named_by_what_differs() -> None:
    settings = ({"a": 1, "journalSyncData": True}, {"a": 1}, {"a": 1, "b": 2})

    found = bookie_groups.shared_cluster([pulsar(settings={"bookie": own}) for own in settings])

    assert found is not None
    cluster, names = found
    assert names == [ON, "as shipped", "b=2"]
    assert [cluster.groups[name]["bookie"] for name in names] == list(settings)


@pytest.mark.parametrize(
    "change", [{"heap_mib": {"bookie": 900}}, {"settings": {"broker": {"numIOThreads": 4}}}]
)
def test_other_brokers_or_heaps_are_another_cluster(change: dict[str, object]) -> None:
    assert bookie_groups.shared_cluster([pulsar(), pulsar(**change)]) is None
