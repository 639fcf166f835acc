"""The `process` backend: each node a process in a network namespace of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence

import psutil

from bench.backends.netns import Network
from bench.errors import ClusterError, NodeDiedError, SetupError
from bench.model import Node

_LOG_LINES = 25
_STOP_S = 20.0
_OPEN_S = 60.0
_TURN_S = 0.05


class ProcessBackend:
    """Starts and stops the nodes of one cluster. Close it whatever happens."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Lay the network; nothing is started yet."""
        self._nodes = list(nodes)
        self._network = Network(nodes) if nodes else None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, groups: Sequence[Sequence[Node]]) -> None:
        """Start processes, a group at once, the next when each has its first port open; the last may not be ready.

        Raises ClusterError or NodeDiedError, with the end of the node's log, for one that opens no port.
        """
        for number, group in enumerate(groups):
            if number:
                self._await_ports(groups[number - 1])
            for node in group:
                self._processes[node.name] = self._started(node)

    def _await_ports(self, nodes: Sequence[Node]) -> None:
        deadline = time.monotonic() + _OPEN_S
        for node in nodes:
            while not _is_open(node, node.ports[0]):
                self.alive()
                if time.monotonic() > deadline:
                    raise ClusterError(f"{node.name} has no open port after {_OPEN_S:.0f} s. {log_end(node)}")
                time.sleep(_TURN_S)

    def _started(self, node: Node) -> subprocess.Popen[bytes]:
        if self._network is None:
            message = f"{node.name}: this cluster has no network, so no process can be started in it"
            raise ClusterError(message)
        node.directory.mkdir(parents=True, exist_ok=True)
        with node.log.open("ab") as log:
            return subprocess.Popen(
                [*self._network.enter(node), *node.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=node.directory,
                env={**os.environ, **node.environment},
                start_new_session=True,
            )

    def alive(self) -> None:
        """Raise NodeDiedError, with the end of its log, if a started node is gone."""
        for node in self._nodes:
            process = self._processes.get(node.name)
            if process is not None and process.poll() is not None:
                message = f"{node.name} ended with status {process.returncode}. {log_end(node)}"
                raise NodeDiedError(message)

    def pids(self) -> Mapping[str, int]:
        """Return the process id of each running node by its name."""
        return {name: process.pid for name, process in self._processes.items() if process.poll() is None}

    def stop(self, groups: Sequence[Sequence[Node]], grace_s: float = _STOP_S) -> None:
        """Stop in order with SIGTERM, group by group; what doesn't end in `grace_s` is killed."""
        for group in groups:
            running = [self._processes[node.name] for node in group if node.name in self._processes]
            _signal(running, signal.SIGTERM)
            deadline = time.monotonic() + grace_s
            for process in running:
                _wait(process, deadline - time.monotonic())
        self.kill()

    def kill(self) -> None:
        """Kill every node at once; right for a cluster whose data nobody needs again."""
        _signal(list(self._processes.values()), signal.SIGKILL)
        for process in self._processes.values():
            process.wait()
        self._processes.clear()

    def close(self) -> None:
        """Kill what still runs and take the network away."""
        self.kill()
        if self._network is not None:
            self._network.close()


def _signal(processes: Sequence[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for process in processes:
        if process.poll() is None:
            process.send_signal(number)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(timeout=max(seconds, 0.0))
    except subprocess.TimeoutExpired:
        process.kill()


def log_end(node: Node) -> str:
    """Return the last lines of a node's log, introduced, for an error message."""
    try:
        lines = node.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
    except OSError as error:
        return f"Its log cannot be read: {error}"
    return "\n".join([f"The end of its log ({node.log.name}):", *(f"  {line}" for line in lines)])


def _is_open(node: Node, port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex((node.address, port)) == 0


def check_memory(nodes: Sequence[Node], besides_bytes: int) -> None:
    """Raise SetupError when the machine's free memory doesn't hold the nodes and `besides_bytes` more."""
    needed = sum(node.memory_bytes for node in nodes) + besides_bytes
    free = psutil.virtual_memory().available
    if needed > free:
        message = (
            f"the cluster of {len(nodes)} nodes and its load need {needed / 2**30:.1f} GiB of memory, "
            f"{free / 2**30:.1f} GiB are free: close other programs, use fewer nodes "
            "(--set systems.<system>.nodes.<role>=n) or smaller heaps "
            "(--set systems.<system>.heap_mib.<role>=n)"
        )
        raise SetupError(message)


def check_ports(nodes: Sequence[Node]) -> None:
    """Raise SetupError when something already listens where a node wants to."""
    for node in nodes:
        for port in node.ports:
            if _is_open(node, port):
                message = f"{node.name} needs {node.address}:{port}, and something listens there already"
                raise SetupError(message)
