"""How long clusters take from their first process until they take requests, and the CPU time it costs: prints JSON.

python -m bench.backends.sandbox tests.perf.start_up [--times 5] [--jit c1 default]

Every start waits for the CPU, so `seconds` doubles on a busy machine and `cpu_s` grows far less: compare `cpu_s`.
Systems and compilers are interleaved. The JVM is the `java` that PATH finds first; `java` in the output names it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bench.backends import sandbox
from bench.backends.machine import java_version
from bench.model import Cluster, Jit
from bench.run import wiring
from bench.run.cluster import LiveCluster, run_cluster
from bench.run.compilers import Compilers
from bench.scenario.system_spec import spec_of
from bench.systems.registry import describe


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a cluster. The CPU times are of all its servers together, until shortly after they take requests.

    `compilers_cpu_s` is the part of `cpu_s` that the JIT compilers took.
    """

    system: str
    jit: Jit
    seconds: float
    cpu_s: float
    compilers_cpu_s: float


def start(name: str, nodes: dict[str, int], jit: Jit) -> Start:
    """Start a cluster with these numbers of nodes by role, and end it."""
    cluster = Cluster(name, wiring.version(name), nodes, jit=jit)
    with (
        tempfile.TemporaryDirectory() as folder,
        run_cluster(cluster, Path(folder) / "nodes", Path(folder) / "logs") as live,
    ):
        cpu_s, compilers_cpu_s = _cpu_s(live)
        return Start(name, jit, round(live.start_s, 2), round(cpu_s, 1), round(compilers_cpu_s, 1))


def _cpu_s(live: LiveCluster) -> tuple[float, float]:
    pids: list[int] = []
    compilers = Compilers(
        lambda: pids
    )  # made before it knows a server, so that it counts from their first second
    pids.extend(live.backend.pids().values())
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(time.user + time.system for time in times), compilers.took_s()


def main() -> None:
    """Start each system with each compiler as often as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--jit", type=Jit, nargs="+", default=[Jit.C1, Jit.DEFAULT])
    arguments = parser.parse_args()
    sandbox.enter()
    layouts = {name: spec_of(describe(name))().node_counts() for name in ("kafka", "pulsar")}
    starts = [
        asdict(start(name, nodes, jit))
        for _ in range(arguments.times)
        for name, nodes in layouts.items()
        for jit in arguments.jit
    ]
    json.dump({"java": java_version(), "starts": starts}, sys.stdout)


if __name__ == "__main__":
    main()
