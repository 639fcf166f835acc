"""A live cluster with its load processes, from first process to last."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from bench.backends import cores, ports
from bench.backends.abilities import Killable
from bench.backends.backend import Backend
from bench.backends.docker import DockerBackend
from bench.backends.external_backend import ExternalBackend
from bench.backends.node_backend import NodeBackend
from bench.backends.process import ProcessBackend
from bench.errors import ClusterError, FaultError
from bench.load import member, processor
from bench.model import DOCKER, MEMBER, Cluster, Node
from bench.run.emulated_disks import EmulatedDisks
from bench.run.external_clusters import access_to
from bench.run.folder import RunFolder
from bench.run.node_sizes import BackendLimits, NodeSizes, NoLimits
from bench.run.wiring import require_server, system
from bench.systems import java
from bench.systems.processing import PROCESSOR
from bench.systems.protocols import Admin, System
from bench.systems.server_metrics import Scrape

_PROCESSOR_HOST, _FIRST_MEMBER_HOST = 253, 200
_CLIENT_BYTES = 192 * 2**20


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """A cluster that takes requests. `start_s` is the time from the first process to that point."""

    spec: Cluster
    system: System
    nodes: list[Node]
    endpoint: str
    admin: Admin
    backend: Backend
    disks: EmulatedDisks
    sizes: NodeSizes
    scrapes: Mapping[str, Scrape]
    start_s: float

    @property
    def jvms(self) -> dict[str, dict[str, str | bool]]:
        """The JVM flags of each role's servers."""
        return {node.role: jvm_flags for node in self.nodes if (jvm_flags := java.flags(node.command))}

    @property
    def killable(self) -> Killable:
        """The backend, which ends and starts single nodes. Raises ClusterError where it cannot."""
        if not isinstance(self.backend, Killable):
            message = f"The nodes of this {self.spec.system} cluster cannot be started and ended."
            raise ClusterError(message)
        return self.backend

    def alive(self) -> None:
        """Raise NodeDiedError if a node is gone that nobody ended."""
        self.backend.alive()


def nodes(spec: Cluster, folder: Path) -> list[Node]:
    """Lay out the nodes of a cluster below `folder`: the system's own, then an application's and a group's members'."""
    if spec.external:
        return [
            _external_node(name, str(node["address"]), folder) for name, node in spec.external_nodes.items()
        ]
    system_nodes = system(spec.system).nodes(spec, folder)
    network = system_nodes[0].address.rpartition(".")[0] if system_nodes else ""
    applications = [_client(PROCESSOR, PROCESSOR, processor, folder, f"{network}.{_PROCESSOR_HOST}")]
    members = [
        _client(f"{MEMBER}-{number}", MEMBER, member, folder, f"{network}.{_FIRST_MEMBER_HOST + number}")
        for number in range(1, spec.members + 1)
    ]
    return [*system_nodes, *(applications if spec.processor else ()), *members]


def _external_node(name: str, address: str, folder: Path) -> Node:
    """Lay out a node that somebody else runs: it has an address, and nothing of it is here."""
    host, _, port = address.rpartition(":")
    return Node(
        name=name,
        role=name.rpartition("-")[0],
        address=host,
        command=("somebody else's",),
        directory=folder / name,
        log=folder / name / "none",
        ports=(int(port),),
        memory_bytes=0,
    )


def _client(name: str, role: str, module: ModuleType, folder: Path, address: str) -> Node:
    """Lay out a client that is a node: a module that is run with the file in which it finds what to do."""
    directory = folder / name
    return Node(
        name=name,
        role=role,
        address=address,
        command=(sys.executable, "-m", module.__name__, str(directory / module.FILE)),
        directory=directory,
        log=directory / f"{name}.log",
        ports=(module.PORT,),
        memory_bytes=_CLIENT_BYTES,
    )


@contextmanager
def run_cluster(spec: Cluster, folder: Path, logs: Path) -> Iterator[LiveCluster]:
    """Start a cluster below `folder` and take it away again; the nodes' logs end up in `logs`.

    A cluster that somebody else runs is connected to instead, and left as it is.

    Raises ClusterError or NodeDiedError, with the end of the node's log, when it doesn't come up; SetupError where its
    servers are not installed.
    """
    side = system(spec.system)
    if spec.external:
        external_backend = ExternalBackend(spec.external_nodes)
        with closing(access_to(spec).admin(spec)) as admin:
            yield LiveCluster(
                spec=spec,
                system=side,
                nodes=nodes(spec, folder),
                endpoint=spec.external,
                admin=admin,
                backend=external_backend,
                disks=EmulatedDisks(_no_gates, []),
                sizes=NodeSizes(NoLimits(), []),
                scrapes={},
                start_s=0.0,
            )
        return
    require_server(spec.system, spec.version)
    all_nodes = nodes(spec, folder)
    servers = [node for node in all_nodes if node.role not in {PROCESSOR, MEMBER}]
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(_keep_logs, all_nodes, logs)
        folders = {node.name: side.data_folder(node) for node in servers}
        backend, emulated, sizes = _backend(spec, all_nodes, servers, folders)
        stack.callback(backend.close)
        begun = time.monotonic()
        side.prepare(spec, servers)
        first = spec.first(servers)
        backend.start(side.start_order(first))
        side.await_ready(spec, first, backend.alive)
        start_s = time.monotonic() - begun
        if isinstance(backend, ProcessBackend):
            backend.sync_disks()
            backend.confirm_cores()
        admin = side.admin(spec, servers)
        stack.callback(admin.close)
        scrapes = {node.name: scrape for node in servers if (scrape := side.scrape(node))}
        yield LiveCluster(
            spec, side, all_nodes, side.endpoint(first), admin, backend, emulated, sizes, scrapes, start_s
        )


def _backend(
    spec: Cluster, all_nodes: Sequence[Node], servers: Sequence[Node], folders: Mapping[str, Path]
) -> tuple[NodeBackend, EmulatedDisks, NodeSizes]:
    """Return what runs a cluster's nodes, and what it can do to their disks and their size."""
    if spec.backend == DOCKER:
        folder = all_nodes[0].directory.parent
        containers = DockerBackend(
            all_nodes, spec.system, spec.version, f"{folder.parent.parent.name}-{folder.name}"
        )
        return containers, EmulatedDisks(_no_gates, []), NodeSizes(NoLimits(), [])
    backend = ProcessBackend(
        all_nodes,
        [*folders.values()] if spec.own_disks else [],
        fsync_gates=spec.fsync_gates,
        memory_groups=spec.memory_groups,
        cores={server.name: cores.split().servers for server in servers} if spec.pinned else {},
    )
    try:
        ports.check_free(all_nodes)
    except BaseException:
        backend.close()
        raise
    emulated = EmulatedDisks(lambda: backend.gates, [(node, folders[node.name]) for node in servers])
    return backend, emulated, NodeSizes(BackendLimits(backend, folders), servers)


def _no_gates() -> NoReturn:
    message = "Fsyncs of this cluster cannot be held: its servers are containers, or somebody else's."
    raise FaultError(message)


def _keep_logs(nodes: list[Node], logs: Path) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    for node in nodes:
        if node.log.exists():
            shutil.copyfile(node.log, logs / f"{node.name}.log")


def cluster_folder(folder: RunFolder, number: int, spec: Cluster) -> tuple[Path, Path]:
    """Return where the run's cluster number `number` lives, and where its logs go."""
    name = f"{number:02d}-{spec.system}"
    if not folder.path.is_dir():
        message = f"{folder.path}: the run folder has gone away"
        raise ClusterError(message)
    return folder.nodes / name, folder.logs / name
