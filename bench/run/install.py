"""Set-up: the servers of both systems, and the class-data archives that make their JVMs start fast.

`python -m bench.run.install [SYSTEM VERSION]` does what is missing and nothing else. An archive holds the classes
that a server loaded between its start and its first requests. It is made once for a version and a JDK, by a small
real cluster that is started, used and stopped.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from bench import durable_files
from bench.backends import artifacts, sandbox
from bench.backends.process import ProcessBackend
from bench.errors import BenchError, SetupError
from bench.model import Cluster, Jit, Node, Topic
from bench.run import wiring
from bench.systems.description import Installation
from bench.systems.java import archiving_command
from bench.systems.protocols import SendResult
from bench.systems.registry import INSTALLED, describe

_MESSAGES = 200
_DUMP_S = 120.0


def install(name: str, version: str) -> None:
    """Fetch a server and make its archives, unless they are there. Raises SetupError."""
    home = artifacts.fetch(name, version)
    if _missing_archives(name, version):
        print(f"Making {name} {version}'s class-data archives (once; about half a minute)", flush=True)  # noqa: T201
        status = sandbox.run("bench.run.install", [name, version, "--inside"])
        if status or _missing_archives(name, version):
            raise SetupError(
                f"{name} {version} (in {home}) did not yield its class-data archives; see above."
            )


def _smallest(name: str) -> Installation:
    installation = describe(name).installation
    if installation is None:
        raise SetupError(f"{name} has no servers to install: {', '.join(INSTALLED)} have.")
    return installation


def _missing_archives(name: str, version: str) -> list[str]:
    return [
        role for role in _smallest(name).nodes if not wiring.servers(name).archive(version, role).is_file()
    ]


def _make(name: str, version: str) -> None:
    """Start one server of each role, use it, stop it: each writes its archive as it ends."""
    side = wiring.system(name)
    spec = Cluster(name, version, dict(_smallest(name).nodes), jit=Jit.C1)
    target = wiring.servers(name).archive
    with tempfile.TemporaryDirectory() as folder:
        made = {role: Path(folder) / f"{role}.jsa" for role in spec.nodes}
        nodes = [_archiving_node(node, made[node.role]) for node in side.nodes(spec, Path(folder) / "nodes")]
        backend = ProcessBackend(nodes)
        try:
            side.prepare(spec, nodes)
            backend.start(side.start_order(nodes))
            side.await_ready(spec, nodes, backend.alive)
            _use(name, spec, nodes)
            backend.stop(side.stop_order(nodes), _DUMP_S)
        finally:
            backend.close()
        for role, archive in made.items():
            _keep(archive, target(version, role))


def _archiving_node(node: Node, archive: Path) -> Node:
    return replace(node, command=archiving_command(node.command, archive))


def _use(name: str, spec: Cluster, nodes: list[Node]) -> None:
    """Create a topic, send to it and read it, so that the servers load what a run needs."""
    side, topic = wiring.system(name), Topic("class-loading", 2, _smallest(name).topic)
    admin = side.admin(spec, nodes)
    admin.create_topic(topic)
    admin.effective(topic)
    endpoint = side.endpoint(nodes)
    producers = side.producers(endpoint, topic, {}, 1, _MESSAGES)
    (producer,) = producers.clients
    over: list[SendResult] = []
    for _ in range(_MESSAGES):
        producer.send(bytes(1000), over.append)
    while len(over) < _MESSAGES:
        producer.poll(1.0)
    producers.close(10.0)
    for _batch in side.read_all(endpoint, topic, {}, 30.0, _MESSAGES):
        pass
    admin.delete_topic(topic)
    admin.close()


def _keep(made: Path, target: Path) -> None:
    """Put an archive in its place, whole or not at all."""
    if not made.is_file():
        raise SetupError(f"the {made.stem} ended without writing its class-data archive")
    target.parent.mkdir(parents=True, exist_ok=True)
    with durable_files.replace_file(target) as hidden:
        hidden.write_bytes(made.read_bytes())


def main() -> None:
    """Install what is asked for; the default versions of both systems without arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", nargs="?", choices=INSTALLED)
    parser.add_argument("version", nargs="?")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        if arguments.inside:
            sandbox.enter()
            _make(arguments.system, arguments.version)
            return
        for name in [arguments.system] if arguments.system else INSTALLED:
            install(name, arguments.version or wiring.version(name))
    except BenchError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
