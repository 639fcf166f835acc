"""Which cases of a scenario can run on a cluster that somebody else runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.errors import ScenarioError
from bench.run import external_cases, external_table
from bench.run.external_clusters import ExternalCluster
from bench.run.plan import Plan, plan
from bench.scenario import load
from bench.systems.external_access import ClusterFacts

HEAD = "name: small\ntitle: A small one\nquestion: Where?\nduration: 1s\nrepeats: 1\n"
KAFKA: Mapping[str, Any] = {"broker": {"min.insync.replicas": "1", "num.io.threads": "8"}}


def cluster(  # noqa: PLR0917 - what files of clusters differ in
    system: str = "kafka",
    nodes: Mapping[str, int] | None = None,
    settings: Mapping[str, Any] = KAFKA,
    most: float = 0.0,
    stated: Mapping[str, Any] | None = None,
    commands: Mapping[str, Any] | None = None,
) -> ExternalCluster:
    facts = ClusterFacts(nodes={"broker": 3} if nodes is None else nodes, settings=settings)
    return ExternalCluster(
        "staging.yaml", system, "one:9092", "bench-", most, facts, stated or {}, commands or {}
    )


def planned(folder: Path, text: str, *clusters: ExternalCluster) -> Plan:
    file = folder / "small.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    return plan(load(file), 1, external={one.system: one for one in clusters})


def names(chosen: Plan) -> list[str]:
    return [trial.case.name for trial in sorted(chosen.trials, key=lambda trial: trial.case.name)]


BOTH = """\
systems:
  kafka:
    topic: {replicas: [1, 3, 4], min.insync.replicas: 1}
  pulsar:
    topic: {quorums: 2-2-2}
    bookie: {journalSyncData: [true, false]}
"""


def test_only_systems_with_a_cluster_run_and_only_what_its_nodes_carry(tmp_path: Path) -> None:
    chosen = planned(tmp_path, BOTH, cluster())

    assert names(chosen) == ["kafka replicas=1", "kafka replicas=3"]
    assert [point.reason for point in chosen.left_out] == [
        "4 replicas need as many brokers, and the cluster has 3."
    ]
    assert all(trial.case.cluster.external == "one:9092" for trial in chosen.trials)
    assert not any(trial.case.cluster.starts_servers for trial in chosen.trials)


def test_of_a_compared_property_only_what_the_operator_states_runs(tmp_path: Path) -> None:
    pulsar = cluster("pulsar", {"broker": 2}, {}, stated={"bookie": {"journalSyncData": False}})

    chosen = planned(tmp_path, BOTH, pulsar)

    assert names(chosen) == ["pulsar journalSyncData=false"]
    assert [point.reason for point in chosen.left_out] == ["bookie.journalSyncData is false there."]


def test_a_compared_property_that_nobody_knows_leaves_nothing_to_run(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"journalSyncData cannot be read; state it in staging.yaml"):
        planned(tmp_path, BOTH, cluster("pulsar", {"broker": 2}, {}))


FAULT = """\
systems:
  kafka:
    topic: {replicas: 3}
    faults:
      - {name: broker killed, when: {after: 1s}, kill: leader, heal: {after: 1s}}
"""
FAST = "load: {rate: [500, 2000]}\nsystems: {kafka: {topic: {replicas: 1, min.insync.replicas: 1}}}\n"
CAPACITY = "capacity: {}\nsystems: {kafka: {topic: {replicas: 1, min.insync.replicas: 1}}}\n"
NOTHING = "systems: {memory: {}}\n"


@pytest.mark.parametrize(
    ("text", "most", "said"),
    [
        (FAULT, 0.0, r"Its steps \(broker killed\) act on nodes"),
        (CAPACITY, 1000.0, "A search for capacity has no limit"),
        (NOTHING, 0.0, "the scenario has no system kafka"),
    ],
)
def test_what_cannot_run_there_is_refused_with_the_reason(
    text: str, most: float, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError, match=said):
        planned(tmp_path, text, cluster(most=most))


def test_a_rate_above_the_limit_is_left_out(tmp_path: Path) -> None:
    chosen = planned(tmp_path, FAST, cluster(most=1000.0))

    assert names(chosen) == ["kafka rate=500"]
    assert chosen.left_out[0].reason == (
        "2,000 messages/s are more than most_messages_per_s: 1,000 of staging.yaml."
    )


CLOSED = """\
load: {producers: 4, message_bytes: 1000}
systems:
  kafka:
    topic: {replicas: 1, min.insync.replicas: 1}
    producer: {acks: [1, all]}
    nodes: {broker: 3}
    broker: {num.io.threads: 8, num.network.threads: 2}
"""


def test_a_closed_loop_is_limited_and_told_how_much_it_writes(tmp_path: Path) -> None:
    chosen = planned(tmp_path, CLOSED, cluster(most=100.0))

    (line, other) = external_table.lines(chosen)

    assert {trial.case.load.most_per_s for trial in chosen.trials} == {100.0}
    assert "kafka at one:9092" in line
    assert "messages at most" in line
    assert other.endswith("not there, as far as is known: broker.num.network.threads=2")


def test_without_a_limit_nobody_knows_how_much_a_closed_loop_writes(tmp_path: Path) -> None:
    line = next(external_table.lines(planned(tmp_path, CLOSED, cluster())))

    assert "as many messages as it takes, as staging.yaml sets no limit" in line


def test_settings_that_all_cases_share_are_no_reason(tmp_path: Path) -> None:
    chosen = planned(tmp_path, CLOSED, cluster())

    assert external_cases.not_applied(cluster(), chosen.scenario_cases) == ["broker.num.network.threads=2"]


BROKEN = """\
systems:
  kafka:
    topic: {{replicas: 1}}
    faults: [{{name: broken, when: {{after: 100ms}}, {action}}}]
"""
ADDRESS = {"address": "one:9092"}


@pytest.mark.parametrize(
    ("action", "commands", "reason"),
    [
        ("kill: broker-1", {}, "gives no commands for nodes"),
        ("kill: broker-1", {"broker-1": {**ADDRESS, "kill": "x"}}, "broker-1 lacks start"),
        (
            "pause: broker-1",
            {"broker-1": {**ADDRESS, "kill": "x", "start": "y"}},
            "lacks pause, resume, state",
        ),
        (
            "power-loss: broker-1",
            {"broker-1": ADDRESS},
            "power-loss is not possible on an external cluster; possible are kill, stop, pause",
        ),
        (
            "kill: controller",
            {"broker-1": {**ADDRESS, "kill": "x", "start": "y"}},
            "Nobody outside the cluster knows who is its controller",
        ),
        ("rebalance: topic", {"broker-1": ADDRESS}, "Nothing is moved on an external cluster"),
    ],
)
def test_a_step_without_its_commands_is_refused(
    tmp_path: Path, action: str, commands: Mapping[str, Any], reason: str
) -> None:
    with pytest.raises(ScenarioError, match=reason):
        planned(tmp_path, BROKEN.format(action=action), cluster(commands=commands))


def test_steps_that_touch_no_node_take_no_commands(tmp_path: Path) -> None:
    text = """\
systems:
  kafka:
    topic: {replicas: 1}
    faults: [{name: half, when: {after: 100ms}, mark: true}]
"""

    (trial,) = planned(tmp_path, text, cluster()).trials

    assert [step["name"] for step in trial.case.faults] == ["half"]


@pytest.mark.parametrize("group_type", ["share", "consumer"])
def test_groups_that_take_a_setting_of_the_cluster_are_refused(tmp_path: Path, group_type: str) -> None:
    text = f"""\
systems:
  kafka:
    topic: {{replicas: 1}}
    consumer_group: {{type: {group_type}, work: 1ms}}
consumers: 2
"""

    if group_type == "share":
        with pytest.raises(ScenarioError, match="type share takes a setting of the cluster"):
            planned(tmp_path, text, cluster())
    else:
        assert planned(tmp_path, text, cluster()).trials


def test_a_step_with_its_commands_is_planned(tmp_path: Path) -> None:
    node = {**ADDRESS, "kill": "ssh one pkill -9 java", "start": "ssh one systemctl start kafka"}

    chosen = planned(tmp_path, BROKEN.format(action="kill: broker-1"), cluster(commands={"broker-1": node}))

    (trial,) = chosen.trials
    assert trial.case.cluster.external_nodes == {"broker-1": node}


WAITING = """\
systems:
  pulsar:
    topic: {quorums: 2-2-2}
    faults:
      - {name: broken, when: {after: 100ms}, kill: owner, heal: {after: 1s}}
      - {name: copied, when: {copies: complete}, mark: true}
"""


def test_a_step_that_waits_for_what_nobody_outside_is_told_is_refused(tmp_path: Path) -> None:
    commands = {"broker-1": {**ADDRESS, "kill": "x", "start": "y"}}

    with pytest.raises(ScenarioError, match="'copied' waits until copies are missing"):
        planned(tmp_path, WAITING, cluster("pulsar", commands=commands))
