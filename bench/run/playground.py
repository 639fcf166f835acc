"""A cluster to play with (`bench up`): started as a run would, kept until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from bench.backends import sandbox
from bench.errors import BenchError
from bench.model import Cluster
from bench.run import machine_lock, preflight, wiring
from bench.run.cluster import LiveCluster, run_cluster
from bench.scenario.system_spec import spec_of
from bench.systems.registry import describe


def up(system: str, out: Path) -> int:
    """Start a default cluster of `system` in a sandbox; returns the exit status once it is gone again."""
    with machine_lock.on_machine(f"bench up {system}"):
        preflight.check([[_cluster(system)]], out)
        with tempfile.TemporaryDirectory(dir=out, prefix=f"up-{system}-") as folder:
            return sandbox.run("bench.run.playground", [system, folder, str(os.getpid())])


def _cluster(system: str) -> Cluster:
    spec = spec_of(describe(system))()
    return Cluster(system, wiring.version(system), spec.node_counts())


def main() -> None:
    """Run inside the sandbox."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system")
    parser.add_argument("folder", type=Path)
    parser.add_argument("outer", type=int)
    arguments = parser.parse_args()
    try:
        sandbox.enter()
        with run_cluster(
            _cluster(arguments.system), arguments.folder / "nodes", arguments.folder / "logs"
        ) as live:
            _show(live, arguments.outer)
            signal.pause()
    except BenchError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(0)


def _show(live: LiveCluster, outer: int) -> None:
    """Print how to reach the cluster: it is only to be seen from inside its namespaces."""
    lines = [
        f"{live.spec.system} {live.spec.version} is up after {live.start_s:.1f} s: {live.endpoint}",
        *(f"  {node.name}  {node.address}:{node.ports[0]}  {node.log}" for node in live.nodes),
        "It lives in namespaces of its own. Go in with a shell in another terminal:",
        f"  nsenter --target $(pgrep --parent $(pgrep --parent {outer} unshare)) {_namespaces()} bash",
        "and there, for example:",
        *(f"  {hint}" for hint in live.system.hints(live.nodes)),
        "Ctrl-C ends it.",
    ]
    print("\n".join(lines), flush=True)  # noqa: T201 - the terminal is what this is for


def _namespaces() -> str:
    """Return nsenter's flags; a user namespace is only there for somebody who isn't root."""
    mapped = Path("/proc/self/uid_map").read_text(encoding="utf-8").split() != ["0", "0", "4294967295"]
    return f"{'--user --preserve-credentials ' if mapped else ''}--net --mount --pid"


if __name__ == "__main__":
    main()
