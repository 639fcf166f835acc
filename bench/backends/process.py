"""The `process` backend: each node a process in a network namespace of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bench.backends import logs, ports, power
from bench.backends.delayed_node import DelayedNode, Link
from bench.backends.gates import Gates
from bench.backends.netns import Network, PacketRules, Packets
from bench.backends.node_limits import NodeLimits
from bench.backends.own_disks import OwnDisks
from bench.backends.supervision import Back, Noted, Supervision
from bench.errors import BenchError, ClusterError, FaultError, NodeDiedError, SetupError
from bench.model import Node

_STOP_S = 20.0
_ENDED_S = 60.0
"""An orderly stop may take its time: a Kafka broker hands its partitions over first, if anybody takes them."""
_TURN_S = 0.05
_ENDS_S = 5.0
_WATCH_S = 0.25
_RESTARTED_S = 25.0


class ProcessBackend:
    """Starts and stops the nodes of one cluster. Close it whatever happens."""

    def __init__(
        self,
        nodes: Sequence[Node],
        disks: Sequence[Path] = (),
        *,
        gated: bool = False,
        memory_groups: bool = False,
    ) -> None:
        """Lay the network, and a file system of its own at each of `disks`; nothing is started yet.

        With `gated` every node's fsyncs pass a gate, which can hold them. With `memory_groups` each node's memory can
        be limited.
        """
        self._gates = Gates() if gated else None
        self._supervision: Supervision | None = None
        self._watch = threading.Lock()
        self._nodes = list(nodes)
        self._away: set[str] = set()
        self._disks = OwnDisks()
        self._network = Network(nodes) if nodes else None
        self.limits = NodeLimits(self._network, lambda node: self._running(node).pid)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        try:
            if memory_groups:
                self.limits.count_memory()
            self._disks.make(disks)
        except BaseException:
            self.close()
            raise

    def start(self, groups: Sequence[Sequence[Node]]) -> None:
        """Start processes, a group at once, the next when each has its first port open; the last may not be ready.

        Raises ClusterError or NodeDiedError, with the end of the node's log, for one that opens no port.
        """
        for number, group in enumerate(groups):
            if number:
                ports.await_open(groups[number - 1], self.alive)
            for node in group:
                self._start(node)

    def _start(self, node: Node) -> None:
        if self._network is None:
            message = f"{node.name}: this cluster has no network, so no process can be started in it"
            raise ClusterError(message)
        entering = self._network.enter(node)

        def spawn(command: Sequence[str], *inherited: int) -> None:
            process = self._processes[node.name] = _spawned(node, [*entering, *command], inherited)
            self.limits.started(node, process.pid)

        node.directory.mkdir(parents=True, exist_ok=True)
        if self._gates is None:
            spawn(node.command)
        else:
            self._gates.put_before(node, spawn)

    def alive(self) -> None:
        """Raise NodeDiedError, with the end of its log, if a started node is gone that nobody ended.

        While nodes are `supervised` it is started again instead, unless it ended too often.
        """
        with self._watch:
            for node in self._nodes:
                process = None if node.name in self._away else self._processes.get(node.name)
                if process is not None and process.poll() is not None:
                    self._ended_by_itself(node, process.returncode)

    def _ended_by_itself(self, node: Node, status: int) -> None:
        if self._supervision is None or not self._supervision.takes(node.name, status):
            message = f"{node.name} ended with status {status}. {logs.end(node)}"
            raise NodeDiedError(message)
        if self._supervision.is_due(node.name):
            self._start(node)

    @contextmanager
    def supervised(self, noted: Noted, back: Back | None = None) -> Iterator[None]:
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
            if node.name in supervision.starting and node.name in self._away:
                supervision.forget(node.name)
            elif node.name in supervision.starting and self.listens(node):
                supervision.is_back(node.name)

    def pids(self) -> Mapping[str, int]:
        """Return the process id of each running node by its name."""
        return {name: process.pid for name, process in self._processes.items() if process.poll() is None}

    @property
    def client(self) -> str:
        """The clients' address, as nodes see it."""
        return self._network.client if self._network is not None else "127.0.0.1"

    def listens(self, node: Node) -> bool:
        """See abilities.Killable."""
        return ports.is_open(node, node.ports[0])

    def end_node(self, node: Node, *, kill: bool) -> int:
        """See abilities.Killable."""
        process = self._running(node)
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
        return self._signalled(node, signal.SIGSTOP, stopped=True)

    def resume_node(self, node: Node) -> str:
        """See abilities.Pausable."""
        return self._signalled(node, signal.SIGCONT, stopped=False)

    def pause_all(self, nodes: Iterable[Node]) -> None:
        """Stop the processes of nodes, without waiting for each to stand still: that takes microseconds."""
        self._signal_all(nodes, signal.SIGSTOP)

    def resume_all(self, nodes: Iterable[Node]) -> None:
        """Let the processes of nodes go on."""
        self._signal_all(nodes, signal.SIGCONT)

    def _signal_all(self, nodes: Iterable[Node], number: signal.Signals) -> None:
        _signal([self._processes[node.name] for node in nodes if node.name in self._processes], number)

    def _signalled(self, node: Node, number: signal.Signals, *, stopped: bool) -> str:
        process = self._running(node)
        process.send_signal(number)
        deadline = time.monotonic() + 1.0
        while (_state(process.pid) == "T") is not stopped and time.monotonic() < deadline:
            time.sleep(0.001)
        return _state(process.pid)

    def cut(self, node: Node, rules: PacketRules) -> None:
        """See abilities.Partitionable."""
        self._net().cut(node, rules)

    def struck(self, node: Node, rules: PacketRules) -> Packets:
        """See abilities.Partitionable."""
        return self._net().struck(node, rules)

    def mend(self, node: Node, rules: PacketRules) -> None:
        """See abilities.Partitionable."""
        self._net().mend(node, rules)

    def answers(self, node: Node, addresses: Sequence[str], patience_s: float) -> Mapping[str, float]:
        """See abilities.Reachable."""
        return self._net().answers(node, addresses, patience_s)

    def hindered(self, address: str) -> bool:
        """See abilities.Reachable."""
        return self._net().hindered(address)

    def slow_network(
        self, node: Node, sources: Sequence[str], targets: Sequence[str], link: Link
    ) -> DelayedNode:
        """See abilities.Delayable."""
        return self._net().slow(node, sources, targets, link)

    def hold_fsyncs(self, node: Node, seconds: float) -> None:
        """See abilities.FsyncHolder."""
        self.gates.hold(node, seconds)

    def held_fsyncs(self, node: Node, since: int = 0) -> tuple[int, float]:
        """See abilities.FsyncHolder."""
        return self.gates.held(node, since)

    def release_fsyncs(self, nodes: Sequence[Node]) -> str:
        """See abilities.FsyncHolder."""
        return self.gates.release(nodes)

    @property
    def gates(self) -> Gates:
        """The gates before the nodes' disks. Raises FaultError where the nodes were started without."""
        if self._gates is None:
            raise FaultError("This cluster's nodes were started without gates before their disks.")
        return self._gates

    def sync_disks(self) -> None:
        """Bring what the nodes wrote while they started to their own disks: no power cut is meant to hit that."""
        self._disks.sync()

    def cut_power(self, nodes: Sequence[Node]) -> str:
        """See abilities.PowerCut."""
        disks = {node.name: self._disks.of(node) for node in nodes}
        processes = {node.name: self._running(node) for node in nodes}
        self._away.update(processes)
        try:
            frozen_ns, off_ns = power.freeze(processes), power.shut_down(disks)
            power.kill(processes)
            for name, disk in disks.items():
                disk.must_be_off(name)
        except FaultError:
            power.kill(processes)
            with suppress(BenchError):  # the first failure is told
                self.restore_power(nodes)
            raise
        return (
            f"All threads of {', '.join(disks)} stood still within {frozen_ns / 1e6:.1f} ms; then their file systems "
            f"were shut down without a flush, within {off_ns / 1e6:.1f} ms, and refuse every write; then the processes "
            "were killed."
        )

    def restore_power(self, nodes: Sequence[Node]) -> str:
        """See abilities.PowerCut."""
        dark: dict[str, SetupError] = {}
        for node in nodes:
            try:
                self._disks.of(node).remount()
            except SetupError as error:  # the others are to get theirs back
                dark[node.name] = error
        self._start_again([node for node in nodes if node.name not in dark])
        if dark:
            raise FaultError(f"The power of {', '.join(dark)} did not come back: {next(iter(dark.values()))}")
        return f"{', '.join(node.name for node in nodes)}: mounted as the disk had it, started, the ports are open."

    def fill_disk(self, node: Node) -> str:
        """See abilities.Fillable."""
        known_away = node.name in self._away
        self._away.add(node.name)  # it may end of this, and that is no surprise
        try:
            return self._disks.fill(node)
        except FaultError:
            if not known_away:
                self._away.discard(node.name)
            raise

    def full_disk(self, node: Node) -> str | None:
        """See abilities.Fillable."""
        return self._disks.kept_full(node)

    def free_disk(self, node: Node) -> str:
        """See abilities.Fillable."""
        room = self._disks.make_room(node)
        try:
            status = self._processes[node.name].wait(_ENDS_S)  # it may be about to end in order
        except subprocess.TimeoutExpired:
            self._away.discard(node.name)
            return f"{room}; the node had gone on."
        self.start_node(node)
        return f"{room}; the node had ended with status {status}, was started, and its port is open."

    def _net(self) -> Network:
        if self._network is None:
            raise FaultError("This cluster has no network that could be cut.")
        return self._network

    def _running(self, node: Node) -> subprocess.Popen[bytes]:
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
        _signal(list(self._processes.values()), signal.SIGKILL)  # ends a frozen one too
        for process in self._processes.values():
            process.wait()
        self._processes.clear()
        if self._gates is not None:
            self._gates.close()

    def close(self) -> None:
        """Kill what still runs and take the network and the disks away, each of them whatever becomes of the others."""
        with ExitStack() as last:
            if self._network is not None:
                last.callback(self._network.close)
            last.callback(self._disks.close)
            last.callback(self.limits.close)
            last.callback(self.kill)


def _spawned(node: Node, command: Sequence[str], inherited: Sequence[int]) -> subprocess.Popen[bytes]:
    with node.log.open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=node.directory,
            env={**os.environ, **node.environment},
            pass_fds=inherited,
            process_group=0,
        )


def _state(pid: int) -> str:
    """Return the kernel's word for a process: R, S, D, T (stopped), Z."""
    return (
        Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    )


def _signal(processes: Sequence[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for process in processes:
        if process.poll() is None:
            process.send_signal(number)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(timeout=max(seconds, 0.0))
    except subprocess.TimeoutExpired:
        process.kill()
