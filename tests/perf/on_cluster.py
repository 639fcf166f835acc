"""`load_ratio.py` against a real cluster of the default size: starts it, makes the topic, hands the rest on.

python -m bench.backends.sandbox tests.perf.on_cluster kafka --users 1 10 100 --rounds 3
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.backends import sandbox
from bench.model import Cluster, Settings, Topic
from bench.run import wiring
from bench.run.cluster import running
from bench.scenario.schema import KafkaSpec, PulsarSpec

PARTITIONS = 4
LAYOUTS = {"kafka": dict(KafkaSpec().node_counts()), "pulsar": dict(PulsarSpec().node_counts())}
TOPICS: dict[str, Settings] = {"kafka": {"replicas": 3}, "pulsar": {"quorums": "3-3-2"}}


def main() -> None:
    name, *rest = sys.argv[1:]
    sandbox.enter()
    cluster = Cluster(name, wiring.version(name), LAYOUTS[name])
    script = Path(__file__).with_name("load_ratio.py")
    with (
        tempfile.TemporaryDirectory() as folder,
        running(cluster, Path(folder) / "nodes", Path(folder) / "logs") as live,
    ):
        live.admin.create_topic(Topic("load-ratio", PARTITIONS, TOPICS[name]))
        place = ["--system", name, "--endpoint", live.endpoint, "--partitions", str(PARTITIONS)]
        sys.exit(subprocess.run([sys.executable, str(script), *place, *rest], check=False).returncode)


if __name__ == "__main__":
    main()
