"""What backends have in common that run each node as processes of this machine, with an address of its own."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from bench.backends import logs, ports
from bench.backends.delayed_node import DelayedNode, Link
from bench.backends.netns import NodeNetwork, PacketRules, Packets
from bench.backends.supervision import EndListener, RestartListener, Supervision
from bench.errors import BenchError, ClusterError, FaultError, NodeDiedError
from bench.model import Node

_ENDED_S = 60.0
"""An orderly stop may take its time: a Kafka broker hands its partitions over first, if anybody takes them."""
_TURN_S = 0.05
_WATCH_S = 0.25
_RESTARTED_S = 25.0


class NodeProcess(Protocol):
    """The process of a node, as subprocess.Popen has it; `pid` is that on this machine."""

    returncode: int | None

    @property
    def pid(self) -> int:
        """The process id."""

    def poll(self) -> int | None:
        """Return the exit status, None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status once there is one. Raises subprocess.TimeoutExpired."""

    def send_signal(self, sig: int) -> None:
        """Send a signal, if it runs."""

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""


class NodeBackend(ABC):
    """Starts the nodes of one cluster, watches them, and does to single ones what most faults need."""

    def __init__(self, nodes: Sequence[Node], network: NodeNetwork | None) -> None:
        """Start nothing yet."""
        self._nodes = list(nodes)
        self._network = network
        self._processes: dict[str, NodeProcess] = {}
        self._away: set[str] = set()
        self._supervision: Supervision | None = None
        self._watch = threading.Lock()

    @abstractmethod
    def _start(self, node: Node) -> None:
        """Start a node's process and put it into `_processes`. Raises ClusterError."""

    @abstractmethod
    def close(self) -> None:
        """Kill what still runs and remove everything that was made for the cluster."""

    def start(self, groups: Sequence[Sequence[Node]]) -> None:
        """Start processes, a group at once, the next when each has its first port open; the last may not be ready.

        Raises ClusterError or NodeDiedError, with the end of the node's log, for one that opens no port.
        """
        for number, group in enumerate(groups):
            if number:
                ports.await_open(groups[number - 1], self.alive)
            for node in group:
                self._start(node)

    @property
    def client(self) -> str:
        """The clients' address, as nodes see it."""
        return self._network.client if self._network is not None else "127.0.0.1"

    def alive(self) -> None:
        """Raise NodeDiedError, with the end of its log, if a started node is gone that nobody ended.

        Inside `supervise` it is started again instead, unless it ended too often.
        """
        with self._watch:
            for node in self._nodes:
                process = None if node.name in self._away else self._processes.get(node.name)
                status = None if process is None else process.poll()
                if status is not None:
                    self._ended_by_itself(node, status)

    def _ended_by_itself(self, node: Node, status: int) -> None:
        if self._supervision is None or not self._supervision.takes(node.name, status):
            message = f"{node.name} ended with status {status}. {logs.end(node)}"
            raise NodeDiedError(message)
        if self._supervision.is_due(node.name):
            self._start(node)

    @contextmanager
    def supervise(self, noted: EndListener, back: RestartListener | None = None) -> Iterator[None]:
        """Start nodes again that end by themselves, as a supervisor of services would; `noted` is told of each.

        `back` is told once the node's first port is open again: in the supervisor's own thread, as `noted` may be too.
        Under faults that is no failure: a bookie ends when its session with ZooKeeper is over, and whoever runs one
        has it started again.
        """
        over = threading.Event()
        supervision = Supervision(noted) if back is None else Supervision(noted, back)

        def watch() -> None:
            while not over.wait(_WATCH_S):
                with suppress(ClusterError):  # whoever asks for `alive` is told
                    self.alive()
                self._look_who_is_back(supervision)

        thread = threading.Thread(target=watch, name="supervisor", daemon=True)
        self._supervision = supervision
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._supervision = None

    def _look_who_is_back(self, supervision: Supervision) -> None:
        for node in self._nodes:
            if node.name in supervision.starting_nodes and node.name in self._away:
                supervision.forget(node.name)
            elif node.name in supervision.starting_nodes and self.listens(node):
                supervision.is_back(node.name)

    def pids(self) -> Mapping[str, int]:
        """Return the process id of each running node by its name."""
        return {name: process.pid for name, process in self._processes.items() if process.poll() is None}

    def listens(self, node: Node) -> bool:
        """See abilities.Killable."""
        return ports.is_open(node, node.ports[0])

    def end_node(self, node: Node, *, kill: bool) -> int:
        """See abilities.Killable."""
        process = self._running_process(node)
        self._away.add(node.name)
        process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            return process.wait(_ENDED_S)
        except subprocess.TimeoutExpired:
            raise FaultError(f"{node.name} had not ended {_ENDED_S:.0f} s after it was asked to.") from None

    def start_node(self, node: Node) -> None:
        """See abilities.Killable. Raises ClusterError for a node that runs."""
        if (process := self._processes.get(node.name)) is not None and process.poll() is None:
            raise ClusterError(f"{node.name} runs already.")
        self._start_again([node])

    def _start_again(self, nodes: Sequence[Node]) -> None:
        failed: list[BenchError] = []
        for node in nodes:
            try:
                self._start(node)
                self._away.discard(node.name)
            except BenchError as error:  # the others are to run all the same
                failed.append(error)
        if failed:
            raise failed[0]
        ports.await_open(nodes, self.alive)

    def pause_node(self, node: Node) -> str:
        """See abilities.Pausable."""
        return self._signal_and_wait(node, signal.SIGSTOP, stopped=True)

    def resume_node(self, node: Node) -> str:
        """See abilities.Pausable."""
        return self._signal_and_wait(node, signal.SIGCONT, stopped=False)

    def pause_all(self, nodes: Iterable[Node]) -> None:
        """Stop the processes of nodes, without waiting for each to stand still: that takes microseconds."""
        self._signal_all(nodes, signal.SIGSTOP)

    def resume_all(self, nodes: Iterable[Node]) -> None:
        """Let the processes of nodes go on."""
        self._signal_all(nodes, signal.SIGCONT)

    def _signal_all(self, nodes: Iterable[Node], number: signal.Signals) -> None:
        signal_all([self._processes[node.name] for node in nodes if node.name in self._processes], number)

    def _signal_and_wait(self, node: Node, number: signal.Signals, *, stopped: bool) -> str:
        process = self._running_process(node)
        process.send_signal(number)
        deadline = time.monotonic() + 1.0
        while (_state(process.pid) == "T") is not stopped and time.monotonic() < deadline:
            time.sleep(0.001)
        return _state(process.pid)

    def cut(self, node: Node, rules: PacketRules) -> None:
        """See abilities.Partitionable."""
        self._net().cut(node, rules)

    def packet_counts(self, node: Node, rules: PacketRules) -> Packets:
        """See abilities.Partitionable."""
        return self._net().packet_counts(node, rules)

    def mend(self, node: Node, rules: PacketRules) -> None:
        """See abilities.Partitionable."""
        self._net().mend(node, rules)

    def answers(self, node: Node, addresses: Sequence[str], patience_s: float) -> Mapping[str, float]:
        """See abilities.Reachable."""
        return self._net().answers(node, addresses, patience_s)

    def is_hindered(self, address: str) -> bool:
        """See abilities.Reachable."""
        return self._net().is_hindered(address)

    def slow_network(
        self, node: Node, sources: Sequence[str], targets: Sequence[str], link: Link
    ) -> DelayedNode:
        """See abilities.Delayable."""
        return self._net().slow(node, sources, targets, link)

    def _net(self) -> NodeNetwork:
        if self._network is None:
            raise FaultError("This cluster has no network that could be cut.")
        return self._network

    def _running_process(self, node: Node) -> NodeProcess:
        if self._supervision is not None:
            self._await_restart(node)
        process = self._processes.get(node.name)
        if process is None or process.poll() is not None:
            raise FaultError(f"{node.name} does not run, so nothing can be done to it.")
        return process

    def _await_restart(self, node: Node) -> None:
        """Wait until a node that ended by itself runs again."""
        deadline = time.monotonic() + _RESTARTED_S
        while node.name not in self.pids() and node.name not in self._away and time.monotonic() < deadline:
            time.sleep(_TURN_S)

    def kill(self) -> None:
        """Kill every node at once; right for a cluster whose data nobody needs again."""
        signal_all(list(self._processes.values()), signal.SIGKILL)  # ends a frozen one too
        for process in self._processes.values():
            process.wait()
        self._processes.clear()


def _state(pid: int) -> str:
    """Return the kernel's word for a process: R, S, D, T (stopped), Z."""
    return (
        Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    )


def signal_all(processes: Sequence[NodeProcess], number: signal.Signals) -> None:
    """Send a signal to those of some processes that run."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(number)
