"""What Docker's network, an external cluster and load agents cost, against processes in namespaces. Prints JSON.

    python -m bench.backends.sandbox tests.perf.backend_ratio --system kafka --rounds 4

Each round runs the scenario below five times, in an order that rotates: the servers as processes, in containers, as
processes that the run takes for somebody else's cluster, and that cluster loaded by one agent and by two. Servers,
configuration and load are the same. Every run has a cluster of its own that was just started, but for the last three,
which share one. Ratios are of the same round: containers and the external cluster over the processes, one agent over
no agent (the external cluster), two agents over one. The result is the geometric mean over rounds with its 95 %
interval.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd

from bench.analysis import analyse, spark_session
from bench.backends import sandbox
from bench.model import DOCKER, PROCESS, Cluster, Jit
from bench.run import outside, wiring
from bench.run.cluster import run_cluster
from bench.run.load_machines import AgentOptions
from bench.run.plan import Plan
from bench.statistics.interval import level, level_interval
from tests import containers

NODES = {
    "kafka": {"controller": 1, "broker": 3},
    "pulsar": {"zookeeper": 1, "bookie": 3, "broker": 2},
}
SYSTEMS = {
    "kafka": "topic: {replicas: 3, min.insync.replicas: 2}\n    producer: {acks: all}",
    "pulsar": "topic: {quorums: 3-3-2}",
}
CLUSTER_FILES = {
    "kafka": "system: kafka\nbootstrap.servers: {address}\nmost_messages_per_s: unlimited\n",
    "pulsar": "system: pulsar\nservice_url: {address}\nadmin_url: {admin}\nmost_messages_per_s: unlimited\n",
}
SCENARIO = """\
name: backends
title: The same load on servers that are run in several ways
question: What does it cost to run the servers in another way?
systems:
  {system}:
    nodes: {nodes}
    {settings}
topic: {{partitions: 4}}
load: {{producers: 8, window: 10, message_bytes: 1000}}
consumers: 1
jit: c1
warm_up: {{cluster: 20s}}
duration: 16s
repeats: 1
"""
AGENTS_AT = "127.0.0.1:7070"
FIGURES = ("throughput_msgs_per_s", "service_p50_ns", "service_p99_ns")
ARMS = ("process", "docker", "external", "one agent", "two agents")
PAIRS = (
    ("docker", "process"),
    ("external", "process"),
    ("one agent", "external"),
    ("two agents", "one agent"),
)


class Arms:
    """Runs the scenario in one of the ways."""

    def __init__(self, system: str, folder: Path) -> None:
        self._system = system
        self._folder = folder
        self._scenario = folder / "backends.yaml"
        nodes = json.dumps(NODES[system]).replace('"', "")
        self._scenario.write_text(SCENARIO.format(system=system, nodes=nodes, settings=SYSTEMS[system]))
        self._token = folder / "token"
        self._token.write_text("a token of the measurement, long enough\n")
        self._number = 0

    def own(self, backend: str) -> dict[str, float]:
        plan = outside.prepare(str(self._scenario), "standard", (), 1, backend=backend)
        return self._figures(plan, None)

    def external(self, file: Path, agents: int) -> dict[str, float]:
        plan = outside.prepare(str(self._scenario), "standard", (), 1, clusters=(file,))
        with ExitStack() as stack:
            for _ in range(agents):
                stack.enter_context(self._agent())
            return self._figures(plan, AgentOptions(agents, AGENTS_AT, self._token) if agents else None)

    @contextmanager
    def cluster(self) -> Iterator[Path]:
        """Start the servers, and yield the file that describes them as somebody else's."""
        spec = Cluster(self._system, wiring.version(self._system), NODES[self._system], jit=Jit.C1)
        with run_cluster(spec, self._folder / "nodes", self._folder / "logs") as live:
            host = next(node.address for node in live.nodes if node.role == "broker")
            file = self._folder / "cluster.yaml"
            text = CLUSTER_FILES[self._system]
            file.write_text(text.format(address=live.endpoint, admin=f"http://{host}:8080"))
            yield file

    @contextmanager
    def _agent(self) -> Iterator[None]:
        command = [sys.executable, "-m", "bench", "agent", "--join", AGENTS_AT]
        with subprocess.Popen(
            [*command, "--token-file", str(self._token)], stdout=subprocess.DEVNULL
        ) as process:
            try:
                yield
            finally:
                process.terminate()

    def _figures(self, plan: Plan, agents: AgentOptions | None) -> dict[str, float]:
        self._number += 1
        out = self._folder / f"out-{self._number}"
        with patch.object(outside, "report"), patch.object(outside, "_without_valid_trial", return_value=[]):
            status = outside.start(plan, out, web=False, agents=agents)
        if status:
            raise SystemExit(f"a run in {out} failed")
        (run,) = out.iterdir()
        analyse(run)
        (row,) = pd.read_parquet(run / "results" / "trials.parquet").to_dict("records")
        if row["verdict"] != "valid":
            raise SystemExit(f"the trial in {run} does not count: it is {row['verdict']}")
        return {figure: float(row[figure]) for figure in FIGURES}


def measure(arms: Arms, rounds: int) -> list[dict[str, dict[str, float]]]:
    results: list[dict[str, dict[str, float]]] = []
    for number in range(rounds):
        results.append(one_round(arms, number))
        print(json.dumps(results[-1]), file=sys.stderr, flush=True)  # noqa: T201
    return results


def one_round(arms: Arms, number: int) -> dict[str, dict[str, float]]:
    figures: dict[str, dict[str, float]] = {}

    def external() -> None:
        with arms.cluster() as file:
            for agents in rotated((0, 1, 2), number):
                figures[ARMS[2 + agents]] = arms.external(file, agents)

    def own(backend: str) -> None:
        figures[backend] = arms.own(backend)

    for arm in rotated((lambda: own(PROCESS), lambda: own(DOCKER), external), number):
        arm()
    return figures


def rotated(items: Sequence[Any], by: int) -> list[Any]:
    start = by % len(items)
    return [*items[start:], *items[:start]]


def summary(results: Sequence[dict[str, dict[str, float]]]) -> dict[str, Any]:
    ratios: dict[str, Any] = {}
    for figure in FIGURES:
        for arm, baseline in PAIRS:
            values = [result[arm][figure] / result[baseline][figure] for result in results]
            interval = level_interval(values)
            ratios[f"{figure}, {arm} / {baseline}"] = {
                "ratio": round(level(values), 3),
                "interval": interval and [round(interval.low, 3), round(interval.high, 3)],
                "rounds": [round(value, 3) for value in values],
            }
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.perf.backend_ratio")
    parser.add_argument("--system", choices=NODES, required=True)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    sandbox.enter()
    with tempfile.TemporaryDirectory() as name, spark_session(rows=0):
        folder, docker = Path(name) / "runs", Path(name) / "docker"
        folder.mkdir()
        docker.mkdir()
        with containers.daemon(docker):
            containers.make_base(docker)
            results = measure(Arms(options.system, folder), options.rounds)
    print(json.dumps({"system": options.system, "ratios": summary(results)}))  # noqa: T201


if __name__ == "__main__":
    main()
