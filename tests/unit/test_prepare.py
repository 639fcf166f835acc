"""Scenarios on their way to a plan: whole configurations, disks, and what cannot be had is refused at once."""

import re
from pathlib import Path

import pytest

from bench.backends import fsync_gate
from bench.errors import ScenarioError, SetupError
from bench.faults.kinds.isolate import Isolate
from bench.run import fault_check, outside
from bench.run.cluster import run_cluster

SCENARIO = """
name: refused
title: Refused
question: Is it refused?
expectations: []
systems:
  kafka:
    nodes: {{controller: 1, broker: 3}}
    faults: [{step}]
  pulsar:
    nodes: {{zookeeper: 1, bookie: 5, broker: 2}}
load: {{producers: 1, message_bytes: 100}}
topic: {{partitions: 12}}
duration: 5s
repeats: 1
"""


def scenario(folder: Path, step: str) -> str:
    file = folder / "refused.yaml"
    file.write_text(SCENARIO.format(step=step))
    return str(file)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{when: {after: 1s}, kill: owner}", "kafka has no target 'owner'"),
        ("{when: {after: 1s}, kill: broker-4}", "did you mean 'broker-"),
        ("{when: {after: 1s}, kill: any bookie}", "kafka has no target 'any bookie'"),
        ("{when: {after: 1s}, explode: leader}", "there is no such step"),
        (
            "{when: {after: 1s}, kill: leader of 99}",
            "kafka has no target 'leader of 99': topic.partitions is 12, counted from 0",
        ),
        ("{when: {after: 1s}, isolate: {target: leader, from: followers of 12}}", "'followers of 12': topic"),
        ("{when: {after: 1s}, full-disk: leader of 12}", "'leader of 12' with a disk of its own: topic"),
        (
            "{when: {after: 1s}, kill: broker-1 of 3}",
            "'broker-1 of 3'; only leader, follower, followers, replicas",
        ),
        ("{when: {after: 1s}, kill: any broker of 2}", "no target 'any broker of 2'; only leader"),
        ("{when: {after: 1s}, kill: controller of 1}", "no target 'controller of 1'; only leader"),
        ("{when: {after: 1s}, kill: owner of 1}", "no target 'owner of 1'; one of leader"),
        (
            "{when: {after: 1s}, times: 3, kill: leader}, {when: {after: 1s}, kill: owner}",
            "systems.kafka.faults.1: kafka has no target 'owner'",
        ),
    ],
)
def test_a_target_that_the_cluster_does_not_have_is_refused_with_its_place(
    tmp_path: Path, step: str, said: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        outside.prepare(scenario(tmp_path, step), "standard", (), 1)

    assert said in str(refused.value)
    assert "refused.yaml" in str(refused.value)
    assert "faults" in str(refused.value)


def test_a_part_of_any_partition_there_is_can_be_struck(tmp_path: Path) -> None:
    step = "{when: {after: 1s}, isolate: {target: leader of 11, from: [followers of 0, all controller]}}"

    assert outside.prepare(scenario(tmp_path, step), "standard", (), 1).trials


def of_pulsar(folder: Path, target: str, settings: str) -> str:
    file = Path(scenario(folder, "{when: {after: 1s}, mark: true}"))
    faults = f"    faults: [{{when: {{after: 1s}}, kill: {target}}}]\n    {settings}\nload:"
    file.write_text(file.read_text().replace("load:", faults, 1))
    return str(file)


FOUR_OF_FIVE = "topic: {quorums: 4-3-2}"
BY_BROKER = "broker: {managedLedgerDefaultEnsembleSize: 3}"


@pytest.mark.parametrize(
    ("target", "settings"),
    [("bookie 4", FOUR_OF_FIVE), ("bookie 3 of 11", BY_BROKER), ("bookie 2", "heap_mib: {}")],
)
def test_as_many_bookies_can_be_named_as_an_ensemble_has(tmp_path: Path, target: str, settings: str) -> None:
    assert outside.prepare(of_pulsar(tmp_path, target, settings), "standard", (), 1).trials


@pytest.mark.parametrize(
    ("target", "settings", "last"),
    [("bookie 5", FOUR_OF_FIVE, 4), ("bookie 4 of 1", BY_BROKER, 3), ("bookie 3", "heap_mib: {}", 2)],
)
def test_a_bookie_beyond_the_ensemble_is_refused(
    tmp_path: Path, target: str, settings: str, last: int
) -> None:
    with pytest.raises(ScenarioError) as refused:
        outside.prepare(of_pulsar(tmp_path, target, settings), "standard", (), 1)

    assert f"pulsar has no target '{target}'" in str(refused.value)
    assert f"bookie {last}, oldest bookie" in str(refused.value)


@pytest.mark.parametrize("node", ["broker-1", "bookie-6"])
def test_only_a_node_that_keeps_messages_can_be_drained(tmp_path: Path, node: str) -> None:
    text = of_pulsar(tmp_path, "bookie-1", "heap_mib: {}")
    file = Path(text)
    file.write_text(file.read_text().replace("kill: bookie-1", f"drain: {node}"))

    with pytest.raises(
        ScenarioError, match=rf"faults\.0.*pulsar has no '{node}' to drain; one of bookie-1, bookie-2"
    ):
        outside.prepare(text, "standard", (), 1)


@pytest.mark.parametrize("kind", ["power-loss", "full-disk"])
def test_an_application_has_no_disk_to_break(tmp_path: Path, kind: str) -> None:
    text = scenario(tmp_path, f"{{when: {{after: 1s}}, {kind}: processor}}")
    file = Path(text)
    application = "processor: {commit: before}\n    faults:"
    file.write_text(file.read_text().replace("faults:", application, 1))

    with pytest.raises(ScenarioError, match="kafka has no target 'processor' with a disk of its own"):
        outside.prepare(text, "standard", (), 1)


def test_a_state_that_a_system_does_not_tell_is_refused(tmp_path: Path) -> None:
    text = scenario(tmp_path, "{when: {after: 1s}, mark: true}")
    file = Path(text)
    pulsars = "    faults: [{when: {in_sync: {at_most: 1}}, mark: true}]\nload:"
    file.write_text(file.read_text().replace("load:", pulsars, 1))

    with pytest.raises(ScenarioError, match="pulsar reports no such state"):
        outside.prepare(text, "standard", (), 1)


def test_a_fault_that_the_machine_cannot_do_is_refused_by_its_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = "{name: cut off, when: {after: 1s}, isolate: {target: leader, from: all controller}}"
    plan = outside.prepare(scenario(tmp_path, step), "standard", (), 1)
    cases = [trial.case for trial in plan.trials]
    fault_check.require(cases)

    monkeypatch.setattr(Isolate, "why_not", classmethod(lambda _: "nft (nftables) is missing"))

    with pytest.raises(SetupError, match=r"step 'cut off' \(isolate\) is not possible here: nft"):
        fault_check.require(cases)


def test_a_fault_that_the_backend_cannot_do_is_refused_by_its_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Poor:
        """A backend with no abilities at all."""

    plan = outside.prepare(scenario(tmp_path, "{when: {after: 1s}, kill: leader}"), "standard", (), 1)
    monkeypatch.setattr(fault_check, "ProcessBackend", Poor)

    with pytest.raises(SetupError, match="this backend cannot do that \\(missing: Killable\\)"):
        fault_check.require([trial.case for trial in plan.trials])


def with_disk(folder: Path, disk: str) -> str:
    file = Path(scenario(folder, "{when: {after: 1s}, mark: true}"))
    file.write_text(file.read_text() + f"disk: {{emulated_fsync: {disk}}}\n")
    return str(file)


def test_an_emulated_disk_is_swept_on_both_systems_behind_gates(tmp_path: Path) -> None:
    plan = outside.prepare(with_disk(tmp_path, "[as is, 5ms]"), "standard", (), 1)

    names = {trial.case.name for trial in plan.trials}
    assert names == {
        f"{system} emulated_fsync={value}" for system in ("kafka", "pulsar") for value in ("as is", "5ms")
    }
    assert all(trial.case.cluster.fsync_gates for trial in plan.trials)
    assert len({trial.case.cluster.system for trial in plan.trials}) == 2


def test_one_emulated_disk_stands_in_the_names_too(tmp_path: Path) -> None:
    plan = outside.prepare(with_disk(tmp_path, "5ms"), "standard", (), 1)
    as_is = outside.prepare(with_disk(tmp_path, "as is"), "standard", (), 1)

    assert {trial.case.name for trial in plan.trials} == {
        "kafka emulated_fsync=5ms",
        "pulsar emulated_fsync=5ms",
    }
    assert {trial.case.name for trial in as_is.trials} == {"kafka", "pulsar"}


@pytest.mark.parametrize("disk", ["5", "fast", "[as is, as is]", "0ms", "[]"])
def test_a_disk_that_means_nothing_is_refused(tmp_path: Path, disk: str) -> None:
    with pytest.raises(ScenarioError, match="disk"):
        outside.prepare(with_disk(tmp_path, disk), "standard", (), 1)


def test_a_machine_without_gates_refuses_an_emulated_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = outside.prepare(with_disk(tmp_path, "5ms"), "standard", (), 1)
    monkeypatch.setattr(fsync_gate, "why_not", lambda: "the kernel does not ask")

    with pytest.raises(
        SetupError, match="emulated_fsync is not possible on this machine: the kernel does not ask"
    ):
        fault_check.require([trial.case for trial in plan.trials])


VARIANTS = """
name: refused
title: Whole configurations
question: Which?
systems:
  kafka:
    nodes: {controller: 1, broker: 3}
    variants:
      level:
        light: {topic: {replicas: 1}, producer: {acks: 1}}
        safe: {topic: {replicas: 3, min.insync.replicas: 2}, producer: {acks: all}, broker: {num.io.threads: 4}}
    producer: {linger.ms: [0, 5]}
duration: 5s
repeats: 1
"""


def test_settings_that_go_together_are_one_value_of_a_sweep(tmp_path: Path) -> None:
    file = tmp_path / "refused.yaml"
    file.write_text(VARIANTS)

    cases = {trial.case.name: trial.case for trial in outside.prepare(str(file), "standard", (), 1).trials}

    assert sorted(cases) == [
        f"kafka level={level} linger.ms={linger}" for level in ("light", "safe") for linger in (0, 5)
    ]
    safe = cases["kafka level=safe linger.ms=5"]
    assert safe.topic == {"replicas": 3, "min.insync.replicas": 2}
    assert safe.producer == {"acks": "all", "linger.ms": 5}
    assert safe.cluster.settings["broker"] == {"num.io.threads": 4}
    assert cases["kafka level=light linger.ms=0"].cluster.settings["broker"] == {}


def test_a_variant_may_have_fewer_nodes_and_then_a_cluster_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "refused.yaml"
    file.write_text(VARIANTS.replace("light: {", "light: {nodes: {broker: 1}, "))

    plan = outside.prepare(str(file), "standard", (), 1)

    nodes = {trial.case.swept["level"]: trial.case.cluster.nodes for trial in plan.trials}
    assert nodes == {"light": {"controller": 1, "broker": 1}, "safe": {"controller": 1, "broker": 3}}
    assert sorted(len(trials) for _, trials in plan.clusters()) == [2, 2]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("bookie: {journalSyncData: true}", "bookie"),
        ("topic: {replicas: [1, 2]}", "replicas"),
        ("topic: {partitions: 3}", "partitions are swept by topic.partitions"),
        ("zookeeper: {tickTime: 1}", "there is no zookeeper"),
        ("nodes: {bookie: 1}", "there is no bookie"),
        ("nodes: {broker: 0}", "greater than or equal to 1"),
        (
            "topic: {replicas: 1}, producer: {linger.ms: 3}",
            "producer.linger.ms, which is swept elsewhere too",
        ),
    ],
)
def test_a_variant_has_its_own_systems_settings_and_sweeps_nothing(
    tmp_path: Path, wrong: str, said: str
) -> None:
    file = tmp_path / "refused.yaml"
    file.write_text(VARIANTS.replace("topic: {replicas: 1}, producer: {acks: 1}", wrong))

    with pytest.raises(ScenarioError, match=said):
        outside.prepare(str(file), "standard", (), 1)


def test_a_scenario_is_planned_without_its_servers_and_started_only_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "empty"))

    planned = outside.prepare("versions", "standard", (), 1)

    spec = planned.trials[0].case.cluster
    with (
        pytest.raises(SetupError, match=rf"{spec.system} {re.escape(spec.version)} is not installed"),
        run_cluster(spec, tmp_path / "nodes", tmp_path / "logs"),
    ):
        pass
    assert not (tmp_path / "nodes").exists()
