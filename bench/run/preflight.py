"""What has to be there before anything starts; the same checks serve `bench run` and `bench doctor`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.backends import artifacts, disks, sandbox
from bench.backends.cpu_wakefulness import keep_awake
from bench.backends.machine import java_version
from bench.errors import BenchError, SetupError
from bench.faults.kinds import kinds
from bench.guarantee import all_settings
from bench.model import Case, Cluster, Node
from bench.pacing import sends
from bench.run.cluster import nodes
from bench.systems.registry import INSTALLED, describe

_LOAD_BYTES = 2 * 2**30
"""What the load processes and the runner may take beside a cluster."""
_DISK_BYTES = 5 * 2**30
_MEMORY_BYTES = 8 * 2**30
_OLDEST_JAVA = 17
_COMMANDS = {
    "unshare": "util-linux: without it there is no sandbox and no run",
    "nsenter": "util-linux: starts each node in its own network namespace",
    "ip": "iproute2: lays the cluster's network",
    "nft": "nftables: cuts it (fault `isolate`)",
    "iptables": "iptables: slows it (fault `slow-network`)",
    "mvn": "maven: fetches the servers; only needed for a version that is not there yet",
}


@dataclass(frozen=True, slots=True)
class PreflightFinding:
    """One thing `bench doctor` looked at. `problem` is None where all is well."""

    subject: str
    observation: str
    problem: str | None = None


def check(groups: Iterable[Sequence[Cluster]], out: Path, written_bytes: int = 0) -> None:
    """Raise SetupError, before anything starts, for what would make this run fail later.

    The clusters of one of the `groups` run side by side. `written_bytes` is what the largest trial writes to the
    servers' disks, as far as that is known (`written`).
    """
    cluster_groups = list(groups)
    out.mkdir(parents=True, exist_ok=True)
    disks.check_space(out, _DISK_BYTES + written_bytes)
    _require(_sandbox())
    for clusters in cluster_groups:
        _check_memory(servers(clusters))
    if any(cluster.starts_servers for clusters in cluster_groups for cluster in clusters):
        for finding in (_java(), *(_command(name) for name in ("nsenter", "ip"))):
            _require(finding)


def trial_bytes(case: Case) -> int:
    """Return how many bytes a trial has its servers write here; 0 where nobody knows how many messages it will be."""
    if case.cluster.external:
        return 0
    load = case.load
    messages = load.messages or sends(load) or 0
    configuration = {"topic": case.topic, "cluster_settings": case.cluster.settings_of(case.group)}
    case_settings = all_settings(case.swept, configuration)
    system = describe(case.system)
    writes_per_message = system.copies(case_settings, case.cluster.nodes) * system.writes_per_copy
    return messages * load.message_bytes * writes_per_message


def servers(clusters: Iterable[Cluster]) -> list[Node]:
    """Return the nodes of clusters that run side by side."""
    return [node for cluster in clusters for node in nodes(cluster, Path("/nodes"))]


def memory_bytes(server_nodes: Iterable[Node]) -> int:
    """Return what nodes and their load may take."""
    return sum(node.memory_bytes for node in server_nodes) + _LOAD_BYTES


def _check_memory(server_nodes: Sequence[Node]) -> None:
    """Raise SetupError when the machine's free memory doesn't hold nodes and their load."""
    needed = memory_bytes(server_nodes)
    free = psutil.virtual_memory().available
    if needed > free:
        message = (
            f"{len(server_nodes)} nodes and their load need {needed / 2**30:.1f} GiB of memory, "
            f"{free / 2**30:.1f} GiB are free: close other programs, use fewer nodes "
            "(--set systems.<system>.nodes.<role>=n) or smaller heaps "
            "(--set systems.<system>.heap_mib.<role>=n)"
        )
        raise SetupError(message)


def fetch_missing(versions: Iterable[tuple[str, str]]) -> None:
    """Fetch the server versions that a scenario names and that are not there yet."""
    for name, version in versions:
        if name in INSTALLED:
            artifacts.fetch(name, version)


def findings(folder: Path) -> list[PreflightFinding]:
    """Look at everything a run may need, with `folder`'s disk as the data disk."""
    return [
        _java(),
        *(_command(name) for name in _COMMANDS),
        _sandbox(),
        _faults(),
        _idle(),
        _memory(),
        _disk(folder),
        _fsync(folder),
        *(_server(name) for name in INSTALLED),
    ]


def _require(finding: PreflightFinding) -> None:
    if finding.problem:
        message = f"{finding.subject}: {finding.observation}. {finding.problem}"
        raise SetupError(message)


def _memory() -> PreflightFinding:
    free = psutil.virtual_memory().available
    observation = f"{free / 2**30:.1f} GiB free, {psutil.cpu_count()} cores"
    mend = (
        f"Most scenarios need {_MEMORY_BYTES / 2**30:.0f} GiB: end something, or run with smaller clusters."
    )
    return PreflightFinding("memory", observation, mend if free < _MEMORY_BYTES else None)


def _disk(folder: Path) -> PreflightFinding:
    observation = f"{shutil.disk_usage(folder).free / 2**30:.1f} GiB free, {disks.file_system(folder)}"
    lacking = disks.no_space(folder, _DISK_BYTES)
    return PreflightFinding("disk", observation, f"It has {lacking}: make room." if lacking else None)


def _java() -> PreflightFinding:
    version = java_version()
    major = re.match(r"\d+", version)
    if major and int(major[0]) >= _OLDEST_JAVA:
        return PreflightFinding("java", version)
    return PreflightFinding(
        "java",
        version,
        f"Both servers need Java {_OLDEST_JAVA} or newer on the PATH; `make setup` installs it.",
    )


def _command(name: str) -> PreflightFinding:
    command_path = shutil.which(name, path=sandbox.PATH)
    return PreflightFinding(
        name,
        command_path or "not found",
        None if command_path else f"{_COMMANDS[name]}; `make setup` installs it.",
    )


def _sandbox() -> PreflightFinding:
    reason = sandbox.possible()
    if reason is None:
        return PreflightFinding("sandbox", "network, mount and PID namespaces can be made")
    return PreflightFinding(
        "sandbox", reason, "A run lives in private namespaces: allow user namespaces, or run as root."
    )


def _faults() -> PreflightFinding:
    reasons = {key: reason for key, kind in kinds().items() if (reason := kind.why_not()) is not None}
    lacking = "; ".join(f"no {key}: {reason}" for key, reason in reasons.items())
    return PreflightFinding("faults", lacking or f"all kinds work here: {', '.join(kinds())}")


def _idle() -> PreflightFinding:
    refused = keep_awake()
    awake = "can be kept awake during a run"
    asleep = f"sleep between messages, which makes latencies longer: {refused}"
    return PreflightFinding("idle cores", awake if refused is None else asleep)


def _fsync(folder: Path) -> PreflightFinding:
    cost = disks.fsync_cost(folder)
    observation = (
        f"p50 {cost['p50'] / 1e6:.3f} ms, p99 {cost['p99'] / 1e6:.3f} ms ({cost['calls']} x 4 KiB, fdatasync)"
    )
    return PreflightFinding("one fsync", observation)


def _server(name: str) -> PreflightFinding:
    return _try(f"{name} server", lambda: str(artifacts.server_home(name)))


def _try(subject: str, look: Callable[[], str]) -> PreflightFinding:
    try:
        return PreflightFinding(subject, look())
    except BenchError as error:
        return PreflightFinding(subject, "missing", str(error))
