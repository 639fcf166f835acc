"""How long clusters take from their first process until they take requests: prints JSON.

python -m bench.backends.sandbox tests.perf.start_up [--times 5] [--jit default]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench.backends import sandbox
from bench.model import Cluster, Jit
from bench.run import wiring
from bench.run.cluster import running
from bench.scenario.schema import KafkaSpec, PulsarSpec


def start_up_s(name: str, nodes: dict[str, int], jit: Jit) -> float:
    cluster = Cluster(name, wiring.version(name), nodes, jit=jit)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(cluster, Path(folder) / "nodes", Path(folder) / "logs") as live,
    ):
        return round(live.start_s, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--jit", type=Jit, default=Jit.C1)
    arguments = parser.parse_args()
    sandbox.enter()
    layouts = {"kafka": dict(KafkaSpec().node_counts()), "pulsar": dict(PulsarSpec().node_counts())}
    seconds: dict[str, list[float]] = {name: [] for name in layouts}
    for _ in range(arguments.times):
        for name, nodes in layouts.items():
            seconds[name].append(start_up_s(name, nodes, arguments.jit))
    json.dump({"jit": arguments.jit, "start_up_s": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
