"""Runs whose servers are containers: a small sweep on both systems, a fault, and what a killed run leaves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.backends import docker
from bench.errors import ScenarioError
from bench.model import DOCKER
from bench.run import containers, outside
from bench.run.folder import RunFolder
from tests.whole_runs import without_analysis

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("docker_daemon")]

_SOON_S = 120.0
KAFKA_NODES = 3
SCENARIO = """\
name: small
title: A run of the tests
question: Does it work in containers?
systems:
  kafka:
    nodes: {controller: 1, broker: 2}
    topic: {replicas: 2, min.insync.replicas: 1}
    producer: {acks: [1, all]}
  pulsar:
    nodes: {zookeeper: 1, bookie: 2, broker: 1}
    topic: {quorums: 2-2-2}
topic: {partitions: 2}
load: {producers: 2, window: 10, message_bytes: 100}
consumers: 1
jit: c1
warm_up: {cluster: 1s}
slice: {length: 200ms, lead_in: 50ms}
duration: 1s
repeats: 1
"""
FAULT = """\
name: killed
title: A run of the tests
question: Does a fault work in containers?
systems:
  kafka:
    nodes: {controller: 1, broker: 3}
    topic: {replicas: 3, min.insync.replicas: 2}
    producer: {acks: all}
    faults:
      - {name: broker killed, when: {after: 2s}, kill: broker-2, heal: {after: 2s}}
topic: {partitions: 3}
load: {producers: 2, window: 1, message_bytes: 100, rate: 200}
consumers: 1
jit: c1
warm_up: {cluster: 1s}
duration: 10s
repeats: 1
"""


def written(folder: Path, text: str) -> str:
    file = folder / "scenario.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def ran(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """Run a scenario in containers, without an analysis."""
    without_analysis(monkeypatch)
    plan = outside.prepare(written(folder, text), "standard", (), 1, backend=DOCKER)
    assert outside.start(plan, folder / "out", web=False) == 0
    (path,) = (folder / "out").iterdir()
    return RunFolder(path)


def left() -> list[str]:
    with docker.daemon() as client:
        return [
            str(container.name)
            for container in client.containers.list(
                all=True, filters={"label": docker.LABEL}, ignore_removed=True
            )
        ]


def settled() -> list[str]:
    """Names of the containers there are once none is added: one may have been asked for before a kill."""
    names = left()
    time.sleep(1.0)
    while (later := left()) != names:
        names = later
        time.sleep(1.0)
    return names


def test_both_systems_are_measured_in_containers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ran(tmp_path, SCENARIO, monkeypatch)

    trials = [run.read(f"trials/{number:04d}/trial.json") for number in sorted(run.done_trials())]
    assert [trial["verdict"] for trial in trials] == ["valid"] * 3, [trial["reason"] for trial in trials]
    manifest = run.read("manifest.json")
    assert manifest["backend"] == "docker"
    assert len(manifest["images"]) == 2
    assert all(image.startswith("sha256:") for image in manifest["images"].values())
    assert left() == []


def test_a_broker_in_a_container_is_killed_under_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ran(tmp_path, FAULT, monkeypatch)

    trial = run.read("trials/0000/trial.json")
    assert trial["verdict"] == "valid", trial["reason"]
    (killed,) = [step for step in trial["faults"] if step["kind"] == "kill"]
    assert killed["proven"]


def test_what_a_killed_run_leaves_is_removed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "run", written(tmp_path, SCENARIO), "--backend", "docker"]
    with subprocess.Popen([*command, "--out", str(tmp_path / "out")], start_new_session=True) as run:
        deadline = time.monotonic() + _SOON_S
        while len(left()) < KAFKA_NODES and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        os.killpg(run.pid, signal.SIGKILL)
    assert len(settled()) >= KAFKA_NODES

    listed = containers.clean(dry_run=True)
    removed = containers.clean()

    assert sorted(listed) == sorted(removed)

    assert len(removed) > KAFKA_NODES  # and their network
    assert left() == []


def test_what_containers_cannot_do_is_left_out_with_the_reason(tmp_path: Path) -> None:
    file = written(tmp_path, FAULT.replace("kill: broker-2", "power-loss: broker-2"))

    with pytest.raises(ScenarioError, match="power-loss cannot strike containers"):
        outside.prepare(file, "standard", (), 1, backend=DOCKER)
